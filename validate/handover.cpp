#include "validate/handover.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

std::string text(const TensorLabel& label) {
  return fmt::format("the {} of model stage {} for microbatch {}, iteration {}",
                     label.gradient ? "gradient" : "activation", label.model_stage,
                     index(label.microbatch), label.iteration);
}

std::uint64_t checksum(std::span<const std::uint64_t> words) {
  std::uint64_t sum = 0xcbf2'9ce4'8422'2325U;
  for (const std::uint64_t word : words) {
    sum = (sum ^ word) * 0x100'0000'01b3U;
    sum ^= sum >> 32;
  }
  return sum;
}

std::optional<std::string> tensor_fault(const Message& message,
                                        std::span<const std::uint64_t> words,
                                        const TensorLabel& expected) {
  if (message.label != expected) {
    return fmt::format("{} came where {} was expected", text(message.label), text(expected));
  }
  if (checksum(words) != message.sum) {
    return fmt::format("{} came with another content than it was sent", text(expected));
  }
  return std::nullopt;
}

Mailboxes::Mailboxes(std::size_t boxes, std::size_t words, std::uint32_t ranks)
    : words_(words),
      store_(boxes * words),
      boxes_(boxes),
      wake_(ranks),
      waits_for_(ranks),
      active_(ranks) {}

void Mailboxes::clear() {
  for (Box& box : boxes_) box.filled = false;
  std::fill(waits_for_.begin(), waits_for_.end(), std::nullopt);
  deadlock_.clear();
  active_ = static_cast<std::uint32_t>(wake_.size());
  halted_ = false;
}

void Mailboxes::post(std::size_t box, std::uint32_t reader, const Message& message,
                     std::span<const std::uint64_t> words) {
  // Nobody looks into a box before it is filled, so that only the flag needs the lock.
  std::copy(words.begin(), words.end(), words_of(box).begin());
  boxes_[box].message = message;
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

std::optional<Message> Mailboxes::take(std::uint32_t rank, std::size_t box,
                                       std::span<std::uint64_t> words) {
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
  const std::span<const std::uint64_t> sent = words_of(box);
  std::copy(sent.begin(), sent.end(), words.begin());
  return boxes_[box].message;
}

void Mailboxes::finish() {
  const std::lock_guard lock(mutex_);
  --active_;
  halt_if_stuck();
}

void Mailboxes::halt() {
  const std::lock_guard lock(mutex_);
  halted_ = true;
  for (std::condition_variable& rank : wake_) rank.notify_one();
}

/// A tensor is in its box as soon as it is sent, so when no rank is active nothing is on its way.
void Mailboxes::halt_if_stuck() {
  const bool waiting = std::any_of(waits_for_.begin(), waits_for_.end(),
                                   [](const auto& box) { return box.has_value(); });
  if (active_ > 0 || !waiting || halted_) return;
  deadlock_ = waits_for_;
  halted_ = true;
  for (std::condition_variable& rank : wake_) rank.notify_one();
}

}  // namespace penstock
