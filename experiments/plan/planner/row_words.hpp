#pragma once

#include <string>
#include <vector>

#include "experiments/plan/planner/planner.hpp"

namespace penstock {

/// A row of the list: the best layout of a family, others of it that take at most 1 % longer, and
/// the best of other families that are equal to it.
struct ListedFamily {
  const JudgedLayout* best = nullptr;
  std::vector<const JudgedLayout*> near;
};

/// "also chunks 3–11, ZeRO 0"; empty where no other member is near.
std::string near_text(const ListedFamily& family);

/// "tensor 4 for 2, zb-v for v-half".
std::string difference_text(const LayoutChoice& one, const LayoutChoice& other);

}  // namespace penstock
