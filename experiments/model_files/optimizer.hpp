#pragma once

#include <cstdint>

namespace penstock {

/// How weights are updated.
enum class Optimizer : std::uint8_t { none, sgd, momentum, adam };

/// The formats of parameters and gradients.
enum class Precision : std::uint8_t { bf16, fp16, fp32 };

/// What is kept for each parameter. Only how these go together matters: layers state how many bytes
/// of parameters they have.
struct BytesPerParameter {
  double parameter = 0;
  double gradient = 0;   // 0: not kept; it travels in the format of the parameter
  double optimizer = 0;  // master weights, moments, and gradients in a wider format

  double gradient_factor() const { return gradient > 0 ? gradient / parameter : 1; }
  double optimizer_factor() const { return optimizer / parameter; }
};

/// What mixed-precision training as of Megatron keeps: bf16 with fp32 gradients, fp16 with fp16
/// ones, or fp32 throughout; with Adam 18, 20 and 16 bytes.
BytesPerParameter bytes_per_parameter(Precision precision, Optimizer optimizer);

}  // namespace penstock
