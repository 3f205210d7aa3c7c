#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validate/job/replica_ranks.hpp"
#include "validate/processes/child_process.hpp"

namespace penstock {

/// Time limits of a round.
struct Watch {
  std::chrono::milliseconds limit;    // for the whole round
  std::chrono::milliseconds silence;  // of a process asked for progress; 0: none is asked
  std::uint32_t run = 0;              // the run that may deadlock
};

/// Collects one answer from each process. Meanwhile a process that ends or falls silent is noticed,
/// a fault of one halts the others, and so does a deadlock of all.
///
/// All processes are asked for progress periodically, in waves. Two consecutive waves with equal
/// totals, no active rank and as many tensors received as sent prove that nothing moved in between
/// and nothing is in flight: a deadlock.
class ProcessRound {
 public:
  using Children = std::vector<std::unique_ptr<ChildProcess>>;
  ProcessRound(const Children& children, const std::vector<RankGroup>& groups, const Watch& watch);

  /// Waits for the answers, by process. Nothing when one is lost.
  std::optional<std::vector<ControlMessage>> answers();
  /// The answers to a message sent to all.
  std::optional<std::vector<ControlMessage>> ask(MessageType type, const ByteWriter& body = {});
  /// The standstill after a process was lost.
  const std::optional<Standstill>& lost() const { return lost_; }

 private:
  struct Peer {
    std::optional<ControlMessage> answer;
    std::optional<Moment> asked;       // for progress, while unanswered
    std::optional<Progress> progress;  // in this wave
  };

  bool done() const;
  void listen(Moment until);
  void hear(std::uint32_t process);
  void note(std::uint32_t process, ControlMessage message);
  void lose_contact(std::uint32_t process, const std::string& what);
  void lose(std::uint32_t process, const std::string& what);
  void say(std::uint32_t process, MessageType type, const ByteWriter& body = {});
  void look();
  void look_at_time();
  void look_at_wave();
  std::optional<std::uint64_t> sent_by_all_who_wait() const;
  void ask_how_far();

  const Children& children_;
  const std::vector<RankGroup>& groups_;
  Watch watch_;
  Moment end_;
  std::vector<Peer> peers_;              // by process
  std::optional<std::uint64_t> waited_;  // tensors sent at the last wave, when all waited
  std::optional<MessageType> halting_;   // how running processes are halted
  std::optional<Standstill> lost_;
};

}  // namespace penstock
