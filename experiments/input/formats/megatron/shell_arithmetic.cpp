#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/megatron/shell_words.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr int deepest_parentheses = 16;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// A decimal integer. A leading zero would make it octal in a shell.
std::optional<std::int64_t> decimal(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  return whole_number<std::int64_t>(text);
}

/// Evaluates one expression from left to right.
class Calculator {
 public:
  Calculator(std::string_view text, const ShellVariables& variables)
      : text_(text), variables_(variables) {}

  std::int64_t whole() {
    const std::int64_t value = sum(0);
    if (peek() != '\0') {
      throw InputError("only + - * / % and parentheses of whole numbers are worked out here");
    }
    return value;
  }
  const std::string& assumed() const { return assumed_; }

 private:
  /// The next non-blank character; 0 at the end.
  char peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ == text_.size() ? '\0' : text_[at_];
  }
  bool take_if(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  std::int64_t sum(int depth) {
    std::int64_t value = product(depth);
    for (;;) {
      if (take_if('+')) {
        check(!__builtin_add_overflow(value, product(depth), &value));
      } else if (take_if('-')) {
        check(!__builtin_sub_overflow(value, product(depth), &value));
      } else {
        return value;
      }
    }
  }

  std::int64_t product(int depth) {
    std::int64_t value = factor(depth);
    for (;;) {
      if (take_if('*')) {
        check(!__builtin_mul_overflow(value, factor(depth), &value));
      } else if (take_if('/')) {
        value = divided(value, factor(depth), false);
      } else if (take_if('%')) {
        value = divided(value, factor(depth), true);
      } else {
        return value;
      }
    }
  }

  std::int64_t factor(int depth) {
    bool negative = false;
    for (; peek() == '-' || peek() == '+'; ++at_) negative = negative != (text_[at_] == '-');
    const std::int64_t value = operand(depth);
    return negative ? divided(value, -1, false) : value;
  }

  std::int64_t operand(int depth) {
    const char c = peek();
    if (is_digit(c)) return number();
    if (is_letter(c)) return variable();
    if (!take_if('(')) throw InputError("a whole number or a variable is missing");
    if (depth == deepest_parentheses) {
      throw InputError(
          fmt::format("parentheses are nested more than {} deep", deepest_parentheses));
    }
    const std::int64_t value = sum(depth + 1);
    if (!take_if(')')) throw InputError("a parenthesis never closes");
    return value;
  }

  std::string_view take_word() {
    const std::size_t first = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || is_letter(text_[at_]))) ++at_;
    return text_.substr(first, at_ - first);
  }

  std::int64_t number() {
    const std::string_view word = take_word();
    if (const auto value = decimal(word)) return *value;
    throw InputError(fmt::format("{} is no decimal number of 64 bits", shortened(word)));
  }

  std::int64_t variable() {
    const std::string_view name = take_word();
    const auto found = variables_.find(name);
    if (found == variables_.end() || found->second.words.empty()) {
      throw InputError(fmt::format("{} has no value here", shortened(name)));
    }
    const ShellWord& word = found->second.words.front();
    if (!word.gaps.empty()) throw InputError(word.gaps.front().why);
    if (assumed_.empty()) assumed_ = word.assumed;
    if (const auto value = decimal(word.text)) return *value;
    throw InputError(fmt::format("{} is \"{}\", which is no decimal number of 64 bits",
                                 shortened(name), shortened(word.text)));
  }

  static std::int64_t divided(std::int64_t value, std::int64_t by, bool rest) {
    if (by == 0) throw InputError("it divides by zero");
    check(by != -1 || value != std::numeric_limits<std::int64_t>::min());
    return rest ? value % by : value / by;
  }

  static void check(bool fits) {
    if (!fits) throw InputError("not a 64-bit number");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  const ShellVariables& variables_;
  std::string assumed_;
};

}  // namespace

ShellWord shell_number(const ShellWord& expression, const ShellVariables& variables) {
  Calculator calculator(expression.text, variables);
  ShellWord number{.text = fmt::format("{}", calculator.whole()), .line = expression.line};
  number.assumed = expression.assumed.empty() ? calculator.assumed() : expression.assumed;
  return number;
}

}  // namespace penstock
