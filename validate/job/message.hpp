#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/plan/plan.hpp"

namespace penstock {

/// What a tensor holds: the output of a pass, or what a transfer of the tail carries.
enum class TensorKind : std::uint8_t {
  activation,
  gradient,                // of an activation
  weight_gradients,        // of a stage, to be reduced
  early_weight_gradients,  // their buckets that are full before the backward ends
  tied_gradient,           // of tied weights, for the other end of the chain
};
constexpr std::uint32_t tensor_kinds = 5;

/// The identity of a tensor: what it holds of a model stage, for which microbatch and in which
/// iteration.
struct TensorLabel {
  TensorKind kind = TensorKind::activation;
  std::uint32_t model_stage = 0;
  Microbatch microbatch{};
  std::uint32_t iteration = 0;
  friend bool operator==(const TensorLabel&, const TensorLabel&) = default;
};

/// "the activation of model stage 1 for microbatch 5, iteration 0".
std::string text(const TensorLabel& label);

/// A number that depends on every word and its position.
std::uint64_t checksum(std::span<const std::uint64_t> words);

/// What a rank sends to another.
struct Message {
  TensorLabel label;
  std::uint64_t sum = 0;  // checksum by the sender
  std::int64_t arrival_ns = 0;
};

/// What is wrong with a received tensor; nothing when it is the expected one, intact.
std::optional<std::string> tensor_fault(const Message& message,
                                        std::span<const std::uint64_t> words,
                                        const TensorLabel& expected);

}  // namespace penstock
