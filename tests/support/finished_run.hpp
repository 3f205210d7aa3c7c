#pragma once

#include <optional>

#include "experiments/run/run.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {

/// A system that has run; fails the test when it comes to a halt.
RunResult finished(const System& system, const Conditions& conditions = {});

/// A random system whose plan meets with whatever the event engine knows: shared links, memory that
/// runs out, chance, launches, actions and transfers that slow each other down or wait for each
/// other. Nothing when it comes to a halt. To be called inside `rc::check`.
std::optional<RunResult> random_run();

/// The same where only inputs, resources and launches hold tasks back: `relax` is right for it.
RunResult random_relaxed_run();

}  // namespace penstock::testing
