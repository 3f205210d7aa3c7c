#pragma once

#include <span>

#include "sim/plan/plan.hpp"

namespace penstock {

/// Adds the inputs of a task to a plan, encoded as `Plan::input`.
inline TaskId add_inputs(Plan& plan, std::span<const TaskId> inputs) {
  if (inputs.empty()) return no_task;
  if (inputs.size() == 1) return inputs.front();
  const auto list = static_cast<std::uint32_t>(plan.inputs.size());
  plan.inputs.push_back(static_cast<std::uint32_t>(inputs.size()));
  plan.inputs.insert(plan.inputs.end(), inputs.begin(), inputs.end());
  return list | Plan::several;
}

}  // namespace penstock
