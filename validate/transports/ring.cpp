#include "validate/transports/ring.hpp"

#include <algorithm>
#include <new>

namespace penstock {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "atomics shared by processes must be lock-free");

std::size_t Ring::bytes(std::size_t words) {
  return alignof(Ends) + sizeof(Ends) + words * sizeof(std::uint64_t);
}

Ring::Ring(SharedMemory& memory, std::size_t words)
    : ends_(new (memory.take(sizeof(Ends), alignof(Ends))) Ends{}),
      words_(new (memory.take(words * sizeof(std::uint64_t), alignof(std::uint64_t)))
                 std::uint64_t[words],
             words) {}

void Ring::clear() {
  ends_->written.store(0, std::memory_order_relaxed);
  ends_->dropped.store(0, std::memory_order_relaxed);
}

bool Ring::write(std::span<const std::uint64_t> head, std::span<const std::uint64_t> body) {
  const std::uint64_t at = ends_->written.load(std::memory_order_relaxed);
  const std::uint64_t used = at - ends_->dropped.load(std::memory_order_acquire);
  if (head.size() + body.size() > words_.size() - used) return false;
  ends_->written.store(copy_in(copy_in(at, head), body), std::memory_order_release);
  return true;
}

std::uint64_t Ring::copy_in(std::uint64_t at, std::span<const std::uint64_t> words) {
  const std::size_t place = at % words_.size();
  const std::size_t until_end = std::min(words.size(), words_.size() - place);
  std::copy_n(words.begin(), until_end, words_.begin() + static_cast<std::ptrdiff_t>(place));
  std::copy(words.begin() + static_cast<std::ptrdiff_t>(until_end), words.end(), words_.begin());
  return at + words.size();
}

std::size_t Ring::readable() const {
  return ends_->written.load(std::memory_order_acquire) -
         ends_->dropped.load(std::memory_order_relaxed);
}

void Ring::peek(std::size_t first, std::span<std::uint64_t> words) const {
  const std::uint64_t at = ends_->dropped.load(std::memory_order_relaxed) + first;
  const std::size_t place = at % words_.size();
  const std::size_t until_end = std::min(words.size(), words_.size() - place);
  std::copy_n(words_.begin() + static_cast<std::ptrdiff_t>(place), until_end, words.begin());
  std::copy_n(words_.begin(), words.size() - until_end,
              words.begin() + static_cast<std::ptrdiff_t>(until_end));
}

void Ring::drop(std::size_t words) {
  const std::uint64_t at = ends_->dropped.load(std::memory_order_relaxed);
  ends_->dropped.store(at + words, std::memory_order_release);
}

bool Ring::empty() const {
  // In this order: dropped words were written earlier.
  const std::uint64_t dropped = ends_->dropped.load(std::memory_order_acquire);
  return ends_->written.load(std::memory_order_acquire) == dropped;
}

}  // namespace penstock
