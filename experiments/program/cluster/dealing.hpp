#pragma once

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/plan/sweeps/run_sweep.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"

namespace penstock {

// A sweep over the processes of one MPI job: the first one deals batches out as others ask for
// them, so that uneven configurations keep all busy, and writes all rows. What a lost process had
// is dealt again on the next start.

/// Whether this program is built with MPI and is one of several processes of a job.
bool is_dealt();

/// Whether this process deals. Only within a job.
bool is_dealer();

/// Deals a whole sweep out; gives its rows in order. Throws what `take` throws.
SweepCount deal_sweep(const SweepSpace& space, const SweepRun& run, const TakeRows& take);

/// Runs what the dealer deals to this process, until nothing is left.
void run_dealt(const SweepSpace& space, const Catalogue& catalogue);

}  // namespace penstock
