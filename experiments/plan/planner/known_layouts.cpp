#include "experiments/plan/planner/known_layouts.hpp"

#include <iterator>

namespace penstock {

void FamilyTimes::add(const LayoutFamily& family, double us) {
  const auto [known, added] = times_.try_emplace(family, us);
  if (!added && known->second <= us) return;
  if (!added) all_.erase(all_.find(known->second));
  known->second = us;
  all_.insert(us);
}

double FamilyTimes::of(const LayoutFamily& family) const {
  const auto known = times_.find(family);
  return known == times_.end() ? std::numeric_limits<double>::infinity() : known->second;
}

double FamilyTimes::at(std::size_t place) const {
  if (all_.size() < place) return std::numeric_limits<double>::infinity();
  return *std::next(all_.begin(), static_cast<std::ptrdiff_t>(place) - 1);
}

void PlanFront::add(double us, std::uint64_t bytes) {
  if (covers(us, static_cast<double>(bytes))) return;
  auto after = bytes_.insert_or_assign(us, bytes).first;
  for (++after; after != bytes_.end() && after->second >= bytes;) after = bytes_.erase(after);
}

bool PlanFront::covers(double us, double bytes) const {
  const auto after = bytes_.upper_bound(us);
  return after != bytes_.begin() && static_cast<double>(std::prev(after)->second) <= bytes;
}

}  // namespace penstock
