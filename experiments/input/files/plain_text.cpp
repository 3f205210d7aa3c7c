#include "experiments/input/files/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Whether the first two bytes of a character are valid UTF-8: no overlong encoding and no UTF-16
/// surrogate.
bool start_fits(unsigned char first, unsigned char second) {
  if (first == 0xE0) return second >= 0xA0;
  if (first == 0xED) return second < 0xA0;
  if (first == 0xF0) return second >= 0x90;
  return first != 0xF4 || second < 0x90;
}

/// The number of bytes of the first character of a text; 0 if it is not valid UTF-8.
std::size_t character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x20) return first == '\t' || first == '\r' || first == '\n' ? 1 : 0;
  if (first < 0x7F) return 1;
  const std::size_t size = first >= 0xF5   ? 0
                           : first >= 0xF0 ? 4
                           : first >= 0xE0 ? 3
                           : first >= 0xC2 ? 2
                                           : 0;
  if (size == 0 || size > text.size()) return 0;
  if (!start_fits(first, static_cast<unsigned char>(text[1]))) return 0;
  return std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(size), continues)
             ? size
             : 0;
}

/// The text of a cell. Inside quotes, commas are text and "" is one quote.
std::string unquoted(std::string_view text, const CsvCell& cell) {
  if (text.find('"') == std::string_view::npos) return std::string(text);
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') {
    cell.fail(fmt::format("{} has quotes that do not enclose it", shortened(text)));
  }
  text = text.substr(1, text.size() - 2);
  std::string plain;
  while (!text.empty()) {
    const std::size_t quote = text.find('"');
    if (quote == std::string_view::npos) return plain.append(text);
    if (text.substr(quote, 2) != "\"\"") {
      cell.fail(fmt::format("{} has a single quote inside its quotes; write two", shortened(text)));
    }
    plain += text.substr(0, quote + 1);
    text.remove_prefix(quote + 2);
  }
  return plain;
}

/// Where the first cell of a row ends: at a comma outside quotes, or at the end of the row.
std::size_t cell_end(std::string_view row) {
  bool in_quotes = false;
  for (std::size_t at = 0; at < row.size(); ++at) {
    if (row[at] == '"') in_quotes = !in_quotes;
    if (row[at] == ',' && !in_quotes) return at;
  }
  return row.size();
}

/// A decimal number as digits and the position of its point.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t point = 0;  // digits before the decimal point; may lie outside them
};

std::optional<Decimal> parse(std::string_view text) {
  Decimal number;
  std::size_t at = 0;
  if (at < text.size() && text[at] == '-') number.negative = ++at > 0;
  for (; at < text.size() && is_digit(text[at]); ++at) number.digits += text[at];
  number.point = static_cast<std::int64_t>(number.digits.size());
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at) number.digits += text[at];
  }
  if (number.digits.empty()) return std::nullopt;
  if (at == text.size()) return number;
  if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
  std::int32_t exponent = 0;
  const char* first = text.data() + at + 1;
  const char* const end = text.data() + text.size();
  if (first != end && *first == '+') ++first;
  const auto [rest, error] = std::from_chars(first, end, exponent);
  if (error != std::errc{} || rest != end) return std::nullopt;
  number.point += exponent;
  return number;
}

