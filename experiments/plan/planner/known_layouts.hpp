#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "experiments/plan/planner/space/layout_choice.hpp"

namespace penstock {

/// The shortest time that is known of each family.
class FamilyTimes {
 public:
  void add(const LayoutFamily& family, double us);
  /// Infinity for a family that is not known.
  double of(const LayoutFamily& family) const;
  /// Of the family that is number `place` by its time, from 1; infinity for fewer families.
  double at(std::size_t place) const;

 private:
  std::map<LayoutFamily, double> times_;
  std::multiset<double> all_;
};

/// Layouts that are known, of which none is both as fast and smaller than another.
class PlanFront {
 public:
  void add(double us, std::uint64_t bytes);
  /// Whether a known one takes at most this time and this memory.
  bool covers(double us, double bytes) const;

 private:
  std::map<double, std::uint64_t> bytes_;  // by time, descending
};

}  // namespace penstock
