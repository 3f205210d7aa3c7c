#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "validate/machine/shared_memory.hpp"
#include "validate/transports/transport.hpp"

namespace penstock {

/// A ring buffer of words with one writer and one reader (threads or processes), in memory of a
/// fixed size. Nobody waits: what does not fit is not written.
class Ring {
 public:
  /// Shared memory for a ring of this many words.
  static std::size_t bytes(std::size_t words);

  Ring(SharedMemory& memory, std::size_t words);

  /// Empties it. Only while nobody writes or reads.
  void clear();
  /// Writes all words of both, or none if they do not fit.
  bool write(std::span<const std::uint64_t> head, std::span<const std::uint64_t> body);
  /// Readable words; for the reader.
  std::size_t readable() const;
  /// Copies readable words from index `first` on, without removing them.
  void peek(std::size_t first, std::span<std::uint64_t> words) const;
  /// Removes words that have been read.
  void drop(std::size_t words);
  /// Whether everything written was read; for anybody.
  bool empty() const;

 private:
  struct Ends {  // each on a cache line of its own, since each is written by one side alone
    alignas(64) std::atomic<std::uint64_t> written;
    alignas(64) std::atomic<std::uint64_t> dropped;
  };

  std::uint64_t copy_in(std::uint64_t at, std::span<const std::uint64_t> words);

  Ends* ends_;
  std::span<std::uint64_t> words_;
};

/// Limits of rings and waits.
struct RingLimits {
  std::size_t most_words = std::size_t{1} << 15;  // per ring; its largest message always fits
  std::int64_t patience_ns = 10'000'000'000;      // for a tensor, while other ranks still run
};

/// Through shared memory, with a ring for each ordered pair of ranks, between threads or processes
/// that spin while they wait. A waiting rank empties all its rings and parks early tensors, so a
/// full ring delays a sender only while its reader computes. A rank that waits long checks whether
/// all wait with nothing in flight: a deadlock.
class RingTransport : public Transport {
 public:
  RingTransport(const std::vector<BoxSpec>& boxes, std::uint32_t ranks,
                const RingLimits& limits = {});

  void clear() override;
  void post(std::size_t box, const Message& message, std::span<const std::uint64_t> words) override;
  std::optional<Message> take(std::size_t box, std::span<std::uint64_t> words) override;
  void finish(std::uint32_t rank) override;
  void halt() override;
  std::vector<std::optional<std::size_t>> deadlock() const override;
  std::optional<TransportFailure> failure() const override;

 private:
  struct alignas(64) RankLine {            // shared by all; written only by its rank
    std::atomic<std::uint64_t> waits_for;  // a box, or a state of a rank
    std::atomic<std::uint64_t> stuck_on;   // the same, at a deadlock
  };
  struct alignas(64) RunState {  // shared by all
    std::atomic<std::uint32_t> halted;
    std::atomic<std::uint32_t> deadlocked;
    std::atomic<std::uint64_t> gave_up;  // a rank, and one
  };
  struct Box {
    std::uint32_t sender = 0;
    std::uint32_t reader = 0;
    std::vector<std::uint64_t> words;  // where it is parked; these three belong to its reader
    Message message;
    bool parked = false;
  };

  void add_rings();
  Ring& ring_of(std::uint32_t sender, std::uint32_t reader);
  std::optional<Message> receive(std::size_t box, std::span<std::uint64_t> words);
  void park(Ring& ring, std::size_t box, const Message& message);
  void empty_rings(std::uint32_t reader, std::uint32_t except_of);
  template <class Attempt>
  void spin_until(std::uint32_t rank, std::uint32_t except_of, const Attempt& attempt);
  void look_around(std::uint32_t rank, std::int64_t waited_ns);
  void halt_if_stuck();
  std::vector<std::uint64_t> waits() const;

  std::uint32_t ranks_;
  RingLimits limits_;
  std::vector<std::size_t> ring_words_;  // by sender and reader
  SharedMemory memory_;
  RunState* state_;
  std::span<RankLine> lines_;  // by rank
  std::vector<Ring> rings_;
  std::vector<std::uint32_t> ring_index_;            // by sender and reader
  std::vector<std::vector<std::uint32_t>> senders_;  // by reader: whose rings lead to it
  std::vector<Box> boxes_;
};

}  // namespace penstock
