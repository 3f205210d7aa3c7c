#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// Whether a character is 0 to 9, in any locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A text without leading and trailing blanks and tabs.
std::string_view trimmed(std::string_view text);

/// The text with A to Z as a to z.
std::string in_small_letters(std::string_view text);

/// Removes and returns the text before a separator. The separator is removed too.
std::string_view take_until(std::string_view& rest, char separator);

/// A text with each invalid UTF-8 byte replaced by U+FFFD.
std::string valid_text(std::string_view text);

/// A valid text for errors and notes. A long text is cut, never inside a character.
std::string shortened(std::string_view text, std::size_t longest = 60);

/// The text without a byte order mark.
std::string_view without_byte_order_mark(std::string_view text);

/// The number that the whole text spells; empty for infinities and NaN.
std::optional<double> plain_number(std::string_view text);

/// Removes and returns the first line, without its line end (Unix or Windows).
std::string_view take_line(std::string_view& rest);

/// The text without a byte order mark. Throws InputError with the line of the first invalid UTF-8
/// byte.
std::string_view checked_text(std::string_view text);

}  // namespace penstock
