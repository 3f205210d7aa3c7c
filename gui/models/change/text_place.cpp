#include "gui/models/change/text_place.hpp"

#include <algorithm>
#include <charconv>

#include "experiments/input/scenario/document.hpp"
#include "experiments/program/commands/line/suggestions.hpp"

namespace penstock {
namespace {

std::vector<std::string> steps_of(std::string_view pointer) {
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      steps.emplace_back();
    } else if (pointer[i] == '~' && i + 1 < pointer.size()) {
      steps.back() += pointer[++i] == '0' ? '~' : '/';
    } else {
      steps.back() += pointer[i];
    }
  }
  return steps;
}

/// Follows a path through the text of a document that may be faulty behind it.
class PathScanner {
 public:
  PathScanner(std::string_view text, std::vector<std::string> steps)
      : text_(text), steps_(std::move(steps)) {}

  std::size_t find() {
    skip_blanks();
    found_ = at_;
    enter(0);
    return found_;
  }

 private:
  char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n,:").find(now()) != std::string_view::npos)
      ++at_;
  }
  std::string take_string() {
    std::string value;
    for (++at_; at_ < text_.size() && now() != '"'; ++at_) {
      if (now() == '\\') ++at_;
      value += now();
    }
    ++at_;
    return value;
  }
  void skip_value() {
    skip_blanks();
    if (now() == '"') {
      take_string();
      return;
    }
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = now();
      if (c == '"') {
        take_string();
        --at_;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return;
        if (--depth == 0) {
          ++at_;
          return;
        }
      } else if (depth == 0 && (c == ',' || c == '\n')) {
        return;
      }
    }
  }
  /// The position is on the value of the first `depth` steps.
  void enter(std::size_t depth) {
    if (depth == steps_.size() || (now() != '{' && now() != '[')) return;
    const bool is_object = now() == '{';
    ++at_;
    for (std::size_t item = 0;; ++item) {
      skip_blanks();
      if (at_ >= text_.size() || now() == '}' || now() == ']') return;
      const std::size_t start = at_;
      if (is_object && now() != '"') return;
      const std::string key = is_object ? take_string() : std::to_string(item);
      skip_blanks();
      if (key == steps_[depth]) {
        found_ = is_object ? start : at_;
        return enter(depth + 1);
      }
      skip_value();
    }
  }

  std::string_view text_;
  std::vector<std::string> steps_;
  std::size_t at_ = 0;
  std::size_t found_ = 0;
};

/// An object or list that is not closed yet.
struct OpenValue {
  bool is_object;
  std::string key;        // of an object: the last one
  bool at_value = false;  // behind the colon of that key
  std::size_t item = 0;   // of a list

  std::string step() const { return is_object ? key : std::to_string(item); }
  void pass_comma() {
    ++item;
    key.clear();
    at_value = false;
  }
};

/// The string that begins at a position, which moves to its end.
std::string string_from(std::string_view text, std::size_t& at) {
  std::string value;
  for (++at; at < text.size() && text[at] != '"'; ++at) value += text[at];
  return value;
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
  const std::size_t at = PathScanner(text, steps_of(place)).find();
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size()));
  return static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

TextPlace place_at_position(std::string_view text, std::size_t position) {
  text = text.substr(0, position);
  std::vector<OpenValue> open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') {
      open.push_back({.is_object = c == '{', .key = {}});
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
      }
    }
  }
  TextPlace place;
  for (std::size_t depth = 0; depth + 1 < open.size(); ++depth) {
    place.pointer += "/" + open[depth].step();
  }
  if (!open.empty() && open.back().is_object && open.back().at_value) place.key = open.back().key;
  return place;
}

std::vector<std::string> words_at(const TextPlace& place) {
  if (place.key.empty()) return keys_below(place.pointer);
  return suggested_values(place.pointer + "/" + place.key);
}

}  // namespace penstock
