#include "experiments/input/files/json_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// The position of a byte in a text: "line 3, column 7".
std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  std::size_t line = 1;
  for (const char c : before) line += c == '\n' ? 1 : 0;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line,
                     std::max<std::size_t>(1, before.size() - line_start));
}

/// The library's text without its prefix "[json.exception…] parse error at line 1, column 2: ", and
/// without most of a long quote of the input.
std::string reason(const std::string& what) {
  constexpr std::size_t longest = 240;
  const std::size_t syntax = what.find("syntax error");
  if (syntax != std::string::npos) return shortened(what.substr(syntax), longest);
  const std::size_t bracket = what.find("] ");
  return shortened(what.substr(bracket == std::string::npos ? 0 : bracket + 2), longest);
}

/// Validates a text without building a document. Tracks the current place, and refuses input that
/// the library would accept silently or crash on. (The library's parser with a callback is similar,
/// but takes quadratic time for long lists.)
class Guard final : public nlohmann::json_sax<json> {
 public:
  explicit Guard(std::string_view text) : text_(text) {}

  bool null() override { return leave_value(); }
  bool boolean(bool /*value*/) override { return leave_value(); }
  bool number_integer(number_integer_t /*value*/) override { return leave_value(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return leave_value(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
    return leave_value();
  }
  bool string(string_t& /*value*/) override { return leave_value(); }
  bool binary(binary_t& /*value*/) override { return leave_value(); }
  bool start_object(std::size_t /*size*/) override { return open(true); }
  bool start_array(std::size_t /*size*/) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    Level& level = levels_.back();
    level.key = key;
    if (level.keys.insert(key).second) return true;
    throw InputError(place(), "duplicate key");
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    // A number too large for a double is well formed, so its place is a pointer.
    const bool syntax = dynamic_cast<const json::parse_error*>(&error) != nullptr;
    if (syntax && is_comment(position)) {
      throw InputError(line_and_column(text_, position),
                       "a comment; JSON has none: leave it out, or write a \"description\"");
    }
    throw InputError(syntax ? line_and_column(text_, position) : place(), reason(error.what()));
  }

 private:
  /// An open object or array, with the current key or index.
  struct Level {
    bool is_object;
    std::string key = {};
    std::size_t index = 0;
    std::set<std::string> keys = {};
  };

  bool open(bool is_object) {
    if (levels_.size() == JsonLimits::levels) {
      throw InputError(fmt::format("it is nested more than {} levels deep", JsonLimits::levels));
    }
    levels_.push_back({.is_object = is_object});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return leave_value();
  }
  /// Whether the last character read, outside of strings, begins a comment of other languages.
  bool is_comment(std::size_t position) const {
    if (position == 0 || position > text_.size()) return false;
    const std::string_view rest = text_.substr(position - 1);
    return rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#');
  }
  bool leave_value() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }

  /// JSON pointer of the current value.
  std::string place() const {
    json::json_pointer pointer;
    for (const Level& level : levels_) {
      if (level.is_object) {
        pointer /= level.key;
      } else {
        pointer /= level.index;
      }
    }
    return pointer.to_string();
  }

  std::string_view text_;
  std::vector<Level> levels_;
};

/// Throws InputError for a text that cannot be parsed safely.
void check_text(std::string_view text) {
  if (text.size() > JsonLimits::document_bytes) {
    throw InputError(fmt::format("it is larger than {} bytes", JsonLimits::document_bytes));
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw InputError("the file is empty; a JSON document is needed");
  }
  const std::size_t nul = text.find('\0');  // the library would take it for the end
  if (nul != std::string_view::npos) {
    throw InputError(line_and_column(text, nul + 1), "a NUL byte; a JSON document has none");
  }
  Guard guard(text);
  json::sax_parse(text, &guard);
}

/// Makes 8.0 the whole number that it is to a JSON schema.
void make_whole(json& value) {
  constexpr double most = 9007199254740992;  // 2^53
  if (value.is_structured()) {
    for (json& item : value) make_whole(item);
  } else if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (number != std::floor(number) || std::abs(number) >= most) return;
    number < 0 ? value = static_cast<std::int64_t>(number)
               : value = static_cast<std::uint64_t>(number);
  }
}

/// Throws InputError if a pointer leads beyond the end of a list, which the library would fill with
/// nulls. A list may grow by one.
void check_indices(const json& document, const json::json_pointer& pointer) {
  for (json::json_pointer place = pointer; !place.empty(); place.pop_back()) {
    const json::json_pointer above = place.parent_pointer();
    if (!document.contains(above) || !document.at(above).is_array()) continue;
    const std::size_t size = document.at(above).size();
    const std::string last = place.back();
    if (last == "-" || last == std::to_string(size) || document.contains(place)) continue;
    throw InputError(
        fmt::format("the list has {}; the next is {} or -", counted(size, "item"), size));
  }
}

