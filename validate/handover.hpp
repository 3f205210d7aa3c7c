#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/plan.hpp"

namespace penstock {

/// What a tensor is: the output of a pass of a model stage for a microbatch, in some iteration.
struct TensorLabel {
  bool gradient = false;
  std::uint32_t model_stage = 0;
  Microbatch microbatch{};
  std::uint32_t iteration = 0;
  friend bool operator==(const TensorLabel&, const TensorLabel&) = default;
};

/// "the activation of model stage 1 for microbatch 5, iteration 0".
std::string text(const TensorLabel& label);

/// A number that depends on every word and on its place.
std::uint64_t checksum(std::span<const std::uint64_t> words);

/// What goes from rank to rank.
struct Message {
  TensorLabel label;
  std::uint64_t sum = 0;  // the checksum that the sender worked out
  std::int64_t arrival_ns = 0;
};

/// What is wrong about a tensor that came; nothing when it is the expected one, unharmed.
std::optional<std::string> tensor_fault(const Message& message,
                                        std::span<const std::uint64_t> words,
                                        const TensorLabel& expected);

/// Tensors on their way between threads, each in a box of its own, and who waits for which. When
/// everybody waits, nothing can come any more: all of them are told at once.
class Mailboxes {
 public:
  /// So many boxes of so many words each, between so many ranks.
  Mailboxes(std::size_t boxes, std::size_t words, std::uint32_t ranks);

  /// All boxes empty, nobody waiting.
  void clear();

  /// Copies a tensor into its box and wakes its reader, should that wait for it. Each box is filled
  /// once.
  void post(std::size_t box, std::uint32_t reader, const Message& message,
            std::span<const std::uint64_t> words);
  /// Waits until a box is filled, copies the tensor out of it and returns what came with it;
  /// nothing when the run is halted.
  std::optional<Message> take(std::uint32_t rank, std::size_t box, std::span<std::uint64_t> words);
  /// One rank is through, and will send no more.
  void finish();
  /// Ends all waiting.
  void halt();

  /// The box that each rank waits for for ever; empty unless all wait.
  const std::vector<std::optional<std::size_t>>& deadlock() const { return deadlock_; }

 private:
  struct Box {
    Message message;
    bool filled = false;
  };

  std::span<std::uint64_t> words_of(std::size_t box) {
    return {store_.data() + box * words_, words_};
  }
  void wait_no_more(std::uint32_t rank);
  void halt_if_stuck();

  std::size_t words_;
  std::vector<std::uint64_t> store_;
  std::vector<Box> boxes_;

  std::mutex mutex_;                                   // guards all below, and `filled`
  std::vector<std::condition_variable> wake_;          // by rank
  std::vector<std::optional<std::size_t>> waits_for_;  // by rank: a box
  std::vector<std::optional<std::size_t>> deadlock_;
  std::uint32_t active_ = 0;  // ranks that neither wait nor have finished
  bool halted_ = false;
};

}  // namespace penstock
