#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/plan/planner/planner.hpp"
#include "experiments/run/throughput.hpp"

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

/// The best `most` families of layouts that are sorted by time; equal ones share a row.
std::vector<ListedFamily> listed_families(const std::vector<JudgedLayout>& layouts,
                                          std::size_t most);

/// Those of a plan: of the layouts that fit, or else of those that may.
std::vector<ListedFamily> best_families(const LayoutPlan& plan, std::size_t most);

/// Those of layouts sorted by time that no earlier one beats in memory.
std::vector<const JudgedLayout*> front_of(const std::vector<JudgedLayout>& layouts);

/// How far a step time is known: as `run` reports, or to 3 % where the spread of the prices is not
/// known.
StepInterval known_to(const Trial& trial);

/// How far the ratio of the step times of two layouts is known, as a standard deviation of its
/// logarithm: of a plan, on one stack; and of layouts on different stacks or machines, which share
/// no error.
double spread_between(const LayoutPlan& plan);
double spread_apart(const Trial& one, const Trial& other);

/// How probable it is that a layout of a plan is faster than another.
double faster_with(const LayoutPlan& plan, const JudgedLayout& one, const JudgedLayout& other);

/// "13.95 s", and how much longer it takes than another.
std::string step_text(const JudgedLayout& layout);
double slower_than(const JudgedLayout& layout, const JudgedLayout& other);

/// How many layouts were judged how.
std::string counts_text(const LayoutPlan& plan);
/// Of a search that was stopped: how much faster than its first layout the others may be.
std::string others_text(const LayoutPlan& plan);
/// Where nothing fits: the least memory that a layout needs, and the layout if the number is its
/// own; empty if none was judged.
std::string closest_text(const LayoutPlan& plan);
/// Why a plan has no layout that fits.
std::string none_text(const LayoutPlan& plan);
/// How many layouts each rule excludes.
std::string rules_text(const LayoutPlan& plan);

/// A plan as text: the best layout of each of the best families, those that are tight in memory,
/// the front, and how many layouts were judged how.
std::string plan_text(const LayoutPlan& plan, std::size_t best);
nlohmann::ordered_json plan_json(const LayoutPlan& plan, std::size_t best);

}  // namespace penstock
