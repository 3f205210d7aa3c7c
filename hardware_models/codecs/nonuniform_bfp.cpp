#include <array>

#include "hardware_models/codecs/coding/block_parameters.hpp"
#include "hardware_models/codecs/coding/code_book.hpp"
#include "hardware_models/codecs/coding/shared_exponent.hpp"
#include "hardware_models/codecs/registry.hpp"
#include "hardware_models/spec/parameters.hpp"

namespace penstock {
namespace {

constexpr std::array parameters{
    block_parameter,
    bits_parameter,
    exponent_parameter,
    stride_parameter,
    Parameter{"tail_share", "share of the normal values it is fitted to that are larger", 0, 0, 1,
              /*whole=*/false},
    Parameter{"tail_factor", "how many times as large these are", 30, 1, 1e6, /*whole=*/false},
    Parameter{"rectified", "1: it is fitted to values behind a ReLU", 0, 0, 1}};

std::uint32_t block_bits(const CodecNumbers& numbers) {
  return value_bits(numbers.whole("block"), numbers.whole("bits"), numbers.whole("exponent_bits"));
}

/// The code book is part of the format, so it is neither sent nor kept.
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
        "block floating point whose mantissas stand for the levels of a code book, fitted "
        "to a distribution",
    .parameters = parameters,
    .block_bits = block_bits,
    .format = format_of,
    .encode = put_values,
    .decode = get_values,
};

}  // namespace penstock
