#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/input/catalogue/catalogue.hpp"

namespace penstock {

/// The machines, devices, links and stacks of a catalogue, in this order: kind, main numbers in one
/// line, "file" ("built in" or a path), and "facts" with all values, sources and assumptions.
nlohmann::ordered_json catalogue_json(const Catalogue& catalogue);

/// Whether a value of --hardware is a user's file: no name of the catalogue, and a path or a name
/// that ends in .json.
bool is_machine_file(const Catalogue& catalogue, const std::string& value);

/// The machine that --hardware names, with its topology: one of the catalogue, or a user's file.
/// Throws UsageError that lists the machines, and InputError with the file's name in front.
Machine machine_of_option(const Catalogue& catalogue, const std::string& value);

}  // namespace penstock
