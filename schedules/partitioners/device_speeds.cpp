#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "schedules/partitioners/chain/cut_tables.hpp"
#include "schedules/partitioners/problem/cut_problem.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::device_speeds_file {
namespace {

/// A cost of the layers [begin, end) as stage `stage` on a device of class `kind`.
using DeviceCost = std::function<double(std::uint32_t begin, std::uint32_t end, std::uint32_t stage,
                                        std::uint32_t kind)>;

/// How many devices each class has; equal ones are one class.
using DeviceClasses = std::vector<std::uint32_t>;

/// Ways to use some devices: the product of the counts, each plus one. At most UINT64_MAX.
std::uint64_t states_of(const DeviceClasses& classes) {
  double states = 1;
  for (const std::uint32_t count : classes) states *= count + 1.0;
  return states < 1e18 ? static_cast<std::uint64_t>(states) : UINT64_MAX;
}

/// Cuts over all devices, with the class of each stage.
struct DeviceCut {
  ChainCuts best;
  std::vector<std::uint32_t> kinds;
};

/// Numbers of states: counts as digits.
class States {
 public:
  explicit States(const DeviceClasses& classes) : counts_(classes) {
    std::uint64_t unit = 1;
    for (const std::uint32_t count : counts_) {
      units_.push_back(unit);
      unit *= count + 1;
    }
    size_ = unit;
  }

  std::uint64_t size() const { return size_; }
  std::uint32_t classes() const { return static_cast<std::uint32_t>(counts_.size()); }
  std::uint32_t used(std::uint64_t state, std::uint32_t kind) const {
    return static_cast<std::uint32_t>(state / units_[kind] % (counts_[kind] + 1));
  }
  std::uint32_t stages(std::uint64_t state) const {
    std::uint32_t all = 0;
    for (std::uint32_t kind = 0; kind < classes(); ++kind) all += used(state, kind);
    return all;
  }
  std::uint64_t without(std::uint64_t state, std::uint32_t kind) const {
    return state - units_[kind];
  }

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint64_t> units_;
  std::uint64_t size_ = 0;
};

/// The least bottleneck over all orders of the devices, one stage on each; a stage that does not
/// fit costs infinity. The table is over states and ends of their last stages; a state is how many
/// devices of each class are used, so equal devices are not told apart. Takes O(states x classes x
/// size^2) time.
class OrderTable {
 public:
  OrderTable(std::uint32_t size, const DeviceClasses& classes, const DeviceCost& cost)
      : size_(size),
        states_(classes),
        cost_(cost),
        least_(states_.size() * (size + 1), no_cut),
        from_(least_.size()) {
    least_[0] = 0;
  }

  /// Nothing when no cut fits.
  std::optional<DeviceCut> fill() {
    const std::uint32_t all = states_.stages(states_.size() - 1);
    for (std::uint64_t state = 1; state < states_.size(); ++state) {
      const std::uint32_t stage = states_.stages(state) - 1;
      const std::uint32_t last = size_ - (all - stage - 1);
      for (std::uint32_t kind = 0; kind < states_.classes(); ++kind) {
        if (states_.used(state, kind) > 0) fill(state, kind, stage, last);
      }
    }
    return traced(all);
  }

 private:
  struct From {
    std::uint32_t begin = 0;
    std::uint32_t kind = 0;
  };
  std::uint64_t cell(std::uint64_t state, std::uint32_t end) const {
    return state * (size_ + 1) + end;
  }

  void fill(std::uint64_t state, std::uint32_t kind, std::uint32_t stage, std::uint32_t last) {
    const std::uint64_t before = states_.without(state, kind);
    for (std::uint32_t begin = stage; begin < last; ++begin) {
      const double own = least_[cell(before, begin)];
      if (own == no_cut) continue;
      for (std::uint32_t end = begin + 1; end <= last; ++end) {
        double& least = least_[cell(state, end)];
        if (own >= least) continue;
        const double value = std::max(own, cost_(begin, end, stage, kind));
        if (value >= least) continue;
        least = value;
        from_[cell(state, end)] = {begin, kind};
      }
    }
  }

