#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "gui/models/facts/facts.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {
namespace {

/// nullptr: not known.
const MemoryLane* lane_of(const PaintedRun& run, std::uint32_t rank) {
  const bool known = run.memory != nullptr && rank < run.memory->ranks.size();
  return known ? &run.memory->ranks[rank] : nullptr;
}

std::string signed_bytes(std::uint64_t from, std::uint64_t to) {
  if (to == from) return "±0";
  return to < from ? "-" + bytes_text(from - to) : "+" + bytes_text(to - from);
}

/// How a step differs from the one before it: "+256 MiB as 2F1 begins".
Fact change_to(std::string name, const PaintedRun& of, std::uint32_t rank, std::uint8_t run,
               const HeldMemory& next) {
  const HeldMemory& before = *(&next - 1);
  Fact fact{std::move(name), signed_bytes(before.bytes, next.bytes)};
  const TaskId op = op_between(of, rank, before);
  if (op == no_task) return fact;
  const bool ends = of.run->timeline.end[op] == next.begin;
  fact.text += fmt::format(" as {} {}", task_text(of.run->plan, op), ends ? "ends" : "begins");
  fact.op = {op, run};
  return fact;
}

/// Since when and until when, and what changed it.
void tell_step(const SeenRuns& seen, std::uint32_t rank, std::uint8_t run, const HeldMemory& now,
               Facts& facts) {
  const PaintedRun& of = *seen.runs[run];
  const std::vector<HeldMemory>& held = lane_of(of, rank)->held;
  facts.all.push_back({"from", seen.moment(now.begin.picoseconds)});
  facts.all.push_back({"until", seen.moment(now.end.picoseconds)});
  if (&now != &held.front()) facts.all.push_back(change_to("change", of, rank, run, now));
  if (&now == &held.back()) return;
  facts.all.push_back(change_to("then", of, rank, run, *(&now + 1)));
  facts.all.back().brief = false;
}

void tell_peak(const SeenRuns& seen, std::uint32_t rank, std::uint8_t run, Facts& facts) {
  const ViewedRun& of = *seen.runs[run]->run;
  if (rank >= of.report.ranks.size() || of.report.ranks[rank].memory.bytes == 0) return;
  const MemoryPeak& peak = of.report.ranks[rank].memory;
  const ShownOp op = peak.task == no_task ? ShownOp() : ShownOp(peak.task, run);
  facts.all.push_back({"peak of the rank",
                       bytes_text(peak.bytes) + " at " + short_time(peak.time.picoseconds), op,
                       false});
}

/// What the rank holds at the same moment in the other runs.
void tell_other_runs(const SeenRuns& seen, std::uint32_t rank, std::uint8_t of, std::int64_t time,
                     Facts& facts) {
  const auto held = [&](std::uint8_t run) {
    const MemoryLane* const lane = lane_of(*seen.runs[run], rank);
    return lane == nullptr ? nullptr : lane->at({time});
  };
  const HeldMemory* const in_a = held(seen.baseline());
  for (std::size_t place = 1; place < seen.runs.size(); ++place) {
    const auto run = static_cast<std::uint8_t>(lettered(place, seen.frozen));
    const HeldMemory* const now = held(run);
    if (in_a == nullptr || now == nullptr) continue;
    if (of != seen.baseline() && of != run) continue;
    facts.all.push_back(
        {fmt::format("{} − A", letter_of_run(place)),
         fmt::format("{}: {} in A, {} in {}", signed_bytes(in_a->bytes, now->bytes),
                     bytes_text(in_a->bytes), bytes_text(now->bytes), letter_of_run(place))});
  }
}

std::string of_capacity(const ViewedRun& run) {
  return run.capacity_bytes ? " of " + bytes_text(*run.capacity_bytes) : "";
}

}  // namespace

TaskId op_between(const PaintedRun& run, std::uint32_t rank, const HeldMemory& step) {
  const HeldMemory& next = *(&step + 1);
  const std::int64_t time = next.begin.picoseconds;
  TaskId begins = no_task;
  TaskId ends = no_task;
  for (const Track& track : run.lanes->ranks[rank].compute) {
    const std::size_t first = track.first_ending_after(time - 1);
    for (std::size_t box = first; box < std::min(first + 2, track.size()); ++box) {
      if (track.begin_at(box) == time) begins = track.tag[box];
      if (track.end_at(box) == time) ends = track.tag[box];
    }
  }
  const bool freed = next.bytes < step.bytes;
  return (freed && ends != no_task) || begins == no_task ? ends : begins;
}

Area area_of(const HeldMemory& step, std::uint32_t rank, std::uint8_t run) {
  return {.begin = step.begin.picoseconds,
          .end = step.end.picoseconds,
          .first_rank = rank,
          .end_rank = rank + 1,
          .run = run,
          .memory = true};
}

const HeldMemory* memory_of(const Area& area, const PaintedRun& run) {
  const MemoryLane* const lane = area.memory ? lane_of(run, area.first_rank) : nullptr;
  const HeldMemory* const step = lane == nullptr ? nullptr : lane->at({area.begin});
  const bool same =
      step != nullptr && step->begin.picoseconds == area.begin && step->end.picoseconds == area.end;
  return same ? step : nullptr;
}

Facts facts_of_memory(const SeenRuns& seen, std::uint32_t rank, std::uint8_t run,
                      std::int64_t time) {
  const PaintedRun& of = *seen.runs[run];
  const MemoryLane* const lane = lane_of(of, rank);
  const HeldMemory* const now = lane == nullptr ? nullptr : lane->at({time});
  if (now == nullptr) return {};
  Facts facts{fmt::format("{} at {} holds {}{}", seen.rank_name(rank, run), short_time(time),
                          bytes_text(now->bytes), of_capacity(*of.run))};
  for (const BufferKind kind : of.memory->kinds) {
    const std::uint64_t bytes = now->by_kind[static_cast<std::size_t>(kind)];
    if (bytes > 0) facts.all.push_back({std::string(name(kind)), bytes_text(bytes)});
  }
  if (!facts.all.empty()) {
    facts.line = facts.title + ": " +
                 joined(facts.all, [](const Fact& kind) { return kind.name + " " + kind.text; });
  }
  tell_step(seen, rank, run, *now, facts);
  tell_peak(seen, rank, run, facts);
  tell_other_runs(seen, rank, run, time, facts);
  return facts;
}

Facts facts_of_memory(const SeenRuns& seen, const Area& step) {
  Facts facts = facts_of_memory(seen, step.first_rank, step.run, step.begin);
  const PaintedRun& of = *seen.runs[step.run];
  const HeldMemory& held = *memory_of(step, of);
  facts.title = facts.line =
      fmt::format("{} holds {}{} for {}", seen.rank_name(step.first_rank, step.run),
                  bytes_text(held.bytes), of_capacity(*of.run), short_time(step.end - step.begin));
  return facts;
}

}  // namespace penstock
