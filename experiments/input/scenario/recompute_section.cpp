#include "experiments/input/scenario/recompute_section.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

void check_together(const nlohmann::json& section, std::optional<RecomputeMode> mode) {
  if (section.contains("operators") && mode != RecomputeMode::selective) {
    throw InputError("/recompute/operators", "operators need mode=selective");
  }
  const bool whole = mode == RecomputeMode::none || mode == RecomputeMode::except_last;
  if (section.contains("microbatches") && whole) {
    throw InputError("/recompute/microbatches",
                     "microbatches go with mode=full or mode=selective, which say what is "
                     "recomputed of them");
  }
}

}  // namespace

const Fields& recompute_fields() {
  using R = RecomputeSection;
  static const Fields fields{
      "",
      {note(),
       field<&R::mode>("mode", words({"none", "full", "selective", "except_last"}),
                       "which activations are made again: none, all of stages that state "
                       "recompute_us (full, the default), parts (selective: the selective_ costs), "
                       "or all but those of the last microbatch"),
       field<&R::operators>(
           "operators",
           list_of(words({"core_attention", "attention", "mla", "mlp", "moe", "norm"}), 1, 6),
           "with mode=selective, of layers by kind: the operators that are recomputed; default "
           "core_attention, the scores of attention without flash"),
       field<&R::unit>("unit", words({"layer", "stage"}),
                       "of layers by kind: what is recomputed at a time, each layer before its own "
                       "backward (the default), or a whole stage"),
       field<&R::early>("early", truth(),
                        "recompute as soon as the rank is free, not once the gradient arrives"),
       field<&R::microbatches>("microbatches",
                               list_of(list_of(whole(0, 16'777'215), 0, 16'777'216), 1, 65'536),
                               "by stage of the order, the microbatches whose activations are "
                               "recomputed; all if left out. penstock search --recompute finds "
                               "them")}};
  return fields;
}

const Fields& fields_of(const Offload& /*offload*/) {
  static const Fields fields{
      "offload activations to host memory",
      {note(),
       field<&Offload::keep>("keep", whole(1, 100'000'000),
                             "activations of its own that a rank holds at most, besides those "
                             "still on their way out"),
       field<&Offload::ahead>("ahead", whole(0, 1000),
                              "backwards in advance of its own at which an activation is loaded "
                              "back, default 1")},
      {"keep"}};
  return fields;
}

RecomputeSection read_recompute(const nlohmann::json& section, const TrainingCommand& command) {
  RecomputeSection recompute;
  recompute.mode = command.recompute;
  if (!command.recompute_operators.empty()) recompute.operators = command.recompute_operators;
  read_fields(recompute_fields(), section, &recompute);
  check_together(section, recompute.mode);
  for (auto& own : recompute.microbatches) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return recompute;
}

}  // namespace penstock
