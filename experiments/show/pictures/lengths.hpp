#pragma once

#include <optional>
#include <string>

namespace penstock {

/// A side of a picture in units of 1/96 inch, from a number or a text such as "85mm"; nothing for
/// an empty one. `option` is named in errors. Throws UsageError.
std::optional<double> length_of(const char* option, const std::string& text);

}  // namespace penstock
