#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "validate/machine/shared_memory.hpp"

namespace penstock {

/// Words that one thread or process writes and one other reads, in the order they were written, in
/// memory of a fixed size. Nobody waits: what does not fit is not written.
class Ring {
 public:
  /// What a ring of so many words needs of shared memory.
  static std::size_t bytes(std::size_t words);

  Ring(SharedMemory& memory, std::size_t words);

  /// Empty again. Only while nobody writes or reads.
  void clear();
  /// Writes all words of both, or, when they do not fit now, none.
  bool write(std::span<const std::uint64_t> head, std::span<const std::uint64_t> body);
  /// How many words can be read; for the reader.
  std::size_t readable() const;
  /// Copies words that can be read, from the `first` on; they stay.
  void peek(std::size_t first, std::span<std::uint64_t> words) const;
  /// Makes room of words that have been read.
  void drop(std::size_t words);
  /// Whether all was read that was written; for anybody.
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
