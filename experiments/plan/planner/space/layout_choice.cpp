#include "experiments/plan/planner/space/layout_choice.hpp"

#include <fmt/format.h>

#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/codec_choice.hpp"

namespace penstock {
namespace {

std::string degrees_text(const LayoutChoice& choice) {
  std::string text =
      fmt::format("tensor {}, pipeline {}, data {}", choice.tensor, choice.pipeline, choice.data);
  if (choice.context > 1) text += fmt::format(", context {}", choice.context);
  if (choice.expert > 1) text += fmt::format(", expert {}", choice.expert);
  if (choice.tensor > 1 && !choice.sequence_parallel) text += ", no sequence parallelism";
  return text;
}

std::string schedule_text(const LayoutChoice& choice) {
  std::string text = choice.schedule;
  if (choice.chunks > 1) text += fmt::format(" with {} chunks", choice.chunks);
  for (const auto& [name, value] : choice.options) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string recompute_text(const LayoutChoice& choice) {
  if (choice.recompute == "none") return "no recomputation";
  return fmt::format("{} recomputation{}", choice.recompute,
                     choice.recomputes_stages ? " by stage" : "");
}

}  // namespace

std::string text_of(const LayoutChoice& choice) {
  std::string text =
      fmt::format("{}, {}, {} of {}, {}", degrees_text(choice), schedule_text(choice),
                  counted(choice.microbatches, "microbatch", "microbatches"), choice.microbatch,
                  recompute_text(choice));
  if (choice.zero > 0) text += fmt::format(", ZeRO-{}", choice.zero);
  if (choice.stash) text += ", stash " + encoding_text(*choice.stash);
  if (choice.link) text += ", links " + encoding_text(*choice.link);
  if (choice.offload) text += fmt::format(", offload all but {}", *choice.offload);
  if (choice.partition != "even") text += ", cut " + choice.partition;
  return text;
}

}  // namespace penstock
