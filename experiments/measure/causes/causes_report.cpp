#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/causes/causes.hpp"
#include "experiments/show/results/result_json.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_lines = 8;
constexpr std::size_t most_cells = 16;  // of the table of ranks, on each side

std::string factor_text(double factor) { return fmt::format("{:.3f}", factor); }

/// The table of costs, which add up to the step.
class CostTable {
 public:
  explicit CostTable(const StepCauses& causes) : causes_(causes), unit_(unit_for(causes.measured)) {
    for (const Cause& cause : causes.causes) {
      shapley_ = shapley_ || cause.shapley;
      intervals_ = intervals_ || cause.interval;
    }
  }

  std::string text() const {
    TableRow head{"cause", "cost", "of step", "alone"};
    if (shapley_) head.emplace_back("all orders");
    if (intervals_) head.emplace_back("interval");
    head.emplace_back("shown by");
    TableRows rows =
        table_rows(head, causes_.causes, [&](const Cause& cause) { return row(cause); });
    rows.push_back(sum("unexplained", causes_.unexplained));
    rows.push_back(sum("ideal", causes_.ideal));
    rows.push_back(sum("step", causes_.measured));
    return fmt::format("what it cost, each cause without those above it (times in {})\n",
                       unit_.name) +
           aligned(rows, {0, head.size() - 1});
  }

 private:
  std::string time(Time time) const { return short_time_text(time, unit_); }
  std::string share(Time time) const {
    return percent_text(to_us(time) / std::max(to_us(causes_.measured), 1e-6));
  }
  TableRow row(const Cause& cause) const {
    TableRow row{cause.name, time(cause.cost), share(cause.cost), time(cause.alone)};
    if (shapley_) row.push_back(cause.shapley ? time(*cause.shapley) : "");
    if (intervals_) {
      row.push_back(cause.interval ? fmt::format("{} to {}", time(from_us(cause.interval->low)),
                                                 time(from_us(cause.interval->high)))
                                   : "");
    }
    row.push_back(cause.proof);
    return row;
  }
  TableRow sum(const char* what, Time value) const { return {what, time(value), share(value)}; }

  const StepCauses& causes_;
  TimeUnit unit_;
  bool shapley_ = false;
  bool intervals_ = false;
};

std::string slowdowns_line(const char* what, std::vector<Slowdown> all) {
  if (all.size() < 2) return "";
  std::ranges::stable_sort(all, std::greater{}, &Slowdown::factor);
  const std::size_t left = all.size() - std::min(all.size(), most_lines);
  all.resize(all.size() - left);
  const auto one = [](const Slowdown& slow) {
    return fmt::format("{} {}×", slow.what, factor_text(slow.factor));
  };
  return fmt::format("{:<12}{}{}\n", what, joined(all, one),
                     left > 0 ? fmt::format(" ({} more)", left) : "");
}

/// Slowdowns of ranks, a row for each replica.
std::string ranks_text(const StepCauses& causes) {
  const HeatMap map = heat_map_of(causes);
  if (map.rows.size() < 2 || map.rows.size() > most_cells || map.columns.size() > most_cells) {
    return "";
  }
  TableRow head{"replica"};
  head.insert(head.end(), map.columns.begin(), map.columns.end());
  TableRows rows{head};
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    TableRow& row = rows.emplace_back(TableRow{map.rows[r]});
    for (const auto& cell : map.cells[r]) row.push_back(cell ? factor_text(*cell) : "");
  }
  return "\nslowdown of ranks, by position in the pipeline\n" + aligned(rows);
}

std::string slowdown_text(const StepCauses& causes) {
  const Slowdowns& slow = causes.slowdowns;
  return fmt::format(
             "\nslowdown    {}× the ideal step; the slowest {} {} explain{} {} of the loss\n",
             factor_text(causes.slowdown()), slow.slowest, slow.slowest == 1 ? "rank" : "ranks",
             slow.slowest == 1 ? "s" : "", percent_text(slow.explained)) +
         slowdowns_line("by op", slow.passes) + slowdowns_line("by position", slow.positions) +
         slowdowns_line("by replica", slow.replicas) + ranks_text(causes);
}

std::string late_text(const Plan& plan, const StepCauses& causes) {
  if (!causes.late) return "";
  const LateRank& late = *causes.late;
  const TimeUnit unit = unit_for(causes.measured);
  const auto time = [&](Time one) { return short_time_text(one, unit); };
  std::string text = fmt::format(
      "\nfirst late: rank {}, {} at {}, {} over what is usual; its delays cost {}; {} waited\n",
      late.rank, task_text(plan, late.op), time(late.at), time(late.excess), time(late.cost),
      counted(late.waiting.size(), "rank"));
  if (late.waiting.empty()) return text;
  const auto cells = [&](const DelayedRank& one) -> TableRow {
    return {fmt::format("{}", one.rank), task_text(plan, one.op), time(one.at), time(one.late)};
  };
  text +=
      aligned(table_rows({"rank", "first op", "at", "late by"}, late.waiting, cells, most_lines));
  if (late.waiting.size() > most_lines) {
    text += fmt::format("({}; --json has all)\n",
                        counted(late.waiting.size() - most_lines, "more rank"));
  }
  return text;
}

