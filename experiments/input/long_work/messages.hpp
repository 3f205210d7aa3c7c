#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// A text that a terminal shows and does not obey: control characters other than line ends and tabs
/// become \u001b, which JSON reads back.
std::string printable(std::string_view text);

/// Writes "penstock: " and a line to stderr, if it is open.
void say(std::string_view line);

/// Writes a report to stdout. Throws std::system_error if it cannot be written.
void show(std::string_view text);

}  // namespace penstock
