#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validate/job/rank_group.hpp"
#include "validate/processes/child_process.hpp"

namespace penstock {

/// How a round is watched.
struct Watch {
  std::chrono::milliseconds limit;    // for all of it
  std::chrono::milliseconds silence;  // of one that was asked how far it is; 0: none is asked
  std::uint32_t run = 0;              // the run that may come to a deadlock
};

/// One answer of each of several processes, and what is done until all are there: a process that
/// ends or falls silent is noticed, a fault of one halts the others, and so does a deadlock of all.
///
/// From time to time all are asked how far they are, and asked again once all have answered. Two
/// such waves that add up to the same, with nobody active and as many tensors received as sent,
/// show that nothing moved in between and nothing was on its way: nothing ever will.
class ProcessRound {
 public:
  using Children = std::vector<std::unique_ptr<ChildProcess>>;
  ProcessRound(const Children& children, const std::vector<RankGroup>& groups, const Watch& watch);

  /// Waits for the answers, by process. Nothing when one is lost.
  std::optional<std::vector<ControlMessage>> answers();
  /// The answers to a word that is said to all.
  std::optional<std::vector<ControlMessage>> ask(Word word, const ByteWriter& body = {});
  /// That a process was lost, which is a standstill.
  const std::optional<Standstill>& lost() const { return lost_; }

 private:
  struct Party {
    std::optional<ControlMessage> answer;
    std::optional<Moment> asked;       // how far it is, when it has not answered
    std::optional<Standing> standing;  // of this wave
  };

  bool done() const;
  void listen(Moment until);
  void hear(std::uint32_t process);
  void note(std::uint32_t process, ControlMessage message);
  void lose_contact(std::uint32_t process, const std::string& what);
  void lose(std::uint32_t process, const std::string& what);
  void say(std::uint32_t process, Word word, const ByteWriter& body = {});
  void look();
  void look_at_time();
  void look_at_wave();
  std::optional<std::uint64_t> sent_by_all_who_wait() const;
  void ask_how_far();

  const Children& children_;
  const std::vector<RankGroup>& groups_;
  Watch watch_;
  Moment end_;
  std::vector<Party> parties_;           // by process
  std::optional<std::uint64_t> waited_;  // what the last wave had sent, when all waited
  std::optional<Word> halting_;          // how those that still run are to be halted
  std::optional<Standstill> lost_;
};

}  // namespace penstock
