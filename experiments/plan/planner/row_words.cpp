#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "experiments/input/files/table.hpp"
#include "experiments/plan/planner/plan_report.hpp"

namespace penstock {
namespace {

std::string recompute_of(const LayoutChoice& choice) {
  if (!choice.operators.empty()) return fmt::format("{}", fmt::join(choice.operators, " and "));
  if (choice.layers > 0) return fmt::format("{} layers", choice.layers);
  return choice.recomputes_stages ? choice.recompute + " by stage" : choice.recompute;
}

/// "full recomputation for none", "offload of 4 layers for full recomputation".
std::string recompute_difference(const LayoutChoice& one, const LayoutChoice& other) {
  if (one.offloaded_layers + other.offloaded_layers == 0) {
    return fmt::format("{} recomputation for {}", recompute_of(one), recompute_of(other));
  }
  const auto words = [](const LayoutChoice& choice) {
    if (choice.offloaded_layers == 0) return recompute_of(choice) + " recomputation";
    return "offload of " + counted(choice.offloaded_layers, "layer");
  };
  return fmt::format("{} for {}", words(one), words(other));
}

std::string place_of(const LayoutChoice& choice) {
  return choice.module ? text_of(*choice.module) : "as one model";
}

const char* cells_of(const LayoutChoice& choice) { return choice.fused ? "fused" : "serial"; }

/// "3–11" for numbers in a row, else "2, 4".
std::string numbers_text(const std::set<std::uint32_t>& numbers) {
  const bool in_a_row =
      numbers.size() > 2 && *numbers.rbegin() - *numbers.begin() + 1 == numbers.size();
  if (in_a_row) return fmt::format("{}–{}", *numbers.begin(), *numbers.rbegin());
  return fmt::format("{}", fmt::join(numbers, ", "));
}

}  // namespace

std::string near_text(const ListedFamily& family) {
  std::map<std::string_view, std::set<std::uint32_t>> numbers;
  std::map<std::string_view, std::set<std::string>> names;
  const LayoutChoice& best = family.best->choice;
  for (const JudgedLayout* one : family.near) {
    const LayoutChoice& other = one->choice;
    if (other.chunks != best.chunks) numbers["chunks"].insert(other.chunks);
    if (other.microbatch != best.microbatch) numbers["microbatches of"].insert(other.microbatch);
    if (other.zero != best.zero) numbers["ZeRO"].insert(other.zero);
    if (other.schedule != best.schedule) names["schedule"].insert(other.schedule);
    if (other.offloaded_layers != best.offloaded_layers) {
      numbers["offloaded layers"].insert(other.offloaded_layers);
    }
    if (recompute_of(other) != recompute_of(best))
      names["recomputation"].insert(recompute_of(other));
    if (other.partition != best.partition) names["cut"].insert(other.partition);
    if (other.module != best.module) names["place"].insert(place_of(other));
    if (other.fused != best.fused) names["cells"].insert(cells_of(other));
    if (other.hides_experts != best.hides_experts) {
      names["expert traffic"].insert(other.hides_experts ? "hidden" : "exposed");
    }
  }
  std::vector<std::string> parts;
  for (const auto& [what, values] : numbers) {
    parts.push_back(fmt::format("{} {}", what, numbers_text(values)));
  }
  for (const auto& [what, values] : names) {
    parts.push_back(fmt::format("{} {}", what, fmt::join(values, ", ")));
  }
  return parts.empty() ? "" : fmt::format("also {}", fmt::join(parts, "; "));
}

std::string difference_text(const LayoutChoice& one, const LayoutChoice& other) {
  constexpr std::array<const char*, 6> names{"tensor",  "pipeline", "data",
                                             "context", "expert",   "expert_tensor"};
  std::vector<std::string> parts;
  const auto mine = degrees_of(one), others = degrees_of(other);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (mine[i] != others[i])
      parts.push_back(fmt::format("{} {} for {}", names[i], mine[i], others[i]));
  }
  if (one.schedule != other.schedule) {
    parts.push_back(fmt::format("{} for {}", one.schedule, other.schedule));
  }
  if (recompute_of(one) != recompute_of(other) || one.offloaded_layers != other.offloaded_layers) {
    parts.push_back(recompute_difference(one, other));
  }
  if (one.fused != other.fused) parts.push_back(fmt::format("{} cells", cells_of(one)));
  if (one.hides_experts != other.hides_experts) {
    parts.emplace_back(one.hides_experts ? "hidden expert traffic" : "exposed expert traffic");
  }
  if (one.module != other.module) {
    parts.push_back(fmt::format("{} for {}", place_of(one), place_of(other)));
  }
  if (one.zero != other.zero) parts.push_back(fmt::format("ZeRO-{} for {}", one.zero, other.zero));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace penstock
