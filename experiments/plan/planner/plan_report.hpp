#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/planner/planner.hpp"
#include "experiments/run/throughput.hpp"

namespace penstock {

/// Which layouts of a list, sorted by time, no earlier one of it beats in memory: their Pareto
/// front in time and memory.
std::vector<bool> pareto_front(const std::vector<JudgedLayout>& layouts);

/// How far step times are known: to a share of them if that is given, else to the interval that
/// `run` reports, or to 3 % where the spread of the prices is not known.
StepInterval known_to(const LayoutPlan& plan, std::optional<double> share);

/// How many of the simulated layouts cannot be told from the fastest: their intervals overlap.
std::size_t ties_of(const LayoutPlan& plan, const StepInterval& known);

/// How many layouts were judged how.
std::string counts_text(const LayoutPlan& plan);
/// Where nothing fits: the layout that needs the least memory; empty if none was judged.
std::string closest_text(const LayoutPlan& plan);

/// A plan as text: the best layouts with their front, ties, and how many layouts were judged how.
/// With `rules`, how many layouts each rule excludes.
std::string plan_text(const LayoutPlan& plan, std::size_t best, const StepInterval& known,
                      bool rules);
nlohmann::ordered_json plan_json(const LayoutPlan& plan, std::size_t best,
                                 const StepInterval& known);

/// Why the best layout of a restricted plan loses to the best of all.
std::string why_text(const LayoutPlan& all, const LayoutPlan& restricted, const std::string& what);

/// How the best layout moves when the hardware changes.
std::string change_text(const LayoutPlan& before, const LayoutPlan& after,
                        const std::string& change);

}  // namespace penstock
