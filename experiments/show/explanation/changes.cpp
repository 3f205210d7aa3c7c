#include "experiments/show/explanation/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/engines/events.hpp"

namespace penstock {
namespace {

constexpr double shorter = 0.99;

double bandwidth_of(const Network& network, const Route& route, const Change* change = nullptr) {
  double least = INFINITY;
  for (const std::uint32_t link : route) {
    const bool faster = change != nullptr && link == change->number;
    least = std::min(least, network.links[link].bandwidth_bytes_per_s / (faster ? shorter : 1));
  }
  return least;
}

}  // namespace

Changes::Changes(const RunResult& result)
    : result_(result),
      plan_(*result.plan),
      costs_(result.costs),
      own_class_(plan_.classes.size(), UINT32_MAX),
      passes_(plan_.model_stage.size()) {
  for (const TaskId second : plan_.followers) {
    own_class_[plan_.work[second - 1]] = plan_.class_of(second).partner;
  }
  for (std::uint32_t work = 0; work < plan_.classes.size(); ++work) {
    const WorkClass& kind = plan_.classes[work];
    if (!is_transfer(kind.pass) && takes_time(work)) passes_[index(kind.stage)].insert(kind.pass);
  }
  if (!why_not_relax(plan_, result.conditions)) {
    rerun_.emplace(PricedPlan{plan_, costs_, result.conditions}, result.timeline);
  }
}

bool Changes::takes_time(std::uint32_t work) const {
  return costs_.duration[work] > Time{} || costs_.latency[work] > Time{};
}

/// Whether the transfers of a class use this physical link.
bool Changes::crosses(const Change& change, std::uint32_t work) const {
  const std::uint32_t resource = plan_.classes[work].resource;
  if (change.kind != Change::Kind::network_link || !plan_.is_link(resource)) return false;
  const Route& route = result_.conditions.network.routes[resource - plan_.ranks];
  return std::find(route.begin(), route.end(), change.number) != route.end();
}

/// Whether a change shortens the tasks of a class when they run alone.
bool Changes::shortens(const Change& change, std::uint32_t work) const {
  const WorkClass& kind = plan_.classes[work];
  switch (change.kind) {
    case Change::Kind::stage:
      return !is_transfer(kind.pass) && index(kind.stage) == change.number;
    case Change::Kind::pass:
      return kind.pass == change.pass && index(kind.stage) == change.number;
    case Change::Kind::link:
      return kind.resource == plan_.ranks + change.number;
    case Change::Kind::network_link:
      return crosses(change, work);
  }
  return false;
}

double Changes::factor(const Change& change, std::uint32_t work) const {
  if (own_class_[work] != UINT32_MAX) {  // a fused cell is as long as its longer half
    const auto length = [&](std::uint32_t part) {
      return static_cast<double>(costs_.duration[part].picoseconds);
    };
    const std::uint32_t first = own_class_[work], second = plan_.classes[work].partner;
    const double before = std::max(length(first), length(second));
    if (before == 0) return 1;
    return std::max(length(first) * (shortens(change, first) ? shorter : 1),
                    length(second) * (shortens(change, second) ? shorter : 1)) /
           before;
  }
  if (!shortens(change, work)) return 1;
  if (change.kind != Change::Kind::network_link) return shorter;
  const Network& network = result_.conditions.network;
  const Route& route = network.routes[plan_.classes[work].resource - plan_.ranks];
  return bandwidth_of(network, route) / bandwidth_of(network, route, &change);
}

/// The stage and the pass of a compute class; only the stage if it has no other pass.
void Changes::add_compute(std::uint32_t work, std::vector<Change>& changes) const {
  const WorkClass& kind = plan_.classes[work];
  changes.push_back({Change::Kind::stage, index(kind.stage)});
  if (passes_[index(kind.stage)].size() < 2) return;
  changes.push_back({Change::Kind::pass, index(kind.stage), kind.pass});
}

/// All changes that could shorten the tasks of a class.
std::vector<Change> Changes::of_class(std::uint32_t work) const {
  std::vector<Change> changes;
  if (!takes_time(work)) return changes;
  const WorkClass& kind = plan_.classes[work];
  if (!plan_.is_link(kind.resource)) {
    add_compute(work, changes);
    if (own_class_[work] != UINT32_MAX) add_compute(kind.partner, changes);
  } else {
    const std::uint32_t link = kind.resource - plan_.ranks;
    changes.push_back({Change::Kind::link, link});
    if (!result_.conditions.network.routes.empty()) {
      for (const std::uint32_t physical : result_.conditions.network.routes[link]) {
        changes.push_back({Change::Kind::network_link, physical});
      }
    }
  }
  std::sort(changes.begin(), changes.end());
  changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
  return changes;
}

Costs Changes::costs_with(const Change& change) const {
  const auto scaled = [](Time time, double factor) {
    if (factor == 1) return time;  // times above 2^53 ps do not fit a double
    return Time{std::llrint(static_cast<double>(time.picoseconds) * factor)};
  };
  Costs costs = costs_;
  std::vector<double> factors, latency_factors;
  for (std::uint32_t work = 0; work < plan_.classes.size(); ++work) {
    factors.push_back(factor(change, work));
    const bool sooner = change.kind == Change::Kind::link && shortens(change, work);
    latency_factors.push_back(sooner ? shorter : 1);
    costs.duration[work] = scaled(costs.duration[work], factors[work]);
    costs.latency[work] = scaled(costs.latency[work], latency_factors[work]);
  }
  for (TaskId task = 0; task < costs.task_duration.size(); ++task) {
    const std::uint32_t work = plan_.work[task];
    costs.task_duration[task] = scaled(costs.task_duration[task], factors[work]);
    costs.task_latency[task] = scaled(costs.task_latency[task], latency_factors[work]);
  }
  return costs;
}

std::optional<Time> Changes::makespan_with(const Change& change) {
  const bool done =
      rerun_ && std::holds_alternative<Rerun::Done>(rerun_->set_costs(costs_with(change)));
  return done ? makespan(plan_, rerun_->timeline()) : full_run_with(change);
}

/// Shared links, limited memory and ranks that slow each other down need a full run.
std::optional<Time> Changes::full_run_with(const Change& change) const {
  Conditions conditions = result_.conditions;
  if (change.kind == Change::Kind::network_link) {
    conditions.network.links[change.number].bandwidth_bytes_per_s /= shorter;
  }
  const RunOutcome outcome = simulate({plan_, costs_with(change), std::move(conditions)});
  if (std::holds_alternative<Standstill>(outcome)) return std::nullopt;
  return makespan(plan_, std::get<Timeline>(outcome));
}

std::string Changes::name(const Change& change) const {
  switch (change.kind) {
    case Change::Kind::stage:
      return fmt::format("stage {}", change.number);
    case Change::Kind::pass:
      return fmt::format("{}{}", change.number, letters(change.pass));
    case Change::Kind::link:
      return "link " + text(plan_.links[change.number]);
    case Change::Kind::network_link:
      return "network link " + result_.conditions.network.links[change.number].name;
  }
  return "";
}

}  // namespace penstock
