#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "validate/job/job.hpp"
#include "validate/job/rank_program.hpp"

namespace penstock {

/// The words of the tensor that a transfer of a job moves, where actions are busy kernels: as many
/// as the job's largest tensor has, but no more than all boxes together have room for. How long a
/// tensor takes is the job's word, so that it need not be as large.
std::size_t busy_tensor_words(const Job& job);

/// How many steps of the busy kernel each work class of a job takes on this machine.
std::vector<std::uint64_t> busy_steps(const Job& job);

/// What a rank's actions do where only their times are known: each keeps its core busy, and makes
/// a tensor that nothing else makes. A body belongs to one rank and is used by its thread alone.
///
/// For each step, in its order: `room` and `take_in` for each of its readings, `perform`, which is
/// what is timed, and `made` for what it sends.
class BusyBody {
 public:
  BusyBody(const Plan& plan, const std::vector<std::uint64_t>& steps, std::size_t words);

  /// Before each run.
  void begin() {}
  /// Where the tensor of a reading is to be put.
  std::span<std::uint64_t> room(const Reading&) { return received_; }
  /// It has come, and is the right one.
  void take_in(const Reading&) {}
  void perform(const Step& step) { perform_class(plan_->work[step.task]); }
  /// What one task of a work class does, by itself; `prepare_class` comes first, and is not timed.
  void prepare_class(std::uint32_t) {}
  void perform_class(std::uint32_t work);
  /// The tensor that a step has made.
  std::span<const std::uint64_t> made(const Step& step);

 private:
  const Plan* plan_;
  const std::vector<std::uint64_t>* steps_;  // by work class
  std::vector<std::uint64_t> received_;
  std::vector<std::uint64_t> made_;
  std::uint64_t seed_ = 1;
};

}  // namespace penstock
