#include "validate/ranks/rank_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "validate/machine/rank_threads.hpp"
#include "validate/ranks/rank_clocks.hpp"

namespace penstock {
namespace {

std::vector<std::uint32_t> tasks_by_rank(const std::vector<RankProgram>& programs) {
  std::vector<std::uint32_t> tasks;
  for (const RankProgram& program : programs) {
    std::size_t count = 0;
    for (const Step& step : program) count += 1 + step.sends.size();
    tasks.push_back(static_cast<std::uint32_t>(count));
  }
  return tasks;
}

/// Empty for ranks outside the group.
std::vector<RankProgram> programs_of(const Plan& plan, const RankGroup& group) {
  std::vector<RankProgram> programs = rank_programs(plan);
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    if (!group.contains(rank)) programs[rank].clear();
  }
  return programs;
}

std::uint32_t tasks_of(const std::vector<RankProgram>& programs) {
  const std::vector<std::uint32_t> tasks = tasks_by_rank(programs);
  return std::accumulate(tasks.begin(), tasks.end(), std::uint32_t{0});
}

constexpr std::string_view before_deadlock = "deadlock:";

}  // namespace

std::optional<Obstacle> thread_obstacle(const Plan& plan) {
  constexpr std::uint32_t most_ranks = 256;
  constexpr std::uint32_t most_tasks = 200'000;
  if (auto reason = why_no_programs(plan)) return Obstacle{.of_machine = false, .text = *reason};
  if (plan.ranks > most_ranks) {
    return Obstacle{true,
                    fmt::format("{} ranks, one thread each; at most {}", plan.ranks, most_ranks)};
  }
  if (plan.tasks() > most_tasks) {
    return Obstacle{true,
                    fmt::format("{} actions and transfers; at most {}", plan.tasks(), most_tasks)};
  }
  return std::nullopt;
}

std::vector<BoxSpec> boxes_of(const Job& job) {
  const std::vector<RankProgram> programs = rank_programs(job.priced.plan);
  const std::vector<std::size_t> words = tensor_words(job);
  std::vector<BoxSpec> boxes(job.priced.plan.tasks());
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    for (const Step& step : programs[rank]) {
      for (const TensorSend& sending : step.sends) {
        boxes[sending.transfer] = {rank, sending.reader, words[sending.transfer]};
      }
    }
  }
  return boxes;
}

Standstill joined(const std::vector<Standstill>& deadlocks) {
  Standstill all = deadlocks.front();
  for (std::size_t i = 1; i < deadlocks.size(); ++i) {
    all.text += ";" + deadlocks[i].text.substr(before_deadlock.size());
  }
  return all;
}

template <class Clock>
RankRunner<Clock>::RankRunner(const Job& job, Transport& transport, std::vector<Clock> clocks,
                              const RankGroup& group)
    : job_(job),
      transport_(transport),
      group_(group),
      programs_(programs_of(job.priced.plan, group)),
      steps_(busy_steps(job)),
      words_(tensor_words(job)),
      recorder_(tasks_by_rank(programs_)),
      link_free_ns_(job.priced.plan.links.size()) {
  for (Clock& clock : clocks) {
    const Rank rank{static_cast<std::uint32_t>(ranks_.size())};
    ranks_.emplace_back(std::move(clock));
    bodies_.emplace_back(job, rank, steps_, words_);
  }
}

template <class Clock>
void RankRunner<Clock>::on_all_ranks(const std::function<void(std::uint32_t)>& work) {
  penstock::on_all_ranks(
      group_.size(), [&](std::uint32_t which) { work(group_.first + which); },
      [this] { transport_.halt(); });
}

template <class Clock>
std::vector<Time> RankRunner<Clock>::profile() {
  std::vector<Time> times = job_.priced.costs.duration;
  on_all_ranks([&](std::uint32_t rank) {
    ranks_[rank].clock.start();
    for (std::uint32_t c = 0; c < times.size(); ++c) {
      if (job_.priced.plan.classes[c].resource != rank) continue;
      bodies_[rank].prepare_class(c);
      const Span span =
          ranks_[rank].clock.time(job_.work_ns(c), [&] { bodies_[rank].perform_class(c); });
      times[c] = from_ns(span.end_ns - span.begin_ns);
    }
    ranks_[rank].clock.finish();
  });
  return times;
}

template <class Clock>
RunOutcome RankRunner<Clock>::run() {
  transport_.clear();
  recorder_.clear();
  std::fill(link_free_ns_.begin(), link_free_ns_.end(), 0);
  for (RankState& rank : ranks_) rank.fault.clear();
  for (RankBody& body : bodies_) body.begin();
  on_all_ranks([this](std::uint32_t rank) { run_rank(rank); });
  ++iteration_;
  if (auto halt = standstill()) return *std::move(halt);
  const Plan& plan = job_.priced.plan;
  return recorder_.timeline(plan, plan.tasks() - tasks_of(programs_));
}

template <class Clock>
void RankRunner<Clock>::run_rank(std::uint32_t rank) {
  ranks_[rank].clock.start();
  for (const Step& step : programs_[rank]) {
    ranks_[rank].at = step.task;
    if (!run_step(rank, step)) return;
  }
  transport_.finish(rank);
  ranks_[rank].clock.finish();
}

