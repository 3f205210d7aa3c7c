#include "validate/transports/mailboxes.hpp"

#include <algorithm>

namespace penstock {

Mailboxes::Mailboxes(const std::vector<BoxSpec>& boxes, std::uint32_t ranks)
    : wake_(ranks), waits_for_(ranks), active_(ranks) {
  for (const BoxSpec& box : boxes) {
    boxes_.push_back({box.reader, std::vector<std::uint64_t>(box.words), {}, false});
  }
}

void Mailboxes::clear() {
  for (Box& box : boxes_) box.filled = false;
  std::fill(waits_for_.begin(), waits_for_.end(), std::nullopt);
  deadlock_.clear();
  active_ = static_cast<std::uint32_t>(wake_.size());
  halted_ = false;
}

void Mailboxes::post(std::size_t box, const Message& message,
                     std::span<const std::uint64_t> words) {
  // Nobody reads a box before it is filled, so only the flag needs the lock.
  std::copy(words.begin(), words.end(), boxes_[box].words.begin());
  boxes_[box].message = message;
  const std::uint32_t reader = boxes_[box].reader;
  const std::lock_guard lock(mutex_);
  boxes_[box].filled = true;
  if (waits_for_[reader] != box) return;
  wait_no_more(reader);
  wake_[reader].notify_one();
}

void Mailboxes::wait_no_more(std::uint32_t rank) {
  if (!waits_for_[rank]) return;
  waits_for_[rank].reset();
  ++active_;
}

std::optional<Message> Mailboxes::take(std::size_t box, std::span<std::uint64_t> words) {
  const std::uint32_t rank = boxes_[box].reader;
  {
    std::unique_lock lock(mutex_);
    if (!boxes_[box].filled && !halted_) {
      waits_for_[rank] = box;
      --active_;
      halt_if_stuck();
    }
    wake_[rank].wait(lock, [&] { return boxes_[box].filled || halted_; });
    wait_no_more(rank);
    if (!boxes_[box].filled) return std::nullopt;
  }
  std::copy(boxes_[box].words.begin(), boxes_[box].words.end(), words.begin());
  return boxes_[box].message;
}

void Mailboxes::finish(std::uint32_t) {
  const std::lock_guard lock(mutex_);
  --active_;
  halt_if_stuck();
}

void Mailboxes::halt() {
  const std::lock_guard lock(mutex_);
  halted_ = true;
  for (std::condition_variable& rank : wake_) rank.notify_one();
}

/// A sent tensor is in its box at once, so with no active rank nothing is in flight.
void Mailboxes::halt_if_stuck() {
  const bool waiting = std::any_of(waits_for_.begin(), waits_for_.end(),
                                   [](const auto& box) { return box.has_value(); });
  if (active_ > 0 || !waiting || halted_) return;
  deadlock_ = waits_for_;
  halted_ = true;
  for (std::condition_variable& rank : wake_) rank.notify_one();
}

}  // namespace penstock
