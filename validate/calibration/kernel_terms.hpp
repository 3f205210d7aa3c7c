#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/spec/parameters.hpp"

namespace penstock {

/// The names of the terms that a kernel's time is a sum of. The first is a start; the second is the
/// work, which alone with the start makes up the simplest form.
std::vector<std::string> term_names(std::string_view kernel, std::string_view pass);

/// What each term is at some sizes. Of layers: of the pass the FLOPs of products, the bytes that
/// these move, and the bytes that all else moves, in doubles.
std::vector<double> terms_at(std::string_view kernel, std::string_view pass,
                             const NamedNumbers& sizes);

}  // namespace penstock
