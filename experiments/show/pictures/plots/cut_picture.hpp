#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/show/pictures/picture.hpp"

namespace penstock {

/// The bars of one stage. Times are those of one replica and one microbatch.
struct CutBar {
  std::string name;  // "0", "1 ×3" with three replicas
  double forward_s = 0;
  double backward_s = 0;
  double transfer_s = 0;  // of the tensors behind it, both ways
  double memory_bytes = 0;
};

/// A cut as bars: compute of each stage beside its transfers, and memory against the capacity.
struct CutPicture {
  std::string title;
  std::string subtitle;
  std::vector<CutBar> stages;
  std::optional<double> capacity_bytes;
};

/// Stages below each other, times on the left, memory on the right.
std::string draw_cut(PictureFormat format, const CutPicture& cut);

}  // namespace penstock
