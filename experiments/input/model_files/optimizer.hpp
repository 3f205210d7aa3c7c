#pragma once

#include <cstdint>

namespace penstock {

enum class Optimizer : std::uint8_t { none, sgd, momentum, adam };

/// The precision of parameters and gradients.
enum class Precision : std::uint8_t { bf16, fp16, fp32 };

/// Memory per parameter. Only the ratios matter: layers state their parameter bytes.
struct BytesPerParameter {
  double parameter = 0;
  double gradient = 0;   // 0: not kept; travels in the parameter's format
  double optimizer = 0;  // master weights, moments, and gradients in a wider format

  double gradient_factor() const { return gradient > 0 ? gradient / parameter : 1; }
  double optimizer_factor() const { return optimizer / parameter; }
};

/// Memory in mixed-precision training as in Megatron-LM: bf16 with fp32 gradients, fp16 with fp16
/// gradients, or fp32 throughout; with Adam 18, 20 and 16 bytes.
BytesPerParameter bytes_per_parameter(Precision precision, Optimizer optimizer);

}  // namespace penstock
