#include <array>

#include "hardware_models/codecs/coding/block_parameters.hpp"
#include "hardware_models/codecs/coding/code_book.hpp"
#include "hardware_models/codecs/coding/shared_exponent.hpp"
#include "hardware_models/codecs/registry.hpp"
#include "hardware_models/spec/parameters.hpp"

namespace penstock::nonuniform_bfp_file {
namespace {

constexpr std::array parameters{
    block_parameter,
    bits_parameter,
    exponent_parameter,
    stride_parameter,
    Parameter{"tail_share", "fit: share of larger values", 0, 0, 1,
              /*whole=*/false},
    Parameter{"tail_factor", "fit: how many times larger these are", 30, 1, 1e6, /*whole=*/false},
    Parameter{"rectified", "fit: 1 for values after a ReLU", 0, 0, 1}};

std::uint32_t block_bits(const CodecNumbers& numbers) {
  return value_bits(numbers.whole("block"), numbers.whole("bits"), numbers.whole("exponent_bits"));
}

/// Sender and receiver know the code book: it is neither sent nor stored.
BlockFormat format_of(const CodecNumbers& numbers) {
  BlockFormat format = shared_format(numbers);
  format.levels = fitted_levels(format, {.tail_share = numbers["tail_share"],
                                         .tail_factor = numbers["tail_factor"],
                                         .rectified = numbers.whole("rectified") != 0});
  return format;
}

}  // namespace

constinit extern const CodecEntry nonuniform_bfp_entry{
    .name = "nonuniform-bfp",
    .summary =
        "block floating point with mantissa levels from a code book, fitted to a distribution",
    .parameters = parameters,
    .block_bits = block_bits,
    .format = format_of,
    .encode = put_values,
    .decode = get_values,
};

}  // namespace penstock::nonuniform_bfp_file
