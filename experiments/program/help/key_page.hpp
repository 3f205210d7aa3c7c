#pragma once

#include "experiments/program/help/pages.hpp"

namespace penstock {

/// The page "scenario": every key of a scenario, what it takes and what it means.
HelpPage scenario_page();

}  // namespace penstock
