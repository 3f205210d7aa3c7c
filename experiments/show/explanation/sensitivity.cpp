#include "experiments/show/explanation/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "experiments/run/simulation.hpp"
#include "sim/engines/events.hpp"

namespace penstock {
namespace {

/// The gain of a change predicted from the critical path.
struct Promise {
  Change change;
  Time on_path{};
  double gain_us = 0;
  Time gain{};
};

/// Critical-path time of the tasks of one class.
struct ClassTime {
  Time running{};
  Time leaving{};  // of transfers: from when only others delay them until they have left
};

std::vector<ClassTime> time_by_class(const RunResult& result, std::span<const PathStep> path) {
  std::vector<ClassTime> times(result.plan->classes.size());
  for (const PathStep& step : path) {
    ClassTime& time = times[result.plan->work[step.task]];
    time.running += step.end - result.timeline.begin[step.task];
    const Time left =
        result.timeline.end[step.task] - result.costs.latency_of(*result.plan, step.task);
    time.leaving += std::min(step.end, left) - step.begin - step.waits.memory;
  }
  return times;
}

/// The path from the last task that waited for its launch: shortening anything before it only
/// lengthens that wait.
std::span<const PathStep> behind_launches(const std::vector<PathStep>& path) {
  const auto last = std::find_if(path.rbegin(), path.rend(),
                                 [](const PathStep& step) { return step.waits.launch > Time{}; });
  const auto before = last == path.rend() ? 0 : path.rend() - last - 1;
  return std::span(path).subspan(static_cast<std::size_t>(before));
}

/// The predicted gain of every change, largest first.
std::vector<Promise> promises_of(const RunResult& result, const Changes& changes) {
  const std::vector<PathStep>& path = result.report->critical_path;
  const std::vector<ClassTime> all = time_by_class(result, path);
  const std::vector<ClassTime> gaining = time_by_class(result, behind_launches(path));
  std::map<Change, Promise> by_change;
  for (std::uint32_t work = 0; work < result.plan->classes.size(); ++work) {
    for (const Change& change : changes.of_class(work)) {
      Promise& promise = by_change.try_emplace(change, Promise{change}).first->second;
      const bool network = change.kind == Change::Kind::network_link;
      const auto time = network ? &ClassTime::leaving : &ClassTime::running;
      promise.on_path += all[work].*time;
      promise.gain_us += to_us(gaining[work].*time) * (1 - changes.factor(change, work));
    }
  }
  std::vector<Promise> promises;
  for (auto& [change, promise] : by_change) {
    promise.gain = from_us(promise.gain_us);
    promises.push_back(promise);
  }
  std::ranges::stable_sort(promises,
                           [](const Promise& a, const Promise& b) { return a.gain > b.gain; });
  return promises;
}

/// The first `most`, and the best link if it is not among them.
std::vector<Promise> best_of(const std::vector<Promise>& promises, std::size_t most) {
  std::vector<Promise> best(
      promises.begin(),
      promises.begin() + static_cast<std::ptrdiff_t>(std::min(most, promises.size())));
  const auto is_link = [](const Promise& promise) { return promise.change.is_link(); };
  const auto link = std::ranges::find_if(promises, is_link);
  if (link != promises.end() && std::ranges::none_of(best, is_link)) {
    best.push_back(*link);
  }
  return best;
}

constexpr double shorter = 0.99;

double bandwidth_of(const Network& network, const Route& route, const Change* change = nullptr) {
  double least = INFINITY;
  for (const std::uint32_t link : route) {
    const bool faster = change != nullptr && link == change->number;
    least = std::min(least, network.links[link].bandwidth_bytes_per_s / (faster ? shorter : 1));
  }
  return least;
}

/// Data replicas that differ wait for each other, and a change shortens all of them: so each is
/// drawn anew, with its waits.
std::optional<Time> makespan_among_replicas(Layout layout, PricedPlan priced) {
  layout.policy = nullptr;  // its order is decided
  priced.costs.task_duration.clear();
  priced.costs.task_latency.clear();
  return Simulation(layout).makespan_of_draw(priced, 0);
}

}  // namespace

std::vector<Sensitivity> sensitivities(const RunResult& result, std::size_t most) {
  Changes changes(result);
  std::vector<Sensitivity> all;
  for (const Promise& promise : best_of(promises_of(result, changes), most)) {
    Sensitivity one{.what = changes.name(promise.change),
                    .on_path = promise.on_path,
                    .predicted = promise.gain,
                    .gain = {}};
    if (const auto makespan = changes.makespan_with(promise.change)) {
      one.gain = result.report->makespan - *makespan;
    }
    all.push_back(std::move(one));
  }
  return all;
}

Changes::Changes(const RunResult& result)
    : result_(result),
      plan_(*result.plan),
      costs_(result.costs),
      own_class_(plan_.classes.size(), UINT32_MAX),
      passes_(plan_.model_stage.size()),
      changed_{plan_, {}} {
  for (const TaskId second : plan_.followers) {
    own_class_[plan_.work[second - 1]] = plan_.class_of(second).partner;
  }
  for (std::uint32_t work = 0; work < plan_.classes.size(); ++work) {
    const WorkClass& kind = plan_.classes[work];
    if (!is_transfer(kind.pass) && takes_time(work)) passes_[index(kind.stage)].insert(kind.pass);
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
  return std::ranges::find(route, change.number) != route.end();
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
  std::ranges::sort(changes);
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
  changed_.costs = costs_with(change);
  changed_.conditions = result_.conditions;
  if (change.kind == Change::Kind::network_link) {
    changed_.conditions.network.links[change.number].bandwidth_bytes_per_s /= shorter;
  }
  if (result_.replica && !result_.batch) {
    return makespan_among_replicas(result_.layout, changed_);
  }
  RunOutcome outcome = simulate(changed_, std::move(timeline_));
  if (std::holds_alternative<Standstill>(outcome)) return std::nullopt;
  timeline_ = std::get<Timeline>(std::move(outcome));
  return makespan(plan_, timeline_);
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
