#include "gui/models/run/figures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {
namespace {

/// A number to compare, if it is known.
using Known = std::optional<double>;

/// The most bytes that a rank holds.
Known most_memory(const Report& report) {
  std::uint64_t most = 0;
  for (const RankReport& rank : report.ranks) most = std::max(most, rank.memory.bytes);
  return most > 0 ? Known(static_cast<double>(most)) : std::nullopt;
}

Known known_memory(const ViewedRun& run) { return most_memory(run.report); }

Known known_time(const ViewedRun& run) {
  return !run.unfinished ? Known(static_cast<double>(run.span().picoseconds)) : std::nullopt;
}

/// Threads and streams do not idle as ranks do.
Known known_bubble(const ViewedRun& run) {
  return is_lanes(run) || run.unfinished ? std::nullopt : Known(run.report.bubble.of_makespan);
}

Known known_mfu(const ViewedRun& run) { return run.mfu; }

std::string time_value(double picoseconds) {
  return short_time_text(Time{static_cast<std::int64_t>(picoseconds)});
}

std::string share_value(double share) { return percent_text(share); }

std::string memory_value(double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); }

std::string time_difference(double now, double a) {
  return a == 0 ? std::string() : signed_percent_text((now - a) / a);
}

std::string share_difference(double now, double a) {
  return fmt::format("{:+.1f} points", 100 * (now - a));
}

std::string memory_difference(double now, double a) {
  return fmt::format("{:+.2f} GiB", (now - a) / (1 << 30));
}

struct FigureRule {
  FigureKind kind;
  const char* name;  // nullptr: that of the length of a run
  Known (*number)(const ViewedRun&);
  std::string (*value)(double);
  std::string (*difference)(double now, double a);
};

constexpr std::array<FigureRule, figure_count> rules{{
    {FigureKind::step_time, nullptr, known_time, time_value, time_difference},
    {FigureKind::bubble, "bubble", known_bubble, share_value, share_difference},
    {FigureKind::peak_memory, "peak memory", known_memory, memory_value, memory_difference},
    {FigureKind::mfu, "MFU", known_mfu, share_value, share_difference},
}};

}  // namespace

std::array<Figure, figure_count> figures_of(const ViewedRun& run, const ViewedRun* a) {
  std::array<Figure, figure_count> figures;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const FigureRule& rule = rules[i];
    const char* const name = rule.name == nullptr ? makespan_name(run.plan) : rule.name;
    figures[i] = {rule.kind, name, {}, {}, false};
    const Known now = rule.number(run);
    if (now) figures[i].value = rule.value(*now);
    figures[i].overflows = rule.kind == FigureKind::peak_memory && run.capacity_bytes && now &&
                           *now > static_cast<double>(*run.capacity_bytes);
    const Known before = a == nullptr ? std::nullopt : rule.number(*a);
    if (now && before) figures[i].difference = rule.difference(*now, *before);
  }
  return figures;
}

std::string headline(const ViewedRun& run_a, const ViewedRun& run) {
  const Report& a = run_a.report;
  const Report& now = run.report;
  const TimeUnit unit = unit_for(std::max(a.makespan, now.makespan));
  const Time change = now.makespan - a.makespan;
  const double share = a.makespan == Time{} ? 0
                                            : static_cast<double>(change.picoseconds) /
                                                  static_cast<double>(a.makespan.picoseconds);
  std::string text = fmt::format("time {}{} {} ({})", change > Time{} ? "+" : "",
                                 short_time_text(change, unit), unit.name, signed_percent(share));
  if (run_a.brief || run.brief) return text;
  if (!is_lanes(run_a) && !is_lanes(run)) {
    text += ", bubble " + share_difference(now.bubble.of_makespan, a.bubble.of_makespan);
  }
  const Known before = most_memory(a);
  const Known after = most_memory(now);
  return before && after ? text + ", memory " + memory_difference(*after, *before) : text;
}

}  // namespace penstock
