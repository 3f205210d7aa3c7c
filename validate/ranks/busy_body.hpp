#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "validate/job/job.hpp"
#include "validate/job/rank_program.hpp"

namespace penstock {

/// Words of each transfer's tensor for busy kernels: those of the job's largest tensor, limited by
/// the space of all boxes. The job states how long a tensor takes, so its size may be smaller.
std::size_t busy_tensor_words(const Job& job);

/// Busy-kernel steps of a job on this machine.
struct BusySteps {
  std::vector<std::uint64_t> of_class;  // by work class
  std::vector<std::uint64_t> of_task;   // by task, when chance makes tasks of a class differ

  std::uint64_t of(const Plan& plan, TaskId task) const {
    return of_task.empty() ? of_class[plan.work[task]] : of_task[task];
  }
};
BusySteps busy_steps(const Job& job);

/// The actions of a rank when only their times are known: each keeps its core busy and makes a
/// unique tensor. A body belongs to one rank and its thread.
///
/// For each step in order: `room` and `take_in` for each of its readings, then `perform`, which is
/// timed, then `made` for each tensor it sends.
class BusyBody {
 public:
  BusyBody(const Plan& plan, const BusySteps& steps, std::size_t words);

  /// Before each run.
  void begin() {}
  /// Where to put the tensor of a reading.
  std::span<std::uint64_t> room(const Reading&) { return received_; }
  /// The expected tensor has arrived.
  void take_in(const Reading&) {}
  void perform(const Step& step) { spin_for(steps_->of(*plan_, step.task)); }
  /// Runs one task of a work class alone, after `prepare_class`, which is not timed.
  void prepare_class(std::uint32_t) {}
  void perform_class(std::uint32_t work) { spin_for(steps_->of_class[work]); }
  /// The tensor that a step has made for a transfer.
  std::span<const std::uint64_t> made(const Step& step, const TensorSend& sending);

 private:
  void spin_for(std::uint64_t steps);

  const Plan* plan_;
  const BusySteps* steps_;
  std::vector<std::uint64_t> received_;
  std::vector<std::uint64_t> made_;
  std::uint64_t seed_ = 1;
};

}  // namespace penstock
