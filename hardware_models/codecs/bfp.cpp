#include <array>

#include "hardware_models/codecs/coding/block_format.hpp"
#include "hardware_models/codecs/registry.hpp"

namespace penstock::bfp_file {
namespace {

constexpr std::array parameters{block_parameter, bits_parameter, exponent_parameter,
                                stride_parameter};

}  // namespace

constinit extern const CodecEntry bfp_entry{
    .name = "bfp",
    .summary = "block floating point: the values of a block share the exponent of the largest",
    .parameters = parameters,
    .block_bits = value_bits,
    .format = shared_format,
    .encode = put_values,
    .decode = get_values,
};

}  // namespace penstock::bfp_file
