#include "gui/models/change/text_place.hpp"

#include <algorithm>
#include <charconv>

#include "experiments/input/scenario/document.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// An object or list that is not closed yet.
struct OpenValue {
  bool is_object;
  std::string key{};      // of an object: the last one
  bool at_value = false;  // behind the colon of that key, or within an item
  std::size_t item = 0;   // of a list

  void pass_comma() {
    ++item;
    key.clear();
    at_value = false;
  }
};

std::string pointer_to(const std::vector<OpenValue>& open) {
  std::string pointer;
  for (const OpenValue& each : open) {
    pointer += pointer_step(each.is_object ? each.key : std::to_string(each.item));
  }
  return pointer;
}

/// The string that begins at a position, which moves to its end.
std::string string_from(std::string_view text, std::size_t& at) {
  std::string value;
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    value += text[at];
  }
  return value;
}

constexpr std::string_view blanks = " \t\r\n";

/// What is open at the end of a text, which may be faulty. Calls `visit(open, at)` where a key or
/// an item of a list begins.
template <class Visitor>
std::vector<OpenValue> open_values(std::string_view text, Visitor visit) {
  std::vector<OpenValue> open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const std::size_t begin = at;
    if (blanks.find(c) != std::string_view::npos) continue;
    const bool in_list = !open.empty() && !open.back().is_object;
    if (in_list && !open.back().at_value && c != ']' && c != ',') {
      open.back().at_value = true;
      visit(open, begin);
    }
    if (c == '{' || c == '[') {
      open.push_back({.is_object = c == '{'});
    } else if ((c == '}' || c == ']') && !open.empty()) {
      open.pop_back();
    } else if (c == ',' && !open.empty()) {
      open.back().pass_comma();
    } else if (c == ':' && !open.empty()) {
      open.back().at_value = true;
    } else if (c == '"') {
      const std::string value = string_from(text, at);
      const bool whole = at < text.size();  // otherwise it is being written
      if (whole && !open.empty() && open.back().is_object && !open.back().at_value) {
        open.back().key = value;
        visit(open, begin);
      }
    }
  }
  return open;
}

}  // namespace

std::string place_in(std::string_view message, std::string_view file) {
  const std::string front = std::string(file) + ": ";
  if (message.starts_with(front)) message.remove_prefix(front.size());
  if (!message.starts_with("/") && !message.starts_with("line ")) return "";
  return std::string(message.substr(0, message.find(": ")));
}

std::optional<std::size_t> line_of(std::string_view text, std::string_view place) {
  if (place.starts_with("line ")) {
    std::size_t line = 0;
    std::from_chars(place.data() + 5, place.data() + place.size(), line);
    return line > 0 ? line - 1 : 0;
  }
  if (!place.empty() && !place.starts_with("/")) return std::nullopt;
  std::size_t found = text.find_first_not_of(blanks);
  std::size_t known = 0;  // of the place
  open_values(text, [&](const std::vector<OpenValue>& open, std::size_t at) {
    const std::string here = pointer_to(open);
    const std::string_view rest = place.substr(std::min(here.size(), place.size()));
    const bool leads = place.starts_with(here) && (rest.empty() || rest.front() == '/');
    if (!leads || here.size() <= known) return;
    known = here.size();
    found = at;
  });
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(found, text.size()));
  return static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

TextPlace place_at_position(std::string_view text, std::size_t position) {
  std::vector<OpenValue> open = open_values(text.substr(0, position), [](auto&&...) {});
  TextPlace place;
  if (open.empty()) return place;
  if (open.back().is_object && open.back().at_value) place.key = open.back().key;
  open.pop_back();
  place.pointer = pointer_to(open);
  return place;
}

std::vector<std::string> words_at(const TextPlace& place) {
  if (place.key.empty()) return keys_below(place.pointer);
  return suggested_values(place.pointer + "/" + place.key);
}

}  // namespace penstock
