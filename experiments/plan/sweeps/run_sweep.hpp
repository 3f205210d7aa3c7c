#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/plan/sweeps/evaluator.hpp"
#include "experiments/plan/sweeps/rows_in_order.hpp"
#include "experiments/plan/sweeps/shard.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"

namespace penstock {

/// What of a sweep to run, and how.
struct SweepRun {
  Shard shard;
  std::uint64_t done = 0;               // rows of the shard that are there already
  std::size_t jobs = SIZE_MAX;          // threads at most
  std::function<bool()> asked_to_stop;  // may be empty; whether to end after the items in hand
  OnProgress on_progress;               // may be empty
};

/// Runs the configurations of a shard on all cores, and gives their rows in order: the bytes do not
/// depend on the number of threads or on earlier stops. Throws what `take` throws.
SweepCount run_sweep(const SweepSpace& space, const Catalogue& catalogue, const SweepRun& run,
                     const TakeRows& take);

/// The rows of a batch of a shard.
FinishedRows rows_of_batch(Evaluator& evaluator, const Shard& shard, const RowBatch& batch);

}  // namespace penstock
