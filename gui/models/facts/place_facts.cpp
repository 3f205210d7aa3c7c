#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "gui/models/facts/facts.hpp"
#include "gui/models/view/time_axis.hpp"
#include "sim/base/time_sum.hpp"

namespace penstock {
namespace {

std::int64_t length_of(const std::vector<IdlePiece>& gap) {
  return gap.empty() ? 0 : gap.back().end - gap.front().begin;
}

/// The idle time of a run directly before an op.
std::int64_t gap_before(const SeenRuns& seen, const ShownOp& op) {
  const PaintedRun& run = *seen.runs[op.run];
  const std::uint32_t rank = rank_of_task(run.run->plan, op.task);
  const auto last = idle_at(*run.lanes, rank, run.run->timeline.begin[op.task].picoseconds - 1);
  return last ? length_of(gap_around(*run.lanes, *last)) : 0;
}

/// How long the gap before the same op is in the other runs.
void tell_other_gaps(const SeenRuns& seen, const ShownOp& next, Facts& facts) {
  const ShownOp in_a = seen.same_op(next, seen.baseline());
  if (in_a.is_none()) return;
  const std::int64_t length = gap_before(seen, in_a);
  for (std::size_t place = 1; place < seen.runs.size(); ++place) {
    const auto run = static_cast<std::uint8_t>(lettered(place, seen.frozen));
    const ShownOp now = seen.same_op(next, run);
    if (now.is_none() || (next.run != seen.baseline() && next.run != run)) continue;
    const std::int64_t its = gap_before(seen, now);
    const char letter = letter_of_run(place);
    facts.all.push_back({fmt::format("{} − A", letter),
                         fmt::format("{} before {}: {} in A, {} in {}", signed_time(its - length),
                                     task_text(seen.runs[now.run]->run->plan, now.task),
                                     short_time(length), short_time(its), letter),
                         next.run == run ? in_a : now});
  }
}

/// What a pixel of a link's lane shows.
Facts facts_of_link(const SeenRuns& seen, const LaneRow& row, std::int64_t time) {
  const std::vector<Track>* const tracks = tracks_in(row, *seen.runs[row.run]);
  if (tracks == nullptr) return {};
  const auto pixel = std::max<std::int64_t>(1, static_cast<std::int64_t>(seen.pixel));
  std::uint64_t transfers = 0;
  std::int64_t used = 0;
  for (const Track& track : *tracks) {
    track.for_each_part(time, time + pixel, [&](std::uint32_t, std::int64_t part, std::int64_t) {
      ++transfers;
      used += part;
    });
  }
  const Plan& plan = seen.runs.front()->run->plan;
  return {fmt::format("link {}{} at {}: {} in this pixel, {:.0f} % used",
                      text(plan.links[row.rank]), seen.of(row.run), short_time(time),
                      counted(transfers, "transfer"),
                      100.0 * static_cast<double>(used) / static_cast<double>(pixel))};
}

/// The longest op of a rank that lies in some time.
TaskId longest_op(const RunLanes& lanes, std::uint32_t rank, std::int64_t from,
                  std::int64_t until) {
  TaskId longest = no_task;
  std::int64_t most = 0;
  for (const Track& track : lanes.ranks[rank].compute) {
    track.for_each_between(from, until, [&](std::int64_t begin, std::int64_t end, TaskId task) {
      if (end - begin <= most) return;
      most = end - begin;
      longest = task;
    });
  }
  return longest;
}

/// What a pixel of a rank's lanes shows.
Facts facts_of_pixel(const SeenRuns& seen, std::uint32_t rank, std::uint8_t run,
                     std::int64_t time) {
  const RunLanes& lanes = *seen.runs[run]->lanes;
  const std::int64_t until =
      time + std::max<std::int64_t>(1, static_cast<std::int64_t>(seen.pixel));
  const AreaUse use = use_of({time, until, rank, rank + 1}, lanes, seen.runs[run]->run->plan);
  const std::string who = fmt::format("{} at {}", seen.rank_name(rank, run), short_time(time));
  if (use.ops == 0) return {who};
  const auto share = [&](WideInteger part) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(until - time);
  };
  Facts facts{fmt::format("{}: {} in this pixel, {:.0f} % busy", who, counted(use.ops, "op"),
                          share(use.busy))};
  const TaskId longest = longest_op(lanes, rank, time, until);
  const ViewedRun& of = *seen.runs[run]->run;
  facts.all.push_back(
      {"longest",
       fmt::format(
           "{}, {}", task_text(of.plan, longest),
           short_time((of.timeline.end[longest] - of.timeline.begin[longest]).picoseconds))});
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    if (use.by_cause[c] == 0) continue;
    facts.all.push_back({fmt::format("idle: {}", cause_name(of.plan, static_cast<IdleCause>(c))),
                         fmt::format("{:.1f} %", share(use.by_cause[c]))});
  }
  return facts;
}

}  // namespace

