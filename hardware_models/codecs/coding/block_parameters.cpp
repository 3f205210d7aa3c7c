#include "hardware_models/codecs/coding/block_parameters.hpp"

namespace penstock {

BlockFormat shared_format(const CodecNumbers& numbers) {
  BlockFormat format;
  format.block = numbers.whole("block");
  format.stride = numbers.whole("stride");
  format.mantissa_bits = numbers.whole("bits");
  format.exponent_bits = numbers.whole("exponent_bits");
  return format;
}

}  // namespace penstock
