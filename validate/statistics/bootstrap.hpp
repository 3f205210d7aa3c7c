#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "validate/statistics/summary.hpp"

namespace penstock {

/// Number of draws, and their seed.
struct BootstrapPlan {
  std::uint64_t seed = 1;
  std::uint32_t draws = 300;
};

/// A number below `count`, a pure function of the arguments. Equal purposes share numbers.
std::uint32_t drawn_number(std::uint64_t seed, std::string_view purpose, std::uint32_t draw,
                           std::uint32_t place, std::uint32_t count);

/// A permutation of 0 to `count - 1`, a function of seed, purpose and round only.
std::vector<std::uint32_t> shuffled(std::uint64_t seed, std::string_view purpose,
                                    std::uint32_t round, std::uint32_t count);

/// Draws as many blocks as there are, with replacement; returns how often each was drawn.
std::vector<std::uint32_t> drawn_blocks(std::uint64_t seed, std::uint32_t draw,
                                        std::uint32_t blocks);

/// The quantile of some values, linearly interpolated; 0 without values.
double quantile(std::vector<double> values, double share);

/// The central interval that holds this share of some values.
Interval middle_share(const std::vector<double>& values, double share);

/// The central interval of draws that covers the true value with this probability. Draws of few
/// points scatter less than estimates of others do: the share taken is larger by that and by
/// Student's t instead of the normal distribution (expanded percentile interval: T. Hesterberg,
/// "What Teachers Should Know About the Bootstrap", The American Statistician 69, 2015), but so
/// that three draws lie beyond each end, as far as they do so for `share`. `points` were drawn, and
/// `constants` fitted to them.
Interval covering_interval(const std::vector<double>& draws, double share, std::size_t points,
                           std::size_t constants);

/// FNV-1a, the same on every machine; from another start, another hash.
std::uint64_t text_hash(std::string_view text, std::uint64_t start = 0);

}  // namespace penstock
