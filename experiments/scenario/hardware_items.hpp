#pragma once

#include <string>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// Adds the machine or device of a scenario's own file to a catalogue. Returns its name.
std::string add_own_item(const Scenario& scenario, Catalogue& catalogue);

/// What the scenario names as its machine or device, where its hardware has this name; nothing
/// where it names only a cost model. Throws InputError for a name that is not there.
const CatalogueItem* machine_item(const Scenario& scenario, const std::string& name,
                                  const Catalogue& catalogue);

}  // namespace penstock
