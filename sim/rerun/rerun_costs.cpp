#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/engines/relax.hpp"
#include "sim/rerun/rerun.hpp"
#include "sim/rerun/whole_costs.hpp"

namespace penstock {
namespace {

Refused no_such(std::string_view what, std::size_t number, std::size_t count) {
  return {fmt::format("unknown {} {}; there are {}", what, number, count)};
}

Refused is_second_part() { return {"the second part of a fused cell takes as long as the first"}; }

double to_double(Time time) { return static_cast<double>(time.picoseconds); }

}  // namespace

Rerun::Answer Rerun::set_costs(Costs costs) {
  if (auto fault = fault_of(priced_.plan, costs)) return *std::move(fault);
  const double old_total = std::exchange(total_, total_time(priced_.plan, costs));
  std::swap(priced_.costs, costs);
  const Costs& old = costs;
  count_launches();
  if (!relaxes_) {
    return run_again([&] {
      priced_.costs = old;
      total_ = old_total;
      count_launches();
    });
  }
  const TaskId first = first_difference(priced_.plan, priced_.costs, old);
  relax_from(first, priced_, timeline_);
  return Done{priced_.plan.tasks() - first};
}

Rerun::Answer Rerun::set_duration(std::uint32_t work, Time duration) {
  if (work >= priced_.plan.classes.size())
    return no_such("work class", work, priced_.plan.classes.size());
  if (priced_.plan.classes[work].follows_partner) return is_second_part();
  return set_times(durations, std::array{ClassTime{work, duration}});
}

Rerun::Answer Rerun::set_latency(std::uint32_t work, Time latency) {
  if (work >= priced_.plan.classes.size())
    return no_such("work class", work, priced_.plan.classes.size());
  if (!is_transfer(priced_.plan.classes[work].pass))
    return Refused{"only transfers have a latency"};
  return set_times(latencies, std::array{ClassTime{work, latency}});
}

Rerun::Answer Rerun::set_bandwidth(std::uint32_t physical_link, double bytes_per_s) {
  const auto times = durations_with(priced_.plan, priced_.costs, priced_.conditions.network,
                                    physical_link, bytes_per_s);
  if (const auto* refused = std::get_if<Refused>(&times)) return *refused;
  double& bandwidth = priced_.conditions.network.links[physical_link].bandwidth_bytes_per_s;
  const double old = std::exchange(bandwidth, bytes_per_s);
  Answer answer = set_times(durations, std::get<std::vector<ClassTime>>(times));
  if (!std::holds_alternative<Done>(answer)) bandwidth = old;
  return answer;
}

Rerun::Answer Rerun::set_task_duration(TaskId task, Time duration) {
  if (task >= priced_.plan.tasks()) return no_such("task", task, priced_.plan.tasks());
  if (priced_.plan.class_of(task).follows_partner) return is_second_part();
  find_neighbours();
  const Time old = priced_.costs.duration_of(priced_.plan, task);
  if (const auto complaint = add_to_total(duration, to_double(duration) - to_double(old)))
    return *complaint;
  if (priced_.costs.task_duration.empty()) {
    for (const std::uint32_t work : priced_.plan.work) {
      priced_.costs.task_duration.push_back(priced_.costs.duration[work]);
    }
  }
  priced_.costs.task_duration[task] = duration;
  dirty_.add(task);
  return run_again([&] {
    priced_.costs.task_duration[task] = old;
    total_ -= to_double(duration) - to_double(old);
  });
}

Rerun::Answer Rerun::set_times(const Times& times, std::span<const ClassTime> changes) {
  find_neighbours();
  const double old_total = total_;
  for (const ClassTime& change : changes) {
    if (auto complaint = add_to_total(change.time, growth(times, change))) {
      total_ = old_total;
      return *std::move(complaint);
    }
  }
  // Only a run under conditions can fail.
  const Costs old = relaxes_ ? Costs{} : priced_.costs;
  for (const ClassTime& change : changes) assign(times, change);
  return run_again([&] {
    priced_.costs = old;
    total_ = old_total;
  });
}

/// The change of the total time of a class.
double Rerun::growth(const Times& times, const ClassTime& change) const {
  const auto& of_class = priced_.costs.*times.of_class;
  const auto& of_task = priced_.costs.*times.of_task;
  double growth = 0;
  for (const TaskId task : graph_->order(priced_.plan.classes[change.work].resource)) {
    if (priced_.plan.work[task] != change.work) continue;
    growth +=
        to_double(change.time) - to_double(of_task.empty() ? of_class[change.work] : of_task[task]);
  }
  return growth;
}

/// Updates the sum of all times, if the clock can hold it.
std::optional<Refused> Rerun::add_to_total(Time time, double growth) {
  if (time < Time{}) return Refused{"a time must not be negative"};
  if (total_ + growth > most_picoseconds) return beyond_clock();
  total_ += growth;
  return std::nullopt;
}

void Rerun::assign(const Times& times, const ClassTime& change) {
  (priced_.costs.*times.of_class)[change.work] = change.time;
  auto& of_task = priced_.costs.*times.of_task;
  for (const TaskId task : graph_->order(priced_.plan.classes[change.work].resource)) {
    if (priced_.plan.work[task] != change.work) continue;
    if (!of_task.empty()) of_task[task] = change.time;
    dirty_.add(task);
  }
}

}  // namespace penstock
