#include "experiments/input/model_files/model_file.hpp"

#include <algorithm>

namespace penstock {

double usual_sequence(std::optional<double> max_sequence) {
  constexpr double usual = 4096;
  return std::min(usual, max_sequence.value_or(usual));
}

bool has_tokens(const ModelSpec& spec) {
  for (const BlockSpec& block : spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      if (part.kind == "embedding" || part.kind == "attention" || part.kind == "mla") return true;
    }
  }
  return false;
}

}  // namespace penstock
