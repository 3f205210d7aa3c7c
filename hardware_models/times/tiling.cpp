#include "hardware_models/times/tiling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

/// A tile of the result, and the share of the best rate that a core reaches on it: small tiles read
/// each factor more often.
struct Tile {
  double rows;
  double columns;
  double share;
};

// The sizes that cuBLAS lists, from most to least efficient (NVIDIA, Matrix Multiplication
// Background User's Guide); the shares are a guess.
constexpr std::array tiles{Tile{256, 128, 1},   Tile{128, 256, 1},   Tile{128, 128, 0.93},
                           Tile{256, 64, 0.85}, Tile{64, 256, 0.85}, Tile{128, 64, 0.8},
                           Tile{64, 128, 0.8},  Tile{64, 64, 0.65}};
constexpr std::array<double, 5> splits{1, 2, 4, 8, 16};
constexpr double least_inner = 512;  // of a split product

/// Tiles that cover all products.
double tiles_of(const Kernel& product, const Tile& tile) {
  return std::ceil(product.rows / tile.rows) * std::ceil(product.columns / tile.columns) *
         product.batch;
}

}  // namespace

double flops_in_waves(const Device& device, const Kernel& product) {
  double fewest = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    const double number = tiles_of(product, tile);
    for (const double split : splits) {
      if (split > 1 && product.inner / split < least_inner) break;
      const double waves = std::ceil(number * split / device.multiprocessors);
      const double steps = product.inner / split + device.tile_start;
      fewest = std::min(fewest, 2 * waves * device.multiprocessors * tile.rows * tile.columns *
                                    steps / tile.share);
    }
  }
  return std::max(fewest, product.flops);
}

}  // namespace penstock
