#pragma once

#include "experiments/measure/causes/measured_step.hpp"
#include "experiments/measure/causes/op_model.hpp"

namespace penstock {

struct Cause;

/// Names a cause, and says which rank or op shows it: "slow rank 7", "F takes 1.5 ms, 1 ms at its
/// peers (16 ops)".
void add_proof(const MeasuredStep& step, const OpModel& model, Cause& cause);

}  // namespace penstock
