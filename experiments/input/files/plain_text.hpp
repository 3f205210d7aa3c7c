#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/plain_numbers.hpp"

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

/// Whether a text begins as a JSON object does, or is one that does not, and has one of these signs
/// in it: a cheap check to recognise formats.
bool has_sign(std::string_view text, bool is_object, std::initializer_list<std::string_view> signs);

/// Removes and returns the first line, without its line end (Unix or Windows).
std::string_view take_line(std::string_view& rest);

/// The same of the first row of a CSV file, whose quoted cells may have line ends.
std::string_view take_row(std::string_view& rest);

/// The text without a byte order mark. Throws InputError with the line of the first invalid UTF-8
/// byte.
std::string_view checked_text(std::string_view text);

/// A cell of a CSV file: in quotes if it has commas, quotes or line ends, or if they are asked for.
std::string csv_cell(std::string_view text, bool in_quotes = false);

/// A cell of a table. Row and column count from 0.
struct CsvCell {
  std::string text;
  std::size_t row = 0;
  std::size_t column = 0;

  /// Throws InputError whose place is "row R, column C".
  [[noreturn]] void fail(const std::string& what) const;
};

/// The cells of a line, without surrounding blanks. A quoted cell may contain commas, line ends
/// and "" for one quote.
std::vector<CsvCell> csv_cells(std::string_view line, std::size_t row);

/// Nanoseconds of a decimal number of microseconds, "123.456" or "1.5e3". Exact: no double in
/// between. Fractions of a nanosecond are rounded, half away from zero. Empty for text that is no
/// number and for more than `most_ns`.
std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds, std::int64_t most_ns);

/// The word that a mistyped one most likely means: the first that begins with it, else the one that
/// differs least, in at most a third of the letters, or `most`. Small and capital letters are the
/// same.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words,
                                   std::optional<std::size_t> most = {});

/// "unknown THING; did you mean NEAREST? known: A, B", without the question if no word is close.
std::string unknown_text(std::string_view thing, std::string_view word,
                         const std::vector<std::string>& words);

/// Names as texts list them, "gpipe, naive", one by one.
std::vector<std::string> split_names(std::string_view names);
/// Whether such a list has a name.
bool is_listed(std::string_view names, std::string_view name);

/// The same for names as texts list them: "gpipe, naive".
std::string unknown_text(std::string_view thing, std::string_view word, std::string_view names);

}  // namespace penstock
