#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "schedules/partitioners/chain/device_order.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::device_speeds_file {
namespace {

/// What a rank is: equal ones form a class.
struct Device {
  double speed = 1;
  double memory_bytes = std::numeric_limits<double>::infinity();
  friend bool operator==(const Device&, const Device&) = default;
};

std::vector<Device> devices_of(const CutProblem& problem, std::uint32_t stages) {
  const CutSettings& settings = problem.settings;
  const auto check = [&](std::size_t count, const char* key) {
    if (count <= stages) return;
    throw InputError(fmt::format("/partition/{}", key),
                     fmt::format("it needs at most one per stage, {}; got {}", stages, count));
  };
  check(settings.speeds.size(), "speeds");
  check(settings.memories.size(), "memories_bytes");
  std::vector<Device> devices(stages);
  for (std::uint32_t i = 0; i < stages; ++i) {
    if (problem.memory_bytes) devices[i].memory_bytes = *problem.memory_bytes;
    if (i < settings.speeds.size()) devices[i].speed = settings.speeds[i];
    if (i < settings.memories.size()) devices[i].memory_bytes = settings.memories[i];
  }
  return devices;
}

/// Different devices, and the ranks of each.
struct Classes {
  std::vector<Device> kinds;
  std::vector<std::vector<std::uint32_t>> ranks;

  DeviceClasses counts() const {
    DeviceClasses classes;
    for (const auto& own : ranks) classes.counts.push_back(std::uint32_t(own.size()));
    return classes;
  }
};

/// Equal devices in one class, in the order of their first ranks.
Classes classes_of(const std::vector<Device>& devices) {
  Classes classes;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    const auto known = std::find(classes.kinds.begin(), classes.kinds.end(), devices[i]);
    const auto kind = std::size_t(known - classes.kinds.begin());
    if (known == classes.kinds.end()) {
      classes.kinds.push_back(devices[i]);
      classes.ranks.emplace_back();
    }
    classes.ranks[kind].push_back(i);
  }
  return classes;
}

/// The time of a stage on a device; infinity where it does not fit.
class StagePrice {
 public:
  StagePrice(const CutProblem& problem, const CutChain& chain, std::uint32_t stages)
      : problem_(problem), chain_(chain), stages_(stages) {}

  double operator()(std::uint32_t begin, std::uint32_t end, std::uint32_t stage,
                    const Device& device) const {
    const double memory = stage_memory(problem_, chain_, begin, end, stage, stages_);
    if (memory > device.memory_bytes) return std::numeric_limits<double>::infinity();
    const double own = (chain_.compute_s[end] - chain_.compute_s[begin]) / device.speed;
    const double in = chain_.boundary_s[begin];
    const double out = chain_.boundary_s[end];
    return problem_.transfers == CutTransfers::serial ? own + in + out : std::max({own, in, out});
  }

 private:
  const CutProblem& problem_;
  const CutChain& chain_;
  std::uint32_t stages_;
};

/// Stages on devices in their given order: one class, whose device the stage's number tells.
std::optional<DeviceCut> in_order(const CutProblem& problem, const std::vector<Device>& devices,
                                  const StagePrice& price) {
  const DeviceClasses one{{std::uint32_t(devices.size())}};
  const DeviceCost cost = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t stage,
                              std::uint32_t) { return price(begin, end, stage, devices[stage]); };
  return least_over_orders(problem.size(), one, cost);
}

std::optional<DeviceCut> in_any_order(const CutProblem& problem, const Classes& classes,
                                      const StagePrice& price) {
  constexpr double most_steps = 4e8;
  constexpr std::uint64_t most_states = 2'000'000;
  const DeviceClasses counts = classes.counts();
  const DeviceCost cost = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t stage,
                              std::uint32_t kind) {
    return price(begin, end, stage, classes.kinds[kind]);
  };
  const double size = problem.size();
  const double steps = double(counts.states()) * double(counts.counts.size()) * size * size / 2;
  if (steps <= most_steps) return least_over_orders(problem.size(), counts, cost);
  if (problem.transfers == CutTransfers::none && counts.states() <= most_states) {
    return least_over_orders_by_reach(problem.size(), counts, cost);
  }
  throw InputError(
      "/partition/keep_order",
      fmt::format("{} classes of devices have too many orders to search; keep_order=true "
                  "cuts for the given one",
                  counts.counts.size()));
}

Cut cut(const CutProblem& problem) {
  const std::uint32_t stages = stages_to_fill(problem);
  const CutChain chain = chain_of(problem);
  const StagePrice price(problem, chain, stages);
  const std::vector<Device> devices = devices_of(problem, stages);
  const Classes classes = classes_of(devices);
  const bool keeps = problem.settings.keep_order;
  auto best = keeps ? in_order(problem, devices, price) : in_any_order(problem, classes, price);
  Cut result;
  if (!best) {
    result.finding = "out of memory: no cut keeps every stage within the memory of its device";
    return result;
  }
  result = cut_at(problem, chain, std::move(best->best.cuts), best->best.value);
  std::vector<std::size_t> used(classes.kinds.size(), 0);
  for (std::uint32_t s = 0; s < stages && !keeps; ++s) {
    const std::uint32_t kind = best->kinds[s];
    result.stages[s].rank = classes.ranks[kind][used[kind]++];
  }
  result.notes.push_back(
      fmt::format("the value is the longest stage on its own device; {}",
                  keeps ? "ranks stay in the given order" : "the best order of all"));
  return result;
}

}  // namespace

constinit extern const PartitionerEntry device_speeds_entry{
    "devices", "devices of different speed and memory: in the given order, or in the best one", cut,
    "speeds, memories_bytes, keep_order"};

}  // namespace penstock::device_speeds_file