/// Sets what `rest` leads to in each item of a list.
void set_in_items(json& document, const std::string& list, const std::string& rest,
                  const std::string& value) {
  const json::json_pointer place(list);
  const std::size_t items =
      document.contains(place) && document.at(place).is_array() ? document.at(place).size() : 0;
  if (items == 0) throw InputError(fmt::format("{} is no list with items in the scenario", list));
  for (std::size_t i = 0; i < items; ++i) {
    set_value(document, fmt::format("{}/{}{}", list, i, rest), value);
  }
}

constexpr std::string_view blanks = " \t\r\n";

/// The position after the string that opens at `at`; npos if it does not end.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at < text.size() ? at + 1 : std::string_view::npos;
}

}  // namespace

bool is_json(std::string_view text) {
  return text.size() <= JsonLimits::document_bytes && json::accept(text);
}

json parse_json(std::string_view text) {
  check_text(text);
  json document = json::parse(text);
  make_whole(document);
  return document;
}

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  check_text(text);
  return nlohmann::ordered_json::parse(text);
}

void check_depth(std::string_view pointer) {
  const auto steps = static_cast<std::size_t>(std::ranges::count(pointer, '/'));
  if (steps <= JsonLimits::levels) return;
  throw InputError(
      fmt::format("the pointer has {} steps, more than {}", steps, JsonLimits::levels));
}

void set_value(json& document, const std::string& pointer, const std::string& value) {
  try {
    if (const std::size_t star = (pointer + "/").find("/*/"); star != std::string::npos) {
      return set_in_items(document, pointer.substr(0, star), pointer.substr(star + 2), value);
    }
    const json::json_pointer place(pointer);
    check_indices(document, place);
    document[place] = parse_json(value);
  } catch (const json::exception& error) {
    throw InputError(reason(error.what()));
  }
}

bool has_outer_key(std::string_view text, std::string_view key) {
  text = without_byte_order_mark(text);
  std::size_t at = text.find_first_not_of(blanks);
  if (at == std::string_view::npos || text[at] != '{') return false;
  for (std::size_t depth = 0; (at = text.find_first_of("\"{}[]", at)) != std::string_view::npos;) {
    if (text[at] != '"') {
      depth += text[at] == '{' || text[at] == '[' ? 1 : -1;
      if (depth == 0) return false;
      ++at;
      continue;
    }
    const std::size_t end = behind_string(text, at);
    if (end == std::string_view::npos) return false;
    const std::size_t next = text.find_first_not_of(blanks, end);
    const bool is_key = depth == 1 && next != std::string_view::npos && text[next] == ':';
    if (is_key && text.substr(at + 1, end - at - 2) == key) return true;
    at = end;
  }
  return false;
}

void JsonView::fail(const std::string& what) const { throw InputError(where_, what); }

void JsonView::unlike(const std::string& wanted) const {
  const std::string text = value_->is_structured()
                               ? std::string(value_->is_object() ? "an object" : "a list")
                               : value_->dump();
  fail(fmt::format("{} is not {}", shortened(text), wanted));
}

bool JsonView::is_null() const { return value_->is_null(); }

std::optional<JsonView> JsonView::find(std::string_view key) const {
  if (!value_->is_object()) unlike("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return JsonView(*found, where_ + pointer_step(key));
}

JsonView JsonView::at(std::string_view key) const {
  if (auto found = find(key)) return *std::move(found);
  throw InputError(where_ + pointer_step(key), fmt::format("\"{}\" is missing", key));
}

std::vector<std::pair<std::string, JsonView>> JsonView::entries() const {
  if (!value_->is_object()) unlike("an object");
  std::vector<std::pair<std::string, JsonView>> all;
  for (const auto& [key, value] : value_->items()) {
    all.emplace_back(key, JsonView(value, where_ + pointer_step(key)));
  }
  return all;
}

std::vector<JsonView> JsonView::items() const {
  if (!value_->is_array()) unlike("a list");
  if (value_->size() > Limits::layers) {
    fail(fmt::format("the list has {} items; {} are the most", value_->size(), Limits::layers));
  }
  std::vector<JsonView> all;
  all.reserve(value_->size());
  for (const json& value : *value_) {
    all.emplace_back(value, fmt::format("{}/{}", where_, all.size()));
  }
  return all;
}

double JsonView::number(double least, double most) const {
  if (value_->is_number()) {
    const double number = value_->get<double>();
    if (number >= least && number <= most) return number;
  }
  unlike(fmt::format("a number from {} to {}", least, most));
}

std::uint32_t JsonView::whole(std::uint32_t most) const {
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() <= most) {
    return value_->get<std::uint32_t>();
  }
  unlike(fmt::format("a whole number from 0 to {}", most));
}

const std::string& JsonView::text() const {
  if (!value_->is_string()) unlike("a text");
  return value_->get_ref<const std::string&>();
}

bool JsonView::flag() const {
  if (value_->is_boolean()) return value_->get<bool>();
  if (*value_ == 0 || *value_ == 1) return *value_ == 1;
  unlike("true, false, 1 or 0");
}

}  // namespace penstock
