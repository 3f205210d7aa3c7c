#include "validate/statistics/bootstrap.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/base/random.hpp"

namespace penstock {

std::uint64_t text_hash(std::string_view text, std::uint64_t start) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ start;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

std::uint32_t drawn_number(std::uint64_t seed, std::string_view purpose, std::uint32_t draw,
                           std::uint32_t place, std::uint32_t count) {
  const std::uint64_t what = text_hash(purpose);
  const auto bits = philox(
      {draw, place, static_cast<std::uint32_t>(what), static_cast<std::uint32_t>(what >> 32)},
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  // The high half of a product: as uniform as 32 bits allow.
  return static_cast<std::uint32_t>((std::uint64_t{bits[0]} * count) >> 32);
}

std::vector<std::uint32_t> shuffled(std::uint64_t seed, std::string_view purpose,
                                    std::uint32_t round, std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint32_t left = count; left > 1; --left) {
    std::swap(order[left - 1], order[drawn_number(seed, purpose, round, left, left)]);
  }
  return order;
}

std::vector<std::uint32_t> drawn_blocks(std::uint64_t seed, std::uint32_t draw,
                                        std::uint32_t blocks) {
  std::vector<std::uint32_t> times(blocks);
  for (std::uint32_t i = 0; i < blocks; ++i) ++times[drawn_number(seed, "blocks", draw, i, blocks)];
  return times;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

Interval middle_share(const std::vector<double>& values, double share) {
  return {quantile(values, (1 - share) / 2), quantile(values, (1 + share) / 2)};
}

Interval covering_interval(const std::vector<double>& draws, double share, std::size_t points,
                           std::size_t constants) {
  const auto freedom = static_cast<double>(points > constants ? points - constants : 1);
  const boost::math::students_t student(freedom);
  const double far = boost::math::quantile(student, (1 + share) / 2) *
                     std::sqrt(static_cast<double>(points) / freedom);
  const double most = std::max(share, 1 - 6 / static_cast<double>(draws.size()));
  return middle_share(draws, std::min(std::erf(far / std::sqrt(2.0)), most));
}

}  // namespace penstock
