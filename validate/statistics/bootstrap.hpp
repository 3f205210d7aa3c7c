#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

/// Between two values, both included.
struct Interval {
  double low = 0;
  double high = 0;
  bool covers(double value) const { return low <= value && value <= high; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// How often to draw, and from which random numbers.
struct BootstrapPlan {
  std::uint64_t seed = 1;
  std::uint32_t draws = 300;
};

/// A number from 0 to below `count`, a pure function of all else. Equal purposes share numbers.
std::uint32_t drawn_number(std::uint64_t seed, std::string_view purpose, std::uint32_t draw,
                           std::uint32_t place, std::uint32_t count);

/// 0 to `count - 1` in an order that depends on seed, purpose and round alone.
std::vector<std::uint32_t> shuffled(std::uint64_t seed, std::string_view purpose,
                                    std::uint32_t round, std::uint32_t count);

/// Of so many blocks as many drawn with replacement: how often each was.
std::vector<std::uint32_t> drawn_blocks(std::uint64_t seed, std::uint32_t draw,
                                        std::uint32_t blocks);

/// The value below which such a share of some values lies, on a straight line between two; of none:
/// 0.
double quantile(std::vector<double> values, double share);

/// From where to where the middle of some values reaches that holds such a share of them.
Interval middle_share(const std::vector<double>& values, double share);

/// The same number for the same text on every machine (FNV-1a).
std::uint64_t text_hash(std::string_view text);

}  // namespace penstock
