#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/scenario/sections.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

void check_together(const json& section, std::optional<RecomputeMode> mode) {
  if (section.contains("operators") && mode != RecomputeMode::selective) {
    throw InputError("/recompute/operators", "operators need mode=selective");
  }
  for (const char* key : {"layers", "together"}) {
    if (!section.contains(key) || mode == RecomputeMode::full) continue;
    throw InputError(fmt::format("/recompute/{}", key), fmt::format("{} needs mode=full", key));
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
       turned(
           field<&R::mode>("mode", words({"none", "full", "selective", "except_last"}),
                           "which activations are made again: none, all (full), parts (selective: "
                           "the selective_ costs), or all but those of the last microbatch; "
                           "default: all of stages that state recompute_us"),
           {"Recomputation"}),
       field<&R::operators>(
           "operators",
           list_of(words({"core_attention", "attention", "gated_delta", "mamba2", "mla",
                          "mla_up_projection", "mlp", "mlp_activation", "moe", "moe_activation",
                          "norm", "shared_experts", "sparse_attention"}),
                   1, 13),
           "with mode=selective, of layers by kind: the operators that are recomputed from their "
           "input: whole layers (attention, gated_delta, mamba2, mla, mlp, moe, norm, "
           "sparse_attention), or inside them core_attention (the default; flash attention too, "
           "which keeps no scores), mla_up_projection (queries, keys and values), mlp_activation, "
           "moe_activation (of the routed experts), shared_experts"),
       field<&R::layers>(
           "layers", whole(1, 1'000'000),
           "with mode=full, of layers by kind: only the first layers of each stage are recomputed, "
           "ends such as embedding and head not counted; the others keep their activations"),
       field<&R::together>("together", whole(1, 1'000'000),
                           "with mode=full, of layers by kind: this many consecutive layers of a "
                           "stage are restored at a time from the input of the first of them; "
                           "default 1"),
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

RecomputeSection read_recompute(const nlohmann::json& section, const TrainingCommand& command) {
  RecomputeSection recompute;
  recompute.mode = command.recompute;
  if (!command.recompute_operators.empty()) recompute.operators = command.recompute_operators;
  if (!section.contains("mode") && !section.contains("unit")) {
    recompute.layers = command.recompute_layers;
    recompute.together = command.recompute_together.value_or(1);
  }
  read_fields(recompute_fields(), section, &recompute);
  check_together(section, recompute.mode);
  for (auto& own : recompute.microbatches) {
    std::ranges::sort(own);
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return recompute;
}

const Fields& offload_fields() {
  using O = OffloadSection;
  static const Fields fields{
      "offload activations to host memory: those beyond a number (keep), those of some layers, or "
      "both",
      {note(),
       field<&O::keep>("keep", whole(1, 100'000'000),
                       "activations of its own that a rank holds at most, besides those "
                       "still on their way out"),
       field<&O::ahead>("ahead", whole(0, 1000),
                        "with keep: backwards in advance of its own at which an activation is "
                        "loaded back, default 1"),
       field<&O::layers>(
           "layers", whole(1, 1'000'000),
           "the first layers of each stage, ends such as embedding and head not counted: what "
           "they keep leaves during each forward and returns during its backward; "
           "both take at least as long as the link to the host")}};
  return fields;
}

std::optional<OffloadSection> read_offload(const json* section, const TrainingCommand& command) {
  OffloadSection offload;
  if (section == nullptr) {
    offload.layers = command.offload_layers;
    return offload.layers ? std::optional(offload) : std::nullopt;
  }
  read_fields(offload_fields(), *section, &offload);
  if (!offload.keep && !offload.layers) {
    throw InputError("/offload", "it needs \"keep\" or \"layers\"");
  }
  if (offload.ahead && !offload.keep) {
    throw InputError("/offload/ahead", "ahead needs keep: layers are loaded one ahead");
  }
  return offload;
}

}  // namespace penstock
