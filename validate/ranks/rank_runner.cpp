#include "validate/ranks/rank_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>

#include "validate/machine/host.hpp"
#include "validate/ranks/rank_clocks.hpp"

namespace penstock {
namespace {

std::vector<std::uint32_t> tasks_by_rank(const std::vector<RankProgram>& programs) {
  std::vector<std::uint32_t> tasks;
  for (const RankProgram& program : programs) {
    std::size_t count = 0;
    for (const Step& step : program) {
      count += (step.beside == no_task ? 1 : 2) + step.early.size() + step.sends.size();
    }
    tasks.push_back(static_cast<std::uint32_t>(count));
  }
  return tasks;
}

/// Calls `visit(sending)` for everything that a program sends.
template <class Visitor>
void for_each_send(const RankProgram& program, Visitor visit) {
  for (const Step& step : program) {
    for (const TensorSend& sending : step.early) visit(sending);
    for (const TensorSend& sending : step.sends) visit(sending);
  }
}

std::uint32_t tasks_of(const std::vector<RankProgram>& programs) {
  const std::vector<std::uint32_t> tasks = tasks_by_rank(programs);
  return std::accumulate(tasks.begin(), tasks.end(), std::uint32_t{0});
}

constexpr std::string_view before_deadlock = "deadlock:";

}  // namespace

std::vector<BoxSpec> boxes_of(const Job& job) {
  const std::vector<RankProgram> programs = rank_programs(job.priced.plan);
  const std::vector<std::size_t> words = tensor_words(job);
  std::vector<BoxSpec> boxes(transfers_of_boxes(job.priced.plan, programs).size());
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    for_each_send(programs[rank], [&](const TensorSend& sending) {
      for (const TensorReader& reader : sending.readers) {
        boxes[reader.box] = {rank, reader.rank, words[sending.transfer]};
      }
    });
  }
  return boxes;
}

Standstill joined(const std::vector<Standstill>& deadlocks) {
  Standstill all = deadlocks.front();
  for (std::size_t i = 1; i < deadlocks.size(); ++i) {
    all.text.append(";").append(deadlocks[i].text, before_deadlock.size());
  }
  return all;
}

template <class Clock>
RankRunner<Clock>::RankRunner(const Job& job, Transport& transport, std::vector<Clock> clocks,
                              const RankGroup& group)
    : job_(job),
      transport_(transport),
      group_(group),
      programs_(rank_programs(job.priced.plan)),
      transfer_of_(transfers_of_boxes(job.priced.plan, programs_)),
      steps_(busy_steps(job)),
      words_(tensor_words(job)),
      recorder_(tasks_by_rank(programs_)),
      link_free_(job.priced.plan.links.size()) {
  const Plan& plan = job.priced.plan;
  if (goes_by_engine(job.priced)) {
    workers_ = std::make_unique<StepWorkers>(plan);
  } else if (plan.written) {
    using Waits = WrittenTransfers::Waits;
    written_ = std::make_unique<WrittenTransfers>(
        job.priced, std::is_same_v<Clock, SpinningClock> ? Waits::spinning : Waits::asleep);
  } else if (shares_links(job.priced)) {
    clerk_ = std::make_unique<LinkClerk>(job.priced);
  }
  stamps_tensors_ = !workers_ && !written_ && !clerk_;
  for (std::uint32_t rank = 0; rank < programs_.size(); ++rank) {
    if (!group.contains(rank)) programs_[rank].clear();
  }
  for (Clock& clock : clocks) {
    const Rank rank{static_cast<std::uint32_t>(ranks_.size())};
    ranks_.emplace_back(std::move(clock));
    bodies_.emplace_back(job, rank, steps_, words_);
  }
}

template <class Clock>
void RankRunner<Clock>::on_all_ranks(const std::function<void(std::uint32_t)>& work) {
  penstock::on_all_ranks(
      group_.size(), [&](std::uint32_t which) { work(group_.first + which); }, [this] { halt(); });
}

template <class Clock>
std::vector<Time> RankRunner<Clock>::profile() {
  std::vector<Time> times = job_.priced.costs.duration;
  on_all_ranks([&](std::uint32_t rank) {
    ranks_[rank].clock.start();
    for (std::uint32_t c = 0; c < times.size(); ++c) {
      const WorkClass& work = job_.priced.plan.classes[c];
      if (work.resource != rank || work.follows_partner) continue;
      bodies_[rank].prepare_class(c);
      const Span span =
          ranks_[rank].clock.time(job_.work_ns(c), [&] { bodies_[rank].perform_class(c); });
      times[c] = span.end - span.begin;
    }
    ranks_[rank].clock.finish();
  });
  return times;
}

