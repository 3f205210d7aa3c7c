#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The place of a JSON pointer in the text of a document: the line, from 0, of its value, or of the
/// deepest value on the way that the text has. A place "line 3, column 5" is understood too.
/// Nothing for other places.
std::optional<std::size_t> line_of(std::string_view text, std::string_view place);

/// The place in a message about a file, such as "/schedule/name" or "line 3, column 5"; empty if it
/// names none.
std::string place_in(std::string_view message, std::string_view file);

/// Where in a document a position of its text is, however unfinished the rest.
struct TextPlace {
  std::string pointer;  // of the object or list around it
  std::string key;      // whose value is written there; empty where a key is
};
TextPlace place_at_position(std::string_view text, std::size_t position);

/// What may be written at a place of a scenario: the keys of its object, sorted, or the known
/// values of its key. Empty where nothing is known.
std::vector<std::string> words_at(const TextPlace& place);

}  // namespace penstock
