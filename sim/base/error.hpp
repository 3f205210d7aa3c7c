#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace penstock {

/// A text with \u0000 for each NUL, which would end it.
inline std::string without_nul(std::string text) {
  for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u0000");
  }
  return text;
}

/// Invalid input (exit 3). The text says what is wrong and what would be right. `where` is the
/// place in the input, a JSON pointer or "row 2, column 5", or empty.
class InputError : public std::runtime_error {
 public:
  InputError(std::string where, const std::string& what)
      : std::runtime_error(without_nul(what)), where_(without_nul(std::move(where))) {}
  explicit InputError(const std::string& what) : std::runtime_error(without_nul(what)) {}
  /// Of a file: the text begins with it and with the place, "gpt.json: /schedule/name: …".
  InputError(std::string file, std::string where, const std::string& what)
      : std::runtime_error(without_nul(file + ": " + (where.empty() ? "" : where + ": ") + what)),
        where_(without_nul(std::move(where))),
        file_(std::move(file)) {}

  const std::string& where() const { return where_; }
  /// The file, if it is known: then the text begins with it and with the place.
  const std::string& file() const { return file_; }
  /// The text with the place in front, if only that is known: "/schedule/name: …".
  std::string text() const {
    return where_.empty() || !file_.empty() ? what() : where_ + ": " + what();
  }
  /// What is wrong, without file and place.
  std::string message() const {
    const std::size_t named = file_.size() + 2 + (where_.empty() ? 0 : where_.size() + 2);
    return file_.empty() ? what() : std::string(what()).substr(named);
  }

 private:
  std::string where_;
  std::string file_;
};

/// A key as one step of a JSON pointer, with the leading slash.
inline std::string pointer_step(std::string_view key) {
  std::string step = "/";
  for (const char c : key) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

/// Wrong usage of the program (exit 2).
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& what) : std::runtime_error(without_nul(what)) {}
};

/// A schedule rule does not support its sizes or options. The text states the rule.
class RuleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace penstock