  std::optional<DeviceCut> traced(std::uint32_t stages) const {
    std::uint64_t state = states_.size() - 1;
    if (least_[cell(state, size_)] == no_cut) return std::nullopt;
    DeviceCut cut{{least_[cell(state, size_)], std::vector<std::uint32_t>(stages + 1, size_)},
                  std::vector<std::uint32_t>(stages, 0)};
    for (std::uint32_t s = stages; s-- > 0;) {
      const From& from = from_[cell(state, cut.best.cuts[s + 1])];
      cut.best.cuts[s] = from.begin;
      cut.kinds[s] = from.kind;
      state = states_.without(state, from.kind);
    }
    return cut;
  }

  std::uint32_t size_;
  States states_;
  const DeviceCost& cost_;
  std::vector<double> least_;
  std::vector<From> from_;
};

/// Probes for the same where costs do not fall when a stage grows; they take O(probes x states x
/// classes x size / 64) time. For each state the ends that its stages reach, as bits. The furthest
/// is not enough: what comes next may fit on a device only nearer to the front, and each device
/// needs a layer.
class ReachProbes {
 public:
  ReachProbes(std::uint32_t size, const DeviceClasses& classes, const DeviceCost& cost)
      : size_(size),
        words_(size / 64 + 1),
        states_(classes),
        stages_(states_.stages(states_.size() - 1)),
        cost_(cost),
        reached_(states_.size() * words_),
        stage_ends_(std::size_t{stages_} * states_.classes()) {}

  Probe<DeviceCut> operator()(double value) {
    next_ = no_cut;
    for (std::uint32_t stage = 0; stage < stages_; ++stage) {
      for (std::uint32_t kind = 0; kind < states_.classes(); ++kind) find_ends(stage, kind, value);
    }
    std::fill(reached_.begin(), reached_.end(), 0);
    reached_[0] = 1;
    for (std::uint64_t state = 1; state < states_.size(); ++state) {
      for (std::uint32_t kind = 0; kind < states_.classes(); ++kind) {
        if (states_.used(state, kind) > 0) extend(state, kind);
      }
    }
    if (!is_reached(states_.size() - 1, size_)) return {.found = {}, .value = next_};
    return traced();
  }

 private:
  /// Of a stage on a device of some class.
  struct StageEnds {
    std::vector<std::uint32_t> furthest;  // by begin; it does not move back
    std::vector<std::uint64_t> alone;     // bits of ends: of the layer before it
  };
  StageEnds& ends_of(std::uint64_t state, std::uint32_t kind) {
    return stage_ends_[(states_.stages(state) - 1) * states_.classes() + kind];
  }
  bool is_reached(std::uint64_t state, std::uint32_t end) const {
    return (reached_[state * words_ + end / 64] >> (end % 64) & 1) != 0;
  }
  static void mark(std::uint32_t end, std::uint64_t* bits) {
    bits[end / 64] |= std::uint64_t{1} << (end % 64);
  }

  void find_ends(std::uint32_t stage, std::uint32_t kind, double value) {
    StageEnds& ends = stage_ends_[stage * states_.classes() + kind];
    ends.furthest.assign(size_ + 1, 0);
    ends.alone.assign(words_, 0);
    const std::uint32_t last = size_ - (stages_ - stage - 1);
    std::uint32_t end = stage;
    for (std::uint32_t begin = stage; begin < last; ++begin) {
      end = std::max(end, begin);
      while (end < last && cost_(begin, end + 1, stage, kind) <= value) ++end;
      if (end < last) next_ = std::min(next_, cost_(begin, end + 1, stage, kind));
      if (end > begin) mark(begin + 1, ends.alone.data());
      ends.furthest[begin] = end;
    }
  }

  /// Behind each reached position comes one more layer, behind the last of a run of them more.
  void extend(std::uint64_t state, std::uint32_t kind) {
    const StageEnds& ends = ends_of(state, kind);
    const std::uint64_t* from = &reached_[states_.without(state, kind) * words_];
    std::uint64_t* to = &reached_[state * words_];
    for (std::uint32_t w = 0; w < words_; ++w) {
      to[w] |= (from[w] << 1 | (w > 0 ? from[w - 1] >> 63 : 0)) & ends.alone[w];
      std::uint64_t lasts = from[w] & ~(from[w] >> 1 | (w + 1 < words_ ? from[w + 1] << 63 : 0));
      for (; lasts != 0; lasts &= lasts - 1) {
        const std::uint32_t begin = w * 64 + std::uint32_t(std::countr_zero(lasts));
        for (std::uint32_t end = begin + 1; end <= ends.furthest[begin]; ++end) mark(end, to);
      }
    }
  }

