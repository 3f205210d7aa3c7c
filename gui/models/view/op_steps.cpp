#include "gui/models/view/op_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <tuple>

#include "experiments/show/results/run_summary.hpp"
#include "gui/models/view/time_axis.hpp"
#include "sim/base/error.hpp"
#include "sim/base/plain_numbers.hpp"

namespace penstock {
namespace {

const std::vector<Track>& tracks_of_task(const Plan& plan, const RunLanes& lanes, TaskId task) {
  const RankTracks& rank = lanes.ranks[rank_of_task(plan, task)];
  const std::uint32_t resource = plan.class_of(task).resource;
  if (!plan.is_link(resource)) return rank.compute;
  return is_rank(plan.link(resource).from) ? rank.send : rank.receive;
}

[[noreturn]] void refuse_word(const std::string& word) {
  throw InputError(
      fmt::format("\"{}\" is not understood; a search reads stage:3 kind:B mb:12 rank:0 dur>2ms "
                  "dur<1s, or 3B12",
                  word));
}

std::uint32_t number_in(std::string_view digits, const std::string& word) {
  const auto value = whole_number<std::uint32_t>(digits);
  if (!value) refuse_word(word);
  return *value;
}

Pass pass_in(std::string_view text, const std::string& word) {
  for (std::size_t p = 0; p < pass_count; ++p) {
    if (letters(static_cast<Pass>(p)) == text) return static_cast<Pass>(p);
  }
  refuse_word(word);
}

Time time_in_words(std::string_view text, const std::string& word) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  constexpr std::array<std::pair<std::string_view, double>, 6> units{
      {{"s", 1e6}, {"ms", 1e3}, {"us", 1}, {"µs", 1}, {"ns", 1e-3}, {"ps", 1e-6}}};
  for (const auto& [name, microseconds] : units) {
    if (error == std::errc{} && name == unit && value >= 0 && value * microseconds < 9e12) {
      return from_us(value * microseconds);
    }
  }
  refuse_word(word);
}

/// "3B12": stage, pass, microbatch.
void take_name(const std::string& word, OpQuery& query) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto letter = std::find_if_not(word.begin(), word.end(), is_digit);
  const auto after = std::find_if(letter, word.end(), is_digit);
  const auto part = [&](auto from, auto to) {
    return std::string_view(word).substr(static_cast<std::size_t>(from - word.begin()),
                                         static_cast<std::size_t>(to - from));
  };
  if (letter == word.end()) refuse_word(word);
  if (letter != word.begin()) query.stage = number_in(part(word.begin(), letter), word);
  query.pass = pass_in(part(letter, after), word);
  if (after != word.end()) query.cell = number_in(part(after, word.end()), word);
}

void take_word(const std::string& word, OpQuery& query) {
  const auto behind = [&](std::string_view start) {
    return std::string_view(word).substr(start.size());
  };
  if (word.starts_with("stage:")) {
    query.stage = number_in(behind("stage:"), word);
  } else if (word.starts_with("mb:")) {
    query.microbatch = number_in(behind("mb:"), word);
  } else if (word.starts_with("rank:")) {
    query.rank = number_in(behind("rank:"), word);
  } else if (word.starts_with("kind:")) {
    query.pass = pass_in(behind("kind:"), word);
  } else if (word.starts_with("dur>")) {
    query.longer_than = time_in_words(behind("dur>"), word);
  } else if (word.starts_with("dur<")) {
    query.shorter_than = time_in_words(behind("dur<"), word);
  } else {
    take_name(word, query);
  }
}

/// Whether the task runs on the rank, or moves something to or from it.
bool concerns(const Plan& plan, std::uint32_t resource, std::uint32_t rank) {
  if (!plan.is_link(resource)) return resource == rank;
  const Link& link = plan.link(resource);
  return index(link.from) == rank || index(link.to) == rank;
}

/// The tasks that a test picks, by begin.
template <class Picks>
std::vector<TaskId> tasks_by_begin(const ViewedRun& run, Picks picks) {
  std::vector<TaskId> found;
  for (TaskId task = 0; task < run.plan.tasks(); ++task) {
    if (picks(task)) found.push_back(task);
  }
  std::ranges::stable_sort(found, {}, [&](TaskId task) { return run.timeline.begin[task]; });
  return found;
}

IdlePiece idle_piece(const RunLanes& lanes, std::uint32_t rank, std::size_t i) {
  const Track& idle = lanes.ranks[rank].idle;
  return {rank, idle.begin_at(i), idle.end_at(i), cause_of(idle.tag[i]), next_of(idle.tag[i])};
}

}  // namespace

