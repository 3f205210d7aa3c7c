#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/measure/causes/measured_step.hpp"
#include "experiments/measure/causes/op_model.hpp"
#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {

/// What delays a step, in the order in which causes are taken out.
enum class CauseKind : std::uint8_t {
  rank,
  link,
  gaps,
  replicas,
  microbatches,
  stages,
  jitter,
  collectives,
};
/// "rank", "gaps": the words of `--without`.
constexpr std::string_view name(CauseKind kind) {
  constexpr std::array<std::string_view, 8> names{
      "rank", "link", "gaps", "replicas", "microbatches", "stages", "jitter", "collectives"};
  return names[static_cast<std::size_t>(kind)];
}

/// One cause, or the smaller ones of a kind together.
struct Cause {
  CauseKind kind;
  std::vector<std::uint32_t> who;  // ranks or links
  std::string name;                // "slow rank 7"
  std::string proof;               // "F takes 1.5 ms, 1 at its peers (32 ops)"
  std::optional<std::uint32_t> rank;
  TaskId op = no_task;               // that shows it best
  Time cost{};                       // what the step gains when it goes, after those before it
  Time alone{};                      // what the step gains when it goes alone
  std::optional<Time> shapley;       // the mean over all orders
  std::optional<Interval> interval;  // of `cost` over the iterations, in microseconds
};

/// Names a cause, and says which rank or op shows it: "slow rank 7", "F takes 1.5 ms, 1 ms at its
/// peers".
void add_proof(const MeasuredStep& step, const OpModel& model, Cause& cause);

}  // namespace penstock