/// Edit distance: the fewest insertions, deletions, replacements and swaps of neighbouring letters
/// (Damerau-Levenshtein, optimal string alignment).
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(to.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::vector<std::size_t> row(to.size() + 1, i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last.back();
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::string valid_text(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    valid += size == 0 ? "\uFFFD" : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return valid;
}

std::string shortened(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return valid_text(text);
  std::size_t end = longest;
  while (end > 0 && longest - end < 3 && continues(text[end])) --end;
  return valid_text(text.substr(0, end)) + "…";
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

bool has_sign(std::string_view text, bool is_object,
              std::initializer_list<std::string_view> signs) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos || (text[start] == '{') != is_object) return false;
  return std::ranges::any_of(signs,
                             [&](std::string_view sign) { return text.find(sign) != text.npos; });
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

std::string csv_cell(std::string_view text, bool in_quotes) {
  if (!in_quotes && text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + '"';
}

std::string_view take_line(std::string_view& rest) {
  std::string_view line = take_until(rest, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view take_row(std::string_view& rest) {
  const std::string_view text = rest;
  bool open = false;
  std::string_view row;
  do {
    const std::string_view line = take_line(rest);
    open = open != (std::ranges::count(line, '"') % 2 == 1);
    row = {text.data(), static_cast<std::size_t>(line.data() + line.size() - text.data())};
  } while (open && !rest.empty());
  return row;
}

std::string_view checked_text(std::string_view text) {
  text = without_byte_order_mark(text);
  std::size_t line = 1;
  for (std::string_view rest = text; !rest.empty();) {
    if (rest.front() == '\n') ++line;
    const std::size_t size = character_size(rest);
    if (size == 0) {
      throw InputError(
          fmt::format("line {}", line),
          fmt::format("byte 0x{:02X} is not UTF-8 text", static_cast<unsigned char>(rest.front())));
    }
    rest.remove_prefix(size);
  }
  return text;
}

void CsvCell::fail(const std::string& what) const {
  throw InputError(fmt::format("row {}, column {}", row, column), what);
}

std::vector<CsvCell> csv_cells(std::string_view line, std::size_t row) {
  constexpr std::size_t most = 64;
  std::vector<CsvCell> cells;
  for (bool more = true; more;) {
    CsvCell cell{.text = {}, .row = row, .column = cells.size()};
    if (cell.column == most) cell.fail(fmt::format("a row has {} columns at most", most));
    const std::size_t end = cell_end(line);
    cell.text = unquoted(trimmed(line.substr(0, end)), cell);
    cells.push_back(std::move(cell));
    more = end < line.size();
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return cells;
}

std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds, std::int64_t most_ns) {
  const std::optional<Decimal> number = parse(microseconds);
  if (!number) return std::nullopt;
  const std::int64_t places = number->point + 3;  // digits before the decimal point in ns
  const auto count = static_cast<std::int64_t>(number->digits.size());
  std::int64_t value = 0;
  for (std::int64_t place = 0; place < places; ++place) {
    const int digit = place < count ? number->digits[static_cast<std::size_t>(place)] - '0' : 0;
    if (value == 0 && place >= count) break;
    if (value > (most_ns - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  const bool up =
      places >= 0 && places < count && number->digits[static_cast<std::size_t>(places)] >= '5';
  if (up && value < most_ns) ++value;
  return number->negative ? -value : value;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words,
                                   std::optional<std::size_t> most) {
  const std::string small = in_small_letters(word);
  // The beginning of a name is that name.
  constexpr std::size_t letters_that_count = 3;
  for (const std::string& known : words) {
    if (word.size() >= letters_that_count && in_small_letters(known).starts_with(small)) {
      return known;
    }
  }
  std::optional<std::string> best;
  std::size_t least = most.value_or(std::max<std::size_t>(1, word.size() / 3)) + 1;
  for (const std::string& known : words) {
    const std::size_t distance = edit_distance(small, in_small_letters(known));
    if (distance >= least) continue;
    least = distance;
    best = known;
  }
  return best;
}

std::string unknown_text(std::string_view thing, std::string_view word,
                         const std::vector<std::string>& words) {
  const auto near = nearest(word, words);
  return fmt::format("unknown {}{} known: {}", thing,
                     near ? fmt::format("; did you mean \"{}\"?", *near) : std::string(";"),
                     fmt::join(words, ", "));
}

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> words;
  while (!names.empty()) {
    const std::size_t end = names.find(", ");
    words.emplace_back(names.substr(0, end));
    names = end == std::string_view::npos ? "" : names.substr(end + 2);
  }
  return words;
}

bool is_listed(std::string_view names, std::string_view name) {
  if (name.find(',') != std::string_view::npos) return false;
  for (std::size_t at = 0; (at = names.find(name, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + name.size();
    if ((at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ','))
      return true;
  }
  return false;
}

std::string unknown_text(std::string_view thing, std::string_view word, std::string_view names) {
  return unknown_text(thing, word, split_names(names));
}

}  // namespace penstock
