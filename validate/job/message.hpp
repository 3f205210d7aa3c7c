#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/plan/plan.hpp"

namespace penstock {

/// The identity of a tensor: the output of a pass of a model stage for a microbatch in an
/// iteration.
struct TensorLabel {
  bool gradient = false;
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
