#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/job/message.hpp"

namespace penstock {

/// The sender, reader and size of a box.
struct BoxSpec {
  std::uint32_t sender = 0;  // a rank
  std::uint32_t reader = 0;  // a rank; the sender itself for evicted tensors
  std::size_t words = 0;     // 0: unused
};

/// Why tensors no longer arrive.
struct TransportFailure {
  Rank rank;  // where it was noticed
  std::string text;
};

/// Carries tensors between ranks, each in its own box, filled once per run. A sender never waits.
/// Each rank calls from its own thread.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Empties all boxes. Called between runs.
  virtual void clear() = 0;
  /// Sends a tensor with exactly the words of its box.
  virtual void post(std::size_t box, const Message& message,
                    std::span<const std::uint64_t> words) = 0;
  /// Waits until a box is filled, copies the tensor and returns its message; nothing when the run
  /// is halted.
  virtual std::optional<Message> take(std::size_t box, std::span<std::uint64_t> words) = 0;
  /// A rank has finished and sends no more.
  virtual void finish(std::uint32_t rank) = 0;
  /// Ends all waiting.
  virtual void halt() = 0;
  /// The box that each rank waits for; empty unless all wait forever.
  virtual std::vector<std::optional<std::size_t>> deadlock() const = 0;
  /// What else broke the run and halted it; nothing when tensors cannot be lost.
  virtual std::optional<TransportFailure> failure() const { return std::nullopt; }
};

}  // namespace penstock
