#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gui/models/change/text_place.hpp"

namespace penstock {

/// What may be written at a place of a scenario: the keys of its object, sorted, or the known
/// values of its key. Empty where nothing is known.
std::vector<std::string> words_at(const TextPlace& place);

}  // namespace penstock
