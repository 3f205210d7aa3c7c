#include "experiments/show/explanation/sensitivity.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "experiments/show/explanation/changes.hpp"

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
  std::stable_sort(promises.begin(), promises.end(),
                   [](const Promise& a, const Promise& b) { return a.gain > b.gain; });
  return promises;
}

/// The first `most`, and the best link if it is not among them.
std::vector<Promise> best_of(const std::vector<Promise>& promises, std::size_t most) {
  std::vector<Promise> best(
      promises.begin(),
      promises.begin() + static_cast<std::ptrdiff_t>(std::min(most, promises.size())));
  const auto is_link = [](const Promise& promise) { return promise.change.is_link(); };
  const auto link = std::find_if(promises.begin(), promises.end(), is_link);
  if (link != promises.end() && std::none_of(best.begin(), best.end(), is_link)) {
    best.push_back(*link);
  }
  return best;
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

}  // namespace penstock
