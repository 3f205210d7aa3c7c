#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validate/job/message.hpp"

namespace penstock {

/// Who fills a box, and who empties it, with how much.
struct BoxSpec {
  std::uint32_t sender = 0;  // a rank
  std::uint32_t reader = 0;  // a rank; the sender itself for what it put out
  std::size_t words = 0;     // 0: a box that is never used
};

/// Why tensors no longer come.
struct TransportFailure {
  Rank rank;  // where it was seen
  std::string text;
};

/// Carries tensors from rank to rank, each in a box of its own that is filled once a run. A sender
/// never waits. Each rank calls from its own thread.
class Transport {
 public:
  virtual ~Transport() = default;

  /// All boxes empty, nobody waiting. Called between runs.
  virtual void clear() = 0;
  /// Sends a tensor, of exactly the words of its box.
  virtual void post(std::size_t box, const Message& message,
                    std::span<const std::uint64_t> words) = 0;
  /// Waits until a box is filled, copies the tensor out of it and returns what came with it;
  /// nothing when the run is halted.
  virtual std::optional<Message> take(std::size_t box, std::span<std::uint64_t> words) = 0;
  /// One rank is through, and will send no more.
  virtual void finish(std::uint32_t rank) = 0;
  /// Ends all waiting.
  virtual void halt() = 0;
  /// The box that each rank waits for for ever; empty unless all wait.
  virtual std::vector<std::optional<std::size_t>> deadlock() const = 0;
  /// What else broke the run, so that it was halted; nothing where tensors cannot be lost.
  virtual std::optional<TransportFailure> failure() const { return std::nullopt; }
};

}  // namespace penstock
