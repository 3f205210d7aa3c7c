#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/input/catalogue/catalogue.hpp"

namespace penstock {

/// The machines, devices, links and stacks of a catalogue, in this order: kind, main numbers in one
/// line, "file" ("built in" or a path), and "facts" with all values, sources and assumptions.
nlohmann::ordered_json catalogue_json(const Catalogue& catalogue);

}  // namespace penstock
