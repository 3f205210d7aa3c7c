#include "experiments/starter/layout_choice.hpp"

#include <fmt/format.h>

#include "experiments/files/table.hpp"

namespace penstock {

std::string text_of(const LayoutChoice& choice) {
  std::string text =
      fmt::format("tensor {}, pipeline {}, data {}", choice.tensor, choice.pipeline, choice.data);
  if (choice.expert > 1) text += fmt::format(", expert {}", choice.expert);
  text += fmt::format(", {}", choice.schedule);
  if (choice.chunks > 1) text += fmt::format(" with {} chunks", choice.chunks);
  text += fmt::format(", {} of {}", counted(choice.microbatches, "microbatch", "microbatches"),
                      choice.microbatch);
  text += fmt::format(", {} recomputation", choice.recompute == "none" ? "no" : choice.recompute);
  if (choice.zero > 0) text += fmt::format(", ZeRO-{}", choice.zero);
  return text;
}

}  // namespace penstock
