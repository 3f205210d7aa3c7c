#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "validate/machine/shared_memory.hpp"

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

}  // namespace penstock
