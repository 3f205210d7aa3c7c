#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The keys that the schema knows for the object at a pointer of a scenario, sorted; of an object
/// in a list too. Empty where it knows none.
std::vector<std::string> keys_below(std::string_view pointer);

}  // namespace penstock
