#pragma once

#include <string>

namespace penstock::testing {

/// The text of a file in the folder `orders` of the one that PENSTOCK_ORACLES names. Throws
/// InputError if it cannot be read.
std::string recorded_file(const std::string& file);

}  // namespace penstock::testing
