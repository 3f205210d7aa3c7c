#pragma once

#include <string>

#include "experiments/input/catalogue/catalogue.hpp"

namespace penstock {

/// Whether a value of --hardware is a user's file: no name of the catalogue, and a path or a name
/// that ends in .json.
bool is_machine_file(const Catalogue& catalogue, const std::string& value);

/// The machine that --hardware names, with its topology: one of the catalogue, or a user's file.
/// Throws UsageError that lists the machines, and InputError with the file's name in front.
Machine machine_of_option(const Catalogue& catalogue, const std::string& value);

}  // namespace penstock
