#include "schedules/partitioners/chain/device_order.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "schedules/partitioners/chain/bisection.hpp"
#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock {
namespace {

/// Numbers of states: counts as digits.
class States {
 public:
  explicit States(const DeviceClasses& classes) : counts_(classes.counts) {
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

/// A table over states and ends of their last stages.
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

/// For each state the furthest end of its stages.
class ReachProbes {
 public:
  ReachProbes(std::uint32_t size, const DeviceClasses& classes, const DeviceCost& cost)
      : size_(size), states_(classes), cost_(cost), ends_(states_.size()), kinds_(states_.size()) {}

  Probe<DeviceCut> operator()(double value) {
    next_ = no_cut;
    const std::uint32_t all = states_.stages(states_.size() - 1);
    for (std::uint64_t state = 1; state < states_.size(); ++state) {
      const std::uint32_t stage = states_.stages(state) - 1;
      ends_[state] = 0;
      for (std::uint32_t kind = 0; kind < states_.classes(); ++kind) {
        if (states_.used(state, kind) == 0) continue;
        const std::uint32_t begin = ends_[states_.without(state, kind)];
        if (begin < stage) continue;  // a stage before it found no room
        const std::uint32_t end = reach(begin, size_ - (all - stage - 1), stage, kind, value);
        if (end <= ends_[state]) continue;
        ends_[state] = end;
        kinds_[state] = kind;
      }
    }
    if (ends_.back() < size_) return {.found = {}, .value = next_};
    return traced(all);
  }

 private:
  std::uint32_t reach(std::uint32_t begin, std::uint32_t last, std::uint32_t stage,
                      std::uint32_t kind, double value) {
    std::uint32_t low = begin;
    std::uint32_t high = std::max(begin, last);
    while (low < high) {
      const std::uint32_t end = low + (high - low + 1) / 2;
      if (cost_(begin, end, stage, kind) <= value) {
        low = end;
      } else {
        high = end - 1;
      }
    }
    if (low < last) next_ = std::min(next_, cost_(begin, low + 1, stage, kind));
    return low == begin ? 0 : low;
  }

  Probe<DeviceCut> traced(std::uint32_t stages) const {
    DeviceCut cut{{0, std::vector<std::uint32_t>(stages + 1, size_)},
                  std::vector<std::uint32_t>(stages, 0)};
    std::uint64_t state = states_.size() - 1;
    for (std::uint32_t s = stages; s-- > 0;) {
      cut.kinds[s] = kinds_[state];
      state = states_.without(state, kinds_[state]);
      cut.best.cuts[s] = ends_[state];
      cut.best.value =
          std::max(cut.best.value, cost_(cut.best.cuts[s], cut.best.cuts[s + 1], s, cut.kinds[s]));
    }
    Probe<DeviceCut> probe;
    probe.value = cut.best.value;
    probe.found.emplace(std::move(cut));
    return probe;
  }

  std::uint32_t size_;
  States states_;
  const DeviceCost& cost_;
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint32_t> kinds_;
  double next_ = no_cut;
};

}  // namespace

std::uint32_t DeviceClasses::devices() const {
  std::uint32_t all = 0;
  for (const std::uint32_t count : counts) all += count;
  return all;
}

std::uint64_t DeviceClasses::states() const {
  double states = 1;
  for (const std::uint32_t count : counts) states *= count + 1.0;
  return states < 1e18 ? static_cast<std::uint64_t>(states) : UINT64_MAX;
}

std::optional<DeviceCut> least_over_orders(std::uint32_t size, const DeviceClasses& classes,
                                           const DeviceCost& cost) {
  return OrderTable(size, classes, cost).fill();
}

std::optional<DeviceCut> least_over_orders_by_reach(std::uint32_t size,
                                                    const DeviceClasses& classes,
                                                    const DeviceCost& cost) {
  ReachProbes probes(size, classes, cost);
  Probe<DeviceCut> first = probes(std::numeric_limits<double>::max());
  if (!first.found) return std::nullopt;
  Probe<DeviceCut> best = bisect<DeviceCut>(0, std::move(first), probes);
  return std::move(best.found);
}

}  // namespace penstock