template <class Clock>
RunOutcome RankRunner<Clock>::run() {
  transport_.clear();
  recorder_.clear();
  std::fill(link_free_.begin(), link_free_.end(), Time{});
  if (clerk_) clerk_->begin();
  if (written_) written_->begin();
  if (workers_) workers_->begin();
  for (RankState& rank : ranks_) {
    rank.fault.clear();
    rank.launched = job_.priced.costs.launch;
  }
  for (RankBody& body : bodies_) body.begin();
  std::optional<RunOutcome> outcome;
  if (workers_) {
    outcome = run_by_engine();
  } else {
    on_all_ranks([this](std::uint32_t rank) { run_rank(rank); });
  }
  ++iteration_;
  if (auto fault = standstill()) return *std::move(fault);
  if (outcome) return *std::move(outcome);
  if (clerk_) record_transfers(*clerk_);
  if (written_) record_transfers(*written_);
  const Plan& plan = job_.priced.plan;
  return recorder_.timeline(plan, plan.tasks() - tasks_of(programs_));
}

template <class Clock>
void RankRunner<Clock>::run_rank(std::uint32_t rank) {
  ranks_[rank].clock.start();
  const RankProgram& program = programs_[rank];
  for (const Step& step : program) {
    ranks_[rank].at = step.task;
    if (!run_step(rank, step)) return;
  }
  if (clerk_) clerk_->finish(rank);
  if (written_) written_->finish(rank);
  transport_.finish(rank);
  ranks_[rank].clock.finish();
}

template <class Clock>
template <class Arrivals>
void RankRunner<Clock>::record_transfers(Arrivals& arrivals) {
  for (std::uint32_t rank = 0; rank < programs_.size(); ++rank) {
    for_each_send(programs_[rank], [&](const TensorSend& sending) {
      recorder_.add(rank, sending.transfer, arrivals.span(sending.transfer));
    });
  }
}

/// The engine alone knows when everything ran; it needs a thread beside those of the ranks.
template <class Clock>
RunOutcome RankRunner<Clock>::run_by_engine() {
  RunOutcome outcome;
  penstock::on_all_ranks(
      group_.size() + 1,
      [&](std::uint32_t which) {
        if (which < group_.size()) return run_rank(group_.first + which);
        outcome = run_stepwise(job_.priced, *workers_);
        if (std::holds_alternative<Standstill>(outcome)) halt();
      },
      [this] { halt(); });
  return outcome;
}

template <class Clock>
void RankRunner<Clock>::halt() {
  transport_.halt();
  if (clerk_) clerk_->halt();
  if (written_) written_->halt();
  if (workers_) workers_->halt();
}

/// Returns whether the run continues.
template <class Clock>
bool RankRunner<Clock>::run_step(std::uint32_t rank, const Step& step) {
  try {
    if (workers_ && !await_start(rank, step)) return false;
    if (!receive(rank, step) || !send(rank, step, step.early)) return false;
    await_launch(rank);
    const Time took = compute(rank, step);
    if (!send(rank, step, step.sends)) return false;
    if (workers_) workers_->finish(rank, took);
    if (written_) written_->ended(step, ranks_[rank].clock.now());
    return true;
  } catch (const OrderFailure& failure) {
    ranks_[rank].fault = fmt::format("{} on rank {}: {}", task_text(job_.priced.plan, step.task),
                                     rank, failure.what());
    halt();
    return false;
  }
}

/// Waits for the start of a step; returns whether it may continue.
template <class Clock>
bool RankRunner<Clock>::await_start(std::uint32_t rank, const Step& step) {
  const auto begin = workers_->await_start(rank, step.task);
  if (begin) ranks_[rank].clock.await(*begin);
  return begin.has_value();
}

/// Waits until it is known when the inputs of a step arrive, unless their senders say so; returns
/// whether it may continue.
template <class Clock>
bool RankRunner<Clock>::await(std::uint32_t rank, const Step& step) {
  if (!clerk_ && !written_) return true;
  RankState& state = ranks_[rank];
  const Time now = state.clock.now();
  const auto there =
      clerk_ ? clerk_->await(rank, step.reads, now) : written_->await(rank, step.awaits, now);
  if (there) state.clock.await(*there);
  return there.has_value();
}

/// Waits for the inputs of a step; returns whether it may continue.
template <class Clock>
bool RankRunner<Clock>::receive(std::uint32_t rank, const Step& step) {
  RankState& state = ranks_[rank];
  if (!await(rank, step)) return false;
  for (const Reading& reading : step.reads) {
    const std::span<std::uint64_t> room = bodies_[rank].room(reading);
    const auto message = transport_.take(reading.box, room);
    if (!message) return false;
    TensorLabel expected = reading.expected;
    expected.iteration = iteration_;
    if (auto wrong = tensor_fault(*message, room, expected)) {
      state.fault = fmt::format("before {} on rank {}: {}", task_text(job_.priced.plan, step.task),
                                rank, *wrong);
      halt();
      return false;
    }
    bodies_[rank].take_in(reading);
    if (stamps_tensors_) state.clock.await(from_ns(message->arrival_ns));
  }
  return true;
}

