#pragma once

#include <cstdint>
#include <optional>

#include "experiments/run/run.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {

/// A finished run of a system; fails the test if it deadlocks.
RunResult finished(const System& system, const Conditions& conditions = {});

/// A random system whose plan uses everything that the event engine supports: shared links, limited
/// memory, chance, launches, actions and transfers that slow each other down or wait for each
/// other. Nothing if it deadlocks. Call inside `rc::check`.
std::optional<RunResult> random_run();

/// The same, with tasks waiting only for inputs, resources and launches, so that `relax` applies.
RunResult random_relaxed_run();

/// The same, but transfers share links.
RunResult random_shared_run();

/// 1F1B with transfers on 64 ranks whose stages differ a little: 254 ops for each microbatch.
Scenario on_64_ranks(std::int64_t microbatches);

}  // namespace penstock::testing