  /// The furthest begin of a stage before `end`; nothing if there is none.
  std::optional<std::uint32_t> begin_of(std::uint64_t state, std::uint32_t kind,
                                        std::uint32_t end) {
    if (states_.used(state, kind) == 0) return std::nullopt;
    for (std::uint32_t begin = end; begin-- > 0;) {
      if (!is_reached(states_.without(state, kind), begin)) continue;
      return ends_of(state, kind).furthest[begin] >= end ? std::optional(begin) : std::nullopt;
    }
    return std::nullopt;
  }

  Probe<DeviceCut> traced() {
    DeviceCut cut;
    cut.best.cuts.assign(stages_ + 1, size_);
    cut.kinds.assign(stages_, 0);
    std::uint64_t state = states_.size() - 1;
    for (std::uint32_t s = stages_; s-- > 0;) {
      const std::uint32_t end = cut.best.cuts[s + 1];
      std::uint32_t& kind = cut.kinds[s];
      std::optional<std::uint32_t> begin = begin_of(state, kind, end);
      while (!begin) begin = begin_of(state, ++kind, end);
      cut.best.cuts[s] = *begin;
      cut.best.value = std::max(cut.best.value, cost_(*begin, end, s, kind));
      state = states_.without(state, kind);
    }
    Probe<DeviceCut> probe;
    probe.value = cut.best.value;
    probe.found.emplace(std::move(cut));
    return probe;
  }

  std::uint32_t size_;
  std::uint32_t words_;  // of a state
  States states_;
  std::uint32_t stages_;
  const DeviceCost& cost_;
  std::vector<std::uint64_t> reached_;
  std::vector<StageEnds> stage_ends_;  // by stage and class
  double next_ = no_cut;
};

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
    DeviceClasses counts;
    for (const auto& own : ranks) counts.push_back(std::uint32_t(own.size()));
    return counts;
  }
};

/// Equal devices in one class, in the order of their first ranks.
Classes classes_of(const std::vector<Device>& devices) {
  Classes classes;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    const auto known = std::ranges::find(classes.kinds, devices[i]);
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
    return stage_s(problem_, chain_, begin, end, device.speed);
  }

 private:
  const CutProblem& problem_;
  const CutChain& chain_;
  std::uint32_t stages_;
};

/// Stages on devices in their given order.
std::optional<DeviceCut> in_order(const CutProblem& problem, const std::vector<Device>& devices,
                                  const StagePrice& price) {
  const StageCost cost = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t stage) {
    return price(begin, end, stage, devices[stage]);
  };
  const StageCost nothing = [](std::uint32_t, std::uint32_t, std::uint32_t) { return 0.0; };
  auto best = least_by_any_stage(problem.size(), std::uint32_t(devices.size()), cost, nothing, 0);
  return best ? std::optional(DeviceCut{std::move(*best), {}}) : std::nullopt;
}

std::optional<DeviceCut> in_any_order(const CutProblem& problem, const Classes& classes,
                                      const StagePrice& price) {
  constexpr double most_steps = 4e8;
  constexpr std::uint64_t most_states = 2'000'000, most_words = 32'000'000;
  const DeviceClasses counts = classes.counts();
  const DeviceCost cost = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t stage,
                              std::uint32_t kind) {
    return price(begin, end, stage, classes.kinds[kind]);
  };
  const double size = problem.size();
  const double steps = double(states_of(counts)) * double(counts.size()) * size * size / 2;
  if (steps <= most_steps) return OrderTable(problem.size(), counts, cost).fill();
  const std::uint64_t states = states_of(counts);
  const bool few = states <= most_states && states * (problem.size() / 64 + 1) <= most_words;
  if (problem.transfers == CutTransfers::none && few) {
    return bisect<DeviceCut>(ReachProbes(problem.size(), counts, cost)).found;
  }
  throw InputError("/partition/keep_order",
                   fmt::format("{} classes of devices have too many orders to search; "
                               "keep_order=true cuts for the given one",
                               counts.size()));
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
    .name = "devices",
    .summary = "devices of different speed and memory: in the given order, or in the best one",
    .cut = cut,
    .settings = "transfers, speeds, memories_bytes, keep_order",
    .follows_order = true,
    .keeps_capacity = true};

}  // namespace penstock::device_speeds_file