/// The host issues the actions of its rank one after the other.
template <class Clock>
void RankRunner<Clock>::await_launch(std::uint32_t rank) {
  if (workers_ || !job_.priced.costs.has_launches()) return;
  RankState& state = ranks_[rank];
  state.launched += job_.priced.costs.issue;
  state.clock.await(state.launched);
}

template <class Clock>
Time RankRunner<Clock>::compute(std::uint32_t rank, const Step& step) {
  const std::int64_t asked_ns = job_.task_ns(step.task);
  const Span span = ranks_[rank].clock.time(asked_ns, [&] { bodies_[rank].perform(step); });
  if (!workers_) {
    recorder_.add(rank, step.task, span);
    if (step.beside != no_task) recorder_.add(rank, step.beside, span);
  }
  return span.end - span.begin;
}

/// Returns whether the run continues.
template <class Clock>
bool RankRunner<Clock>::send(std::uint32_t rank, const Step& step,
                             const std::vector<TensorSend>& sends) {
  for (const TensorSend& sending : sends) {
    if (sending.brings_back != no_task) {
      if (!send_back(rank, sending)) return false;
      continue;
    }
    const std::span<const std::uint64_t> made = bodies_[rank].made(step, sending);
    Message message{sending.label, checksum(made), to_ns(ranks_[rank].clock.now())};
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
  kept->arrival_ns = std::max(kept->arrival_ns, to_ns(state.clock.now()));
  transmit(rank, sending, *kept, state.kept);
  return true;
}

/// Without any clerk, links are first come first served, and only this rank uses this one.
/// `message` has the time at which the tensor is ready.
template <class Clock>
void RankRunner<Clock>::transmit(std::uint32_t rank, const TensorSend& sending, Message message,
                                 std::span<const std::uint64_t> words) {
  if (clerk_) {
    clerk_->send(sending.transfer, ranks_[rank].clock.now(), sending.brings_back);
  } else if (stamps_tensors_) {
    Time& free = link_free_[sending.link];
    const Time begin = std::max(free, from_ns(message.arrival_ns));
    free = begin + from_ns(job_.task_ns(sending.transfer));
    const Time arrival = free + from_ns(job_.task_latency_ns(sending.transfer));
    recorder_.add(rank, sending.transfer, {begin, arrival});
    message.arrival_ns = to_ns(arrival);
  }
  for (const TensorReader& reader : sending.readers) transport_.post(reader.box, message, words);
}

/// Lists every waiting rank and what it waits for.
template <class Clock>
template <class Awaited>
Standstill RankRunner<Clock>::deadlock(const std::vector<std::optional<Awaited>>& stuck) const {
  Standstill halt{"deadlock", Rank{0}, {}, std::string(before_deadlock)};
  bool first = true;
  for (std::uint32_t rank = 0; rank < stuck.size(); ++rank) {
    if (!stuck[rank]) continue;
    if (first) halt.rank = Rank{rank};
    const TaskId awaited = transfer_of_[*stuck[rank]];
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
  if (clerk_ && !clerk_->deadlock().empty()) return deadlock(clerk_->deadlock());
  if (written_ && !written_->deadlock().empty()) return deadlock(written_->deadlock());
  return std::nullopt;
}

template <class Clock>
std::optional<TrainedNumbers> RankRunner<Clock>::numbers() const {
  if (!job_.layers) return std::nullopt;
  TrainedNumbers numbers;
  for (std::uint32_t rank = group_.first; rank < group_.end; ++rank) {
    bodies_[rank].layered()->add_numbers(numbers);
  }
  return numbers;
}

template <class Clock>
TimesOfLayers RankRunner<Clock>::layer_times() const {
  TimesOfLayers times;
  for (std::uint32_t rank = group_.first; job_.layers && rank < group_.end; ++rank) {
    bodies_[rank].layered()->add_layer_times(times);
  }
  return times;
}

template <class Clock>
std::optional<CodingNumbers> RankRunner<Clock>::coding() const {
  if (!job_.layers || job_.layers->codecs.empty()) return std::nullopt;
  CodingNumbers coding;
  for (std::uint32_t rank = group_.first; rank < group_.end; ++rank) {
    bodies_[rank].layered()->add_coding(coding);
  }
  return coding;
}

template class RankRunner<LogicalClock>;
template class RankRunner<SpinningClock>;
template class RankRunner<SleepingClock>;

}  // namespace penstock
