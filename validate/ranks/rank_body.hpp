#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "validate/job/job.hpp"
#include "validate/job/rank_program.hpp"
#include "validate/training/layered_body.hpp"

namespace penstock {

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

/// Words of each transfer's tensor, by task; 0 for actions.
std::vector<std::size_t> tensor_words(const Job& job);

/// The actions of a rank on any backend: they run the job's layers if it has any, otherwise the
/// busy kernel. Used like BusyBody; calls throw OrderFailure when an action lacks an input.
class RankBody {
 public:
  /// Arguments must outlive it. `steps`: of the busy kernel; `words`: as from `tensor_words`.
  RankBody(const Job& job, Rank rank, const BusySteps& steps,
           const std::vector<std::size_t>& words);

  void begin() {
    std::visit([](auto& body) { body.begin(); }, body_);
  }
  std::span<std::uint64_t> room(const Reading& reading) {
    return std::visit([&](auto& body) { return body.room(reading); }, body_);
  }
  void take_in(const Reading& reading) {
    std::visit([&](auto& body) { body.take_in(reading); }, body_);
  }
  void perform(const Step& step) {
    std::visit([&](auto& body) { body.perform(step); }, body_);
  }
  /// Prepares `perform_class`; not timed.
  void prepare_class(std::uint32_t work) {
    std::visit([&](auto& body) { body.prepare_class(work); }, body_);
  }
  void perform_class(std::uint32_t work) {
    std::visit([&](auto& body) { body.perform_class(work); }, body_);
  }
  std::span<const std::uint64_t> made(const Step& step, const TensorSend& sending) {
    return std::visit([&](auto& body) { return body.made(step, sending); }, body_);
  }
  /// Null where it runs no layers.
  const LayeredBody* layered() const { return std::get_if<LayeredBody>(&body_); }

 private:
  std::variant<BusyBody, LayeredBody> body_;
};

}  // namespace penstock
