#include "tests/support/formula.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace penstock::testing {
namespace {

/// sum := product (('+' | '-') product)*; product := factor ('/' factor | factor)*;
/// factor := number | name | '(' sum ')' | ('min' | 'max') '(' sum ',' sum ')' | ('ceil' | 'floor')
/// '(' sum ')'.
class Parser {
 public:
  Parser(std::string_view text, const std::map<std::string, double>& values)
      : text_(text), values_(values) {}

  double whole() {
    const double value = sum();
    if (peek() != '\0') fail();
    return value;
  }

 private:
  [[noreturn]] void fail() const {
    throw std::invalid_argument("no formula: " + std::string(text_) + ", at character " +
                                std::to_string(at_));
  }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) fail();
  }

  double sum() {
    double value = product();
    for (;;) {
      if (take("+")) {
        value += product();
      } else if (take("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = factor();
    for (;;) {
      if (take("/")) {
        value /= factor();
      } else if (const char next = peek(); next == '(' || std::isalnum(next) != 0) {
        value *= factor();
      } else {
        return value;
      }
    }
  }

  double factor() {
    if (std::isdigit(peek()) != 0) return number();
    if (take("(")) return closed(sum());
    if (take("ceil(")) return std::ceil(closed(sum()));
    if (take("floor(")) return std::floor(closed(sum()));
    if (take("min(")) return pair([](double a, double b) { return std::min(a, b); });
    if (take("max(")) return pair([](double a, double b) { return std::max(a, b); });
    // The longest matching name wins: the map has it last.
    for (auto known = values_.rbegin(); known != values_.rend(); ++known) {
      if (take(known->first)) return known->second;
    }
    fail();
  }

  double number() {
    double value = 0;
    while (at_ < text_.size() && std::isdigit(text_[at_]) != 0)
      value = value * 10 + (text_[at_++] - '0');
    return value;
  }
  double closed(double value) {
    need(")");
    return value;
  }
  double pair(double (*of)(double, double)) {
    const double first = sum();
    need(",");
    return closed(of(first, sum()));
  }

  std::string_view text_;
  const std::map<std::string, double>& values_;
  std::size_t at_ = 0;
};

}  // namespace

double formula(std::string_view text, const std::map<std::string, double>& values) {
  return Parser(text, values).whole();
}

}  // namespace penstock::testing
