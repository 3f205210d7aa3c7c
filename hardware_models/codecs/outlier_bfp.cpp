#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "hardware_models/codecs/coding/bits.hpp"
#include "hardware_models/codecs/coding/block_format.hpp"
#include "hardware_models/codecs/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/parameters.hpp"

namespace penstock::outlier_bfp_file {
namespace {

constexpr std::uint32_t outlier_value_bits = 16;
constexpr std::uint32_t outlier_index_bits = 8;

constexpr std::array parameters{
    block_parameter, bits_parameter,
    Parameter{"outliers", "largest values per block, stored separately as bf16", 1, 1, 255},
    exponent_parameter, stride_parameter};

std::uint32_t block_bits(const CodecNumbers& numbers) {
  const std::uint32_t block = numbers.whole("block"), outliers = numbers.whole("outliers");
  if (outliers >= block) {
    throw InputError("/outliers", fmt::format("{1} outliers in a block of {0} values: must be less "
                                              "than \"block\"",
                                              block, outliers));
  }
  return value_bits(numbers) + outliers * (outlier_value_bits + outlier_index_bits);
}

BlockFormat format_of(const CodecNumbers& numbers) {
  BlockFormat format = shared_format(numbers);
  format.outliers = numbers.whole("outliers");
  return format;
}

/// The indices of the largest magnitudes; a NaN counts as largest.
std::vector<std::uint32_t> largest_places(std::span<const float> block, std::uint32_t count) {
  const auto size_at = [&](std::uint32_t place) {
    return std::isnan(block[place]) ? std::numeric_limits<double>::infinity()
                                    : std::abs(double{block[place]});
  };
  std::vector<std::uint32_t> places(block.size());
  std::iota(places.begin(), places.end(), 0U);
  std::partial_sort(places.begin(), places.begin() + count, places.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      const double of_a = size_at(a), of_b = size_at(b);
                      return of_a != of_b ? of_a > of_b : a < b;
                    });
  places.resize(count);
  return places;
}

/// Outliers follow the block and count as zeros in it, so the rest decides its exponent.
void encode(const BlockFormat& format, std::span<const float> block, BitWriter& packed) {
  const std::vector<std::uint32_t> places = largest_places(block, format.outliers);
  std::vector<float> others(block.begin(), block.end());
  for (const std::uint32_t place : places) others[place] = 0;
  put_values(format, others, packed);
  for (const std::uint32_t place : places) {
    packed.put(to_bf16(block[place]), outlier_value_bits);
    packed.put(place, outlier_index_bits);
  }
}

void decode(const BlockFormat& format, BitReader& packed, std::span<float> block) {
  get_values(format, packed, block);
  for (std::uint32_t i = 0; i < format.outliers; ++i) {
    const auto value = static_cast<std::uint16_t>(packed.get(outlier_value_bits));
    const std::uint32_t place = packed.get(outlier_index_bits);
    if (place < block.size()) block[place] = from_bf16(value);
  }
}

}  // namespace

constinit extern const CodecEntry outlier_bfp_entry{
    .name = "outlier-bfp",
    .summary =
        "block floating point with outliers stored separately; the others share the exponent of "
        "their largest",
    .parameters = parameters,
    .block_bits = block_bits,
    .format = format_of,
    .encode = encode,
    .decode = decode,
};

}  // namespace penstock::outlier_bfp_file
