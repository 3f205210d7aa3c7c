#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/spec/parameters.hpp"

namespace penstock {

/// Names of the terms of a kernel's time. The first is a start, the second the work; these two
/// alone are the simplest form.
std::vector<std::string> term_names(std::string_view kernel, std::string_view pass);

/// The value of each term at some sizes. For a pass of a layer: FLOPs of its matrix products, bytes
/// of these, and bytes of everything else, in doubles.
std::vector<double> terms_at(std::string_view kernel, std::string_view pass,
                             const NamedNumbers& sizes);

}  // namespace penstock
