#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace penstock {

/// The place of a JSON pointer in the text of a document: the line, from 0, of its value, or of the
/// deepest value on the way that the text has. A place "line 3, column 5" is understood too.
/// Nothing for other places.
std::optional<std::size_t> line_of(std::string_view text, std::string_view place);

}  // namespace penstock
