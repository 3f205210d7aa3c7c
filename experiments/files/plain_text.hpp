#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// Whether a character is one of 0 to 9, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A text without the blanks and tabs at its ends.
std::string_view trimmed(std::string_view text);

/// Takes everything up to a separator off the front of `rest`, and the separator with it.
std::string_view take_until(std::string_view& rest, char separator);

/// A text with each byte that no UTF-8 text holds replaced by U+FFFD.
std::string valid_text(std::string_view text);

/// The same as it is shown in an error or note: whole when it is short, and never cut inside a
/// character.
std::string shortened(std::string_view text, std::size_t longest = 60);

/// The text without the mark that some editors put in front.
std::string_view without_byte_order_mark(std::string_view text);

/// The number that a text is, from its first to its last character; nothing for infinities and NaN.
std::optional<double> plain_number(std::string_view text);

/// Takes one line off the front of `rest`, without its end, which may be that of Windows.
std::string_view take_line(std::string_view& rest);

/// The text without the mark that some editors put in front. Throws InputError naming the line of
/// the first byte that no UTF-8 text holds.
std::string_view checked_text(std::string_view text);

}  // namespace penstock
