#include "sim/rerun/bandwidth_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

constexpr double most_us = 9e12;  // the range of the clock

/// The time of a transfer without contention, in microseconds.
double alone_us(const Plan& plan, const Costs& costs, const Network& network, std::uint32_t work) {
  const WorkClass& kind = plan.classes[work];
  return occupied_us(static_cast<double>(costs.bytes[kind.buffer]), network.links,
                     network.routes[kind.resource - plan.ranks]);
}

/// The classes of transfers with this link in their route.
std::vector<std::uint32_t> classes_over(const Plan& plan, const Network& network,
                                        std::uint32_t physical_link) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t work = 0; work < plan.classes.size(); ++work) {
    const std::uint32_t resource = plan.classes[work].resource;
    if (!plan.is_link(resource)) continue;
    const Route& route = network.routes[resource - plan.ranks];
    if (std::find(route.begin(), route.end(), physical_link) != route.end()) found.push_back(work);
  }
  return found;
}

bool all_take(const Plan& plan, const Costs& costs, std::uint32_t work, Time time) {
  if (costs.task_duration.empty()) return costs.duration[work] == time;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.work[task] == work && costs.task_duration[task] != time) return false;
  }
  return true;
}

}  // namespace

std::variant<std::vector<ClassTime>, Refused> durations_with(const Plan& plan, const Costs& costs,
                                                             const Network& network,
                                                             std::uint32_t physical_link,
                                                             double bytes_per_s) {
  if (physical_link >= network.links.size()) {
    return refused("unknown physical link {}; there are {}", physical_link, network.links.size());
  }
  if (!std::isfinite(bytes_per_s) || bytes_per_s <= 0) {
    return refused("{} bytes per second: a bandwidth must be finite and above 0", bytes_per_s);
  }
  Network changed = network;
  changed.links[physical_link].bandwidth_bytes_per_s = bytes_per_s;
  std::vector<ClassTime> times;
  for (const std::uint32_t work : classes_over(plan, network, physical_link)) {
    const Link& link = plan.link(plan.classes[work].resource);
    if (!all_take(plan, costs, work, from_us(alone_us(plan, costs, network, work)))) {
      return refused("transfers from {} to {} do not take the time of their slowest link",
                     end_phrase(link.from), end_phrase(link.to));
    }
    const double us = alone_us(plan, costs, changed, work);
    if (us > most_us) {
      return refused("transfers from {} to {} would exceed the range of the clock",
                     end_phrase(link.from), end_phrase(link.to));
    }
    times.push_back({work, from_us(us)});
  }
  return times;
}

}  // namespace penstock