TaskId OpSteps::in_lane(TaskId task, bool forward) const {
  const auto key = [&](TaskId t) { return std::pair(timeline.begin[t].picoseconds, t); };
  TaskId best = no_task;
  for (const Track& track : tracks_of_task(plan, lanes, task)) {
    std::size_t box = track.first_ending_after(timeline.begin[task].picoseconds);
    const std::size_t from = box > 2 ? box - 2 : 0;
    for (box = from; box < std::min(track.size(), from + 5); ++box) {
      const TaskId other = track.tag[box];
      const bool ahead = forward ? key(other) > key(task) : key(other) < key(task);
      if (!ahead) continue;
      const bool nearer =
          best == no_task || (forward ? key(other) < key(best) : key(other) > key(best));
      if (nearer) best = other;
    }
  }
  return best;
}

TaskId OpSteps::cause(TaskId task) const {
  const TaskId input = timeline.last_input[task];
  const TaskId before = in_lane(task, false);
  if (input == no_task) return before;
  if (before == no_task) return input;
  return timeline.end[before] >= timeline.end[input] ? before : input;
}

TaskId OpSteps::effect(TaskId task) const {
  TaskId best = no_task;
  const auto offer = [&](TaskId other) {
    if (best == no_task || timeline.begin[other] < timeline.begin[best]) best = other;
  };
  for (TaskId other = task + 1; other < plan.tasks(); ++other) {
    if (timeline.last_input[other] == task && cause(other) == task) offer(other);
  }
  const TaskId behind = in_lane(task, true);
  if (behind != no_task && cause(behind) == task) offer(behind);
  return best;
}

TaskId OpSteps::in_microbatch(TaskId task, bool forward) const {
  const WorkClass& work = plan.class_of(task);
  const std::uint32_t now = index(plan.microbatch[task]), slices = slices_of(run);
  TaskId best = no_task;
  for (TaskId other = 0; other < plan.tasks(); ++other) {
    const WorkClass& its = plan.class_of(other);
    if (its.pass != work.pass || its.stage != work.stage) continue;
    const std::uint32_t number = index(plan.microbatch[other]);
    if (number % slices != now % slices) continue;
    if (forward ? number <= now : number >= now) continue;
    const bool nearer = best == no_task || (forward ? number < index(plan.microbatch[best])
                                                    : number > index(plan.microbatch[best]));
    if (nearer) best = other;
  }
  return best;
}

TaskId OpSteps::on_rank(std::uint32_t rank, std::int64_t time) const {
  if (rank >= lanes.ranks.size() || lanes.ranks[rank].compute.empty()) return no_task;
  const Track& track = lanes.ranks[rank].compute.front();
  if (track.size() == 0) return no_task;
  const std::size_t box = std::min(track.first_ending_after(time), track.size() - 1);
  return track.tag[box];
}

std::vector<TaskId> readers_of(const Plan& plan, TaskId task) {
  constexpr TaskId far = 20000;
  std::vector<TaskId> readers;
  const TaskId end = std::min<TaskId>(plan.tasks(), task + far);
  for (TaskId other = task + 1; other < end; ++other) {
    plan.for_each_input(other, [&](TaskId input) {
      if (input == task) readers.push_back(other);
    });
  }
  return readers;
}

std::optional<std::size_t> place_on_path(const Report& report, TaskId task) {
  const std::vector<PathStep>& path = report.critical_path;
  const auto step = std::find_if(path.begin(), path.end(),
                                 [&](const PathStep& each) { return each.task == task; });
  if (step == path.end()) return std::nullopt;
  return static_cast<std::size_t>(step - path.begin());
}

std::vector<IdlePiece> longest_gaps(const RunLanes& lanes, std::size_t most) {
  std::vector<IdlePiece> gaps;
  for (std::uint32_t rank = 0; rank < lanes.ranks.size(); ++rank) {
    std::int64_t longest = 0;  // piece of the gap
    for (std::size_t i = 0; i < lanes.ranks[rank].idle.size(); ++i) {
      const IdlePiece piece = idle_piece(lanes, rank, i);
      const std::int64_t length = piece.end - piece.begin;
      const bool goes_on =
          i > 0 && gaps.back().end == piece.begin && gaps.back().next == piece.next;
      if (!goes_on) gaps.push_back(piece);
      if (!goes_on || length > longest) {
        longest = length;
        gaps.back().cause = piece.cause;
      }
      gaps.back().end = piece.end;
    }
  }
  const auto longer = [](const IdlePiece& a, const IdlePiece& b) {
    return std::tuple(b.end - b.begin, a.rank, a.begin) <
           std::tuple(a.end - a.begin, b.rank, b.begin);
  };
  const auto count = static_cast<std::ptrdiff_t>(std::min(most, gaps.size()));
  std::partial_sort(gaps.begin(), gaps.begin() + count, gaps.end(), longer);
  gaps.resize(static_cast<std::size_t>(count));
  return gaps;
}

