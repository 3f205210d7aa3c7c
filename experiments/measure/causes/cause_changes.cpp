#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/causes/causes.hpp"

namespace penstock {
namespace {

/// A cause as both runs may have it; the smaller ones of a kind together are one.
using CauseKey = std::pair<CauseKind, std::vector<std::uint32_t>>;

CauseKey key_of(const Cause& cause) {
  return {cause.kind, cause.who.size() == 1 ? cause.who : std::vector<std::uint32_t>{}};
}

std::string name_of(const Cause& cause) {
  if (cause.who.size() < 2) return cause.name;
  return cause.kind == CauseKind::rank ? "other slow ranks" : "other slow links";
}

}  // namespace

std::vector<CauseChange> changes_of_causes(const Recording& a, const Recording& b) {
  const ExpectedOps expected = expected_ops(a);
  const StepCauses of_a = costs_of_causes(a.plan, a.timeline, &expected);
  const StepCauses of_b = costs_of_causes(b.plan, b.timeline, &expected);
  std::map<CauseKey, CauseChange> changes;
  const auto add = [&](const StepCauses& causes, Time CauseChange::*cost) {
    for (const Cause& cause : causes.causes) {
      CauseChange& change = changes[key_of(cause)];
      change.name = name_of(cause);
      change.*cost += cause.cost;
    }
  };
  add(of_a, &CauseChange::a);
  add(of_b, &CauseChange::b);
  std::vector<CauseChange> all;
  for (auto& [key, change] : changes) all.push_back(std::move(change));
  all.push_back({"unexplained", of_a.unexplained, of_b.unexplained});
  all.push_back({"ideal", of_a.ideal, of_b.ideal});
  return all;
}

std::string cause_changes_text(const std::vector<CauseChange>& changes) {
  CauseChange step{"step"};
  for (const CauseChange& change : changes) {
    step.a += change.a;
    step.b += change.b;
  }
  const TimeUnit unit = unit_for(std::max(step.a, step.b));
  const auto cells = [&](const CauseChange& one) -> TableRow {
    const Time change = one.b - one.a;
    return {one.name, short_time_text(one.a, unit), short_time_text(one.b, unit),
            (change > Time{} ? "+" : "") + short_time_text(change, unit)};
  };
  TableRows rows = table_rows({"by cause", "A", "B", "B - A"}, changes, cells);
  rows.push_back(cells(step));
  return aligned(rows, {0});
}

ordered_json cause_changes_json(const std::vector<CauseChange>& changes) {
  return list_json(changes, [](const CauseChange& one) -> ordered_json {
    return {{"cause", one.name},
            {"a_us", to_us(one.a)},
            {"b_us", to_us(one.b)},
            {"change_us", to_us(one.b - one.a)}};
  });
}

}  // namespace penstock