/// Returns whether the run continues.
template <class Clock>
bool RankRunner<Clock>::run_step(std::uint32_t rank, const Step& step) {
  try {
    if (!receive(rank, step)) return false;
    compute(rank, step);
    return send(rank, step);
  } catch (const OrderFailure& failure) {
    ranks_[rank].fault = fmt::format("{} on rank {}: {}", task_text(job_.priced.plan, step.task),
                                     rank, failure.what());
    transport_.halt();
    return false;
  }
}

/// Waits for the inputs of a step; returns whether it may continue.
template <class Clock>
bool RankRunner<Clock>::receive(std::uint32_t rank, const Step& step) {
  RankState& state = ranks_[rank];
  for (const Reading& reading : step.reads) {
    const std::span<std::uint64_t> room = bodies_[rank].room(reading);
    const auto message = transport_.take(reading.transfer, room);
    if (!message) return false;
    TensorLabel expected = reading.expected;
    expected.iteration = iteration_;
    if (auto wrong = tensor_fault(*message, room, expected)) {
      state.fault = fmt::format("before {} on rank {}: {}", task_text(job_.priced.plan, step.task),
                                rank, *wrong);
      transport_.halt();
      return false;
    }
    bodies_[rank].take_in(reading);
    state.clock.await(message->arrival_ns);
  }
  return true;
}

template <class Clock>
void RankRunner<Clock>::compute(std::uint32_t rank, const Step& step) {
  const std::int64_t asked_ns = job_.work_ns(job_.priced.plan.work[step.task]);
  recorder_.add(rank, step.task,
                ranks_[rank].clock.time(asked_ns, [&] { bodies_[rank].perform(step); }));
}

/// Returns whether the run continues.
template <class Clock>
bool RankRunner<Clock>::send(std::uint32_t rank, const Step& step) {
  for (const TensorSend& sending : step.sends) {
    if (sending.brings_back != no_task) {
      if (!send_back(rank, sending)) return false;
      continue;
    }
    const std::span<const std::uint64_t> made = bodies_[rank].made(step);
    Message message{step.makes, checksum(made), ranks_[rank].clock.now_ns()};
    message.label.iteration = iteration_;
    transmit(rank, sending, message, made);
  }
  return true;
}

/// Sends back what was evicted, once complete. Returns whether the run continues.
template <class Clock>
bool RankRunner<Clock>::send_back(std::uint32_t rank, const TensorSend& sending) {
  RankState& state = ranks_[rank];
  state.kept.resize(words_[sending.brings_back]);
  auto kept = transport_.take(sending.brings_back, state.kept);
  if (!kept) return false;
  kept->arrival_ns = std::max(kept->arrival_ns, state.clock.now_ns());
  transmit(rank, sending, *kept, state.kept);
  return true;
}

/// Links are first come first served, and only this rank uses this one. `message` has the time at
/// which the tensor is ready.
template <class Clock>
void RankRunner<Clock>::transmit(std::uint32_t rank, const TensorSend& sending, Message message,
                                 std::span<const std::uint64_t> words) {
  const std::uint32_t work = job_.priced.plan.work[sending.transfer];
  std::int64_t& free = link_free_ns_[sending.link];
  const std::int64_t begin = std::max(free, message.arrival_ns);
  free = begin + job_.work_ns(work);
  message.arrival_ns = free + job_.latency_ns(work);
  recorder_.add(rank, sending.transfer, {begin, message.arrival_ns});
  transport_.post(sending.transfer, message, words);
}

/// Lists every waiting rank and what it waits for.
template <class Clock>
Standstill RankRunner<Clock>::deadlock(const std::vector<std::optional<std::size_t>>& stuck) const {
  Standstill halt{"deadlock", Rank{0}, {}, std::string(before_deadlock)};
  bool first = true;
  for (std::uint32_t rank = 0; rank < stuck.size(); ++rank) {
    if (!stuck[rank]) continue;
    if (first) halt.rank = Rank{rank};
    const auto awaited = static_cast<TaskId>(*stuck[rank]);
    halt.text += fmt::format("{} {} of rank {} waits for {}", first ? "" : ";",
                             task_text(job_.priced.plan, ranks_[rank].at), rank,
                             task_text(job_.priced.plan, awaited));
    first = false;
  }
  return halt;
}

template <class Clock>
std::optional<Standstill> RankRunner<Clock>::standstill() const {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].fault.empty()) continue;
    return Standstill{"wrong_tensor", Rank{rank}, {}, ranks_[rank].fault};
  }
  if (auto broken = transport_.failure()) {
    return Standstill{"transport", broken->rank, {}, broken->text};
  }
  const auto stuck = transport_.deadlock();
  if (!stuck.empty()) return deadlock(stuck);
  return std::nullopt;
}

template <class Clock>
std::optional<TrainedNumbers> RankRunner<Clock>::numbers() const {
  if (!job_.layers) return std::nullopt;
  TrainedNumbers numbers;
  for (std::uint32_t rank = group_.first; rank < group_.end; ++rank) {
    bodies_[rank].add_numbers(numbers);
  }
  return numbers;
}

template class RankRunner<LogicalClock>;
template class RankRunner<SpinningClock>;
template class RankRunner<SleepingClock>;

}  // namespace penstock
