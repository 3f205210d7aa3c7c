#pragma once

#include <condition_variable>
#include <mutex>

#include "validate/transports/transport.hpp"

namespace penstock {

/// Between threads that sleep while they wait. Knows who waits for which box, so a deadlock is
/// detected at once.
class Mailboxes : public Transport {
 public:
  Mailboxes(const std::vector<BoxSpec>& boxes, std::uint32_t ranks);

  void clear() override;
  void post(std::size_t box, const Message& message, std::span<const std::uint64_t> words) override;
  std::optional<Message> take(std::size_t box, std::span<std::uint64_t> words) override;
  void finish(std::uint32_t rank) override;
  void halt() override;
  std::vector<std::optional<std::size_t>> deadlock() const override { return deadlock_; }

 private:
  struct Box {
    std::uint32_t reader = 0;
    std::vector<std::uint64_t> words;
    Message message;
    bool filled = false;
  };

  void wait_no_more(std::uint32_t rank);
  void halt_if_stuck();

  std::vector<Box> boxes_;

  std::mutex mutex_;                                   // guards all below, and `filled`
  std::vector<std::condition_variable> wake_;          // by rank
  std::vector<std::optional<std::size_t>> waits_for_;  // by rank: a box
  std::vector<std::optional<std::size_t>> deadlock_;
  std::uint32_t active_ = 0;  // ranks that neither wait nor have finished
  bool halted_ = false;
};

}  // namespace penstock