ordered_json cause_json(const Plan& plan, const Cause& cause) {
  ordered_json all{{"cause", name(cause.kind)},
                   {"name", cause.name},
                   {"ranks", ordered_json::array()},
                   {"links", ordered_json::array()},
                   {"cost_us", to_us(cause.cost)},
                   {"alone_us", to_us(cause.alone)},
                   {"shapley_us", or_null(cause.shapley, to_us)},
                   {"interval_us", nullptr},
                   {"rank", or_null(cause.rank)},
                   {"op", task_json(plan, cause.op)},
                   {"proof", cause.proof}};
  if (cause.kind == CauseKind::rank) all["ranks"] = cause.who;
  if (cause.kind == CauseKind::link) {
    for (const std::uint32_t link : cause.who) all["links"].push_back(text(plan.links[link]));
  }
  if (cause.interval) all["interval_us"] = {cause.interval->low, cause.interval->high};
  return all;
}

ordered_json slowdown_json(const Slowdown& slow) {
  return {{"what", slow.what}, {"slowdown", slow.factor}};
}

ordered_json ranks_json(const StepCauses& causes) {
  ordered_json all = ordered_json::array();
  for (std::uint32_t rank = 0; rank < causes.slowdowns.ranks.size(); ++rank) {
    const RankPlace& place = causes.model.groups.ranks[rank];
    const double peers = causes.model.measured_rank[rank];
    all.push_back({{"rank", rank},
                   {"replica", place.pipeline},
                   {"position", place.position},
                   {"slowdown", causes.slowdowns.ranks[rank]},
                   {"over_peers", peers > 0 ? ordered_json(peers) : ordered_json()}});
  }
  return all;
}

ordered_json late_json(const Plan& plan, const LateRank& late) {
  const auto waiting = [&](const DelayedRank& one) -> ordered_json {
    return {{"rank", one.rank},
            {"op", task_json(plan, one.op)},
            {"at_us", to_us(one.at)},
            {"late_us", to_us(one.late)}};
  };
  return {{"rank", late.rank},           {"op", task_json(plan, late.op)},
          {"at_us", to_us(late.at)},     {"excess_us", to_us(late.excess)},
          {"cost_us", to_us(late.cost)}, {"waiting", list_json(late.waiting, waiting)}};
}

}  // namespace

HeatMap heat_map_of(const StepCauses& causes) {
  const RankGroups& groups = causes.model.groups;
  HeatMap map{.title = "Slowdown of ranks",
              .x_label = "position in the pipeline",
              .y_label = "replica",
              .value_label = "slowdown"};
  for (std::uint32_t i = 0; i < groups.positions; ++i) map.columns.push_back(fmt::format("{}", i));
  for (std::uint32_t i = 0; i < groups.pipelines; ++i) map.rows.push_back(fmt::format("{}", i));
  map.cells.assign(groups.pipelines, std::vector<std::optional<double>>(groups.positions));
  for (std::size_t rank = 0; rank < groups.ranks.size(); ++rank) {
    const RankPlace& place = groups.ranks[rank];
    auto& cell = map.cells[place.pipeline][place.position];
    cell = std::max(cell.value_or(0), causes.slowdowns.ranks[rank]);
  }
  return map;
}

std::string causes_text(const Plan& plan, const StepCauses& causes) {
  std::string text = CostTable(causes).text() + slowdown_text(causes) + late_text(plan, causes);
  for (const std::string& note : causes.notes) {
    text += fmt::format("{}note: {}\n", &note == &causes.notes.front() ? "\n" : "", note);
  }
  return text;
}

ordered_json causes_json(const Plan& plan, const StepCauses& causes) {
  const auto of_cause = [&](const Cause& cause) { return cause_json(plan, cause); };
  const Slowdowns& slow = causes.slowdowns;
  return {{"measured_us", to_us(causes.measured)},
          {"ideal_us", to_us(causes.ideal)},
          {"unexplained_us", to_us(causes.unexplained)},
          {"iterations", causes.iterations},
          {"jitter", causes.model.jitter},
          {"costs", list_json(causes.causes, of_cause)},
          {"slowdown", causes.slowdown()},
          {"slowdown_by_op", list_json(slow.passes, slowdown_json)},
          {"slowdown_by_position", list_json(slow.positions, slowdown_json)},
          {"slowdown_by_replica", list_json(slow.replicas, slowdown_json)},
          {"slowest_ranks", slow.slowest},
          {"slowest_ranks_explain", slow.explained},
          {"ranks", ranks_json(causes)},
          {"first_late",
           or_null(causes.late, [&](const LateRank& late) { return late_json(plan, late); })},
          {"notes", causes.notes}};
}

}  // namespace penstock
