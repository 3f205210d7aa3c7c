#pragma once

#include <optional>
#include <string>

#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// The document of a scenario as the text of a file, with relative paths as they were.
std::string document_text(const Scenario& scenario);

/// The value at a JSON pointer of the document: the text of a string, or JSON. Nothing if there is
/// none.
std::optional<std::string> value_at(const Scenario& scenario, const std::string& pointer);

}  // namespace penstock