std::string causes_text(const PaintedRun& run, const IdlePiece& piece) {
  std::vector<IdlePiece> pieces = gap_around(*run.lanes, piece);
  std::erase_if(pieces, [&](const IdlePiece& each) {
    return each.begin < piece.begin || each.end > piece.end;
  });
  return joined(pieces,
                [&](const IdlePiece& each) { return cause_name(run.run->plan, each.cause); });
}

Facts facts_of_idle(const SeenRuns& seen, const IdlePiece& piece, std::uint8_t run) {
  const std::vector<IdlePiece> gap = gap_around(*seen.runs[run]->lanes, piece);
  const Plan& plan = seen.runs[run]->run->plan;
  Facts facts{fmt::format("{} idle for {}: {}", seen.rank_name(piece.rank, run),
                          short_time(piece.end - piece.begin),
                          causes_text(*seen.runs[run], piece))};
  facts.all.push_back({"begin", seen.moment(piece.begin)});
  facts.all.push_back({"end", seen.moment(piece.end)});
  facts.all.push_back({"length", exact_time(piece.end - piece.begin)});
  if (gap.size() > 1) {
    facts.all.push_back({"whole gap", joined(gap, [&](const IdlePiece& each) {
                           return fmt::format("{} {}", cause_name(plan, each.cause),
                                              short_time(each.end - each.begin));
                         })});
  }
  if (piece.next == no_task) return facts;
  const ShownOp next{piece.next, run};
  tell_other_gaps(seen, next, facts);
  const OpSteps steps = seen.steps(run);
  facts.all.push_back(
      {"why", task_text(steps.plan, piece.next) + " " + why_then(steps, piece.next)});
  facts.all.push_back(link_to(seen, "op behind it", next));
  const TaskId before = steps.in_lane(piece.next, false);
  if (before != no_task) facts.all.push_back(link_to(seen, "op before it", {before, run}));
  const TaskId cause = steps.cause(piece.next);
  if (cause != no_task) facts.all.push_back(link_to(seen, "waits for", {cause, run}));
  return facts;
}

Facts facts_at(const SeenRuns& seen, const LaneRow& row, const ShownOp& op, std::int64_t time) {
  if (!op.is_none()) {
    const Timeline& timeline = seen.runs[op.run]->run->timeline;
    const Time length = timeline.end[op.task] - timeline.begin[op.task];
    if (static_cast<double>(length.picoseconds) >= seen.pixel) return facts_of_op(seen, op);
  }
  if (row.kind == LaneKind::link) return facts_of_link(seen, row, time);
  if (row.kind == LaneKind::memory) return facts_of_memory(seen, row.rank, row.run, time);
  const std::uint8_t run = row.kind == LaneKind::difference ? seen.baseline() : row.run;
  if (row.rank >= seen.runs[run]->lanes->ranks.size()) return {};
  const auto piece = idle_at(*seen.runs[run]->lanes, row.rank, time);
  const bool is_seen = piece && static_cast<double>(piece->end - piece->begin) >= seen.pixel;
  if (op.is_none() && is_seen) return facts_of_idle(seen, *piece, run);
  return facts_of_pixel(seen, row.rank, run, time);
}

}  // namespace penstock
