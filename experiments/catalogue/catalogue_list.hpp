#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/catalogue/catalogue.hpp"

namespace penstock {

/// The machines, devices and links of a catalogue in this order: what each is, its main numbers in
/// one line, under "file" where it comes from ("built in" or a path), and under "facts" all that
/// the file says, with sources and assumptions.
nlohmann::ordered_json catalogue_json(const Catalogue& catalogue);

}  // namespace penstock