std::optional<IdlePiece> idle_at(const RunLanes& lanes, std::uint32_t rank, std::int64_t time) {
  if (rank >= lanes.ranks.size()) return std::nullopt;
  const Track& idle = lanes.ranks[rank].idle;
  const std::size_t i = idle.at(time);
  if (i == idle.size()) return std::nullopt;
  return idle_piece(lanes, rank, i);
}

std::optional<IdlePiece> idle_of(const Area& area, const RunLanes& lanes) {
  if (area.end_rank != area.first_rank + 1) return std::nullopt;
  auto piece = idle_at(lanes, area.first_rank, area.begin);
  if (!piece || piece->begin != area.begin) return std::nullopt;
  const std::vector<IdlePiece> gap = gap_around(lanes, *piece);
  if (gap.front().begin == area.begin && gap.back().end == area.end) piece->end = area.end;
  return piece->end == area.end ? piece : std::nullopt;
}

std::vector<IdlePiece> gap_around(const RunLanes& lanes, const IdlePiece& piece) {
  std::vector<IdlePiece> pieces{idle_at(lanes, piece.rank, piece.begin).value_or(piece)};
  const auto next_to = [&](std::int64_t time) {
    auto other = idle_at(lanes, piece.rank, time);
    return other && other->next == piece.next ? other : std::nullopt;
  };
  while (auto before = next_to(pieces.front().begin - 1)) pieces.insert(pieces.begin(), *before);
  while (auto behind = next_to(pieces.back().end)) pieces.push_back(*behind);
  return pieces;
}

std::string op_text(const ViewedRun& run, TaskId task, std::string_view of) {
  const Plan& plan = run.plan;
  const Timeline& timeline = run.as_it_ran().timeline;
  const std::int64_t begin = timeline.begin[task].picoseconds;
  const std::int64_t end = timeline.end[task].picoseconds;
  const std::string text = fmt::format("{}{}, {}: {} to {} ({})", task_text(plan, task), of,
                                       place_text(plan, plan.class_of(task).resource),
                                       short_time(begin), short_time(end), short_time(end - begin));
  return plan.class_names.empty() ? text + ", " + microbatch_text(run, task) : text;
}

std::string microbatch_text(const ViewedRun& run, TaskId task) {
  const std::uint32_t number = microbatch_of(run, task), slices = slices_of(run);
  if (slices == 1) return fmt::format("microbatch {}", number);
  return fmt::format("microbatch {}, slice {}", number, index(run.plan.microbatch[task]) % slices);
}

OpQuery read_query(std::string_view text) {
  OpQuery query;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) take_word(word, query);
  return query;
}

bool fits(const OpQuery& query, const ViewedRun& run, TaskId task) {
  const Plan& plan = run.plan;
  const WorkClass& work = plan.class_of(task);
  if (query.pass && work.pass != *query.pass) return false;
  if (query.stage && index(work.stage) != *query.stage) return false;
  if (query.microbatch && microbatch_of(run, task) != *query.microbatch) return false;
  if (query.cell && index(plan.microbatch[task]) != *query.cell) return false;
  if (query.rank && !concerns(plan, work.resource, *query.rank)) return false;
  const Time length = run.timeline.end[task] - run.timeline.begin[task];
  if (query.longer_than && length <= *query.longer_than) return false;
  return !query.shorter_than || length < *query.shorter_than;
}

std::vector<TaskId> find_ops(const OpQuery& query, const ViewedRun& run) {
  const Timeline& timeline = run.timeline;
  return tasks_by_begin(run, [&](TaskId task) {
    const bool is_free = timeline.end[task] == timeline.begin[task] &&
                         run.plan.is_link(run.plan.class_of(task).resource);
    return !is_free && fits(query, run, task);
  });
}

std::vector<TaskId> ops_of_rank(const ViewedRun& run, std::uint32_t rank, std::int64_t from) {
  return tasks_by_begin(run, [&](TaskId task) {
    const bool ended =
        run.timeline.end[task].picoseconds <= from && run.timeline.begin[task].picoseconds < from;
    return rank < run.plan.ranks && run.plan.class_of(task).resource == rank && !ended;
  });
}

}  // namespace penstock
