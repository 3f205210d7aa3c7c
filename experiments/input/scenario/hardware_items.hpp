#pragma once

#include <string>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// Adds the machine or device of the scenario's own file to the catalogue. Returns its name.
std::string add_own_item(const Scenario& scenario, Catalogue& catalogue);

/// The machine or device that the scenario names; nullptr for a cost model only. `name` is the name
/// of its hardware. Throws InputError for an unknown name.
const CatalogueItem* machine_item(const Scenario& scenario, const std::string& name,
                                  const Catalogue& catalogue);

}  // namespace penstock
