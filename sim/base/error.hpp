#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace penstock {

/// Invalid input (exit 3). The text says what is wrong and what would be right. `where` is the
/// place in the input, a JSON pointer or "row 2, column 5", or empty.
class InputError : public std::runtime_error {
 public:
  InputError(std::string where, const std::string& what)
      : std::runtime_error(what), where_(std::move(where)) {}
  explicit InputError(const std::string& what) : std::runtime_error(what) {}

  const std::string& where() const { return where_; }

 private:
  std::string where_;
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
  using std::runtime_error::runtime_error;
};

/// A schedule rule does not support its sizes or options. The text states the rule.
class RuleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace penstock
