#pragma once

#include <string>

#include "experiments/catalogue/catalogue.hpp"

namespace penstock {

/// The machine that --hardware names, with its topology. Throws UsageError that lists the machines.
Machine machine_of_option(const Catalogue& catalogue, const std::string& name);

}  // namespace penstock
