#include "experiments/sweeps/space/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "experiments/files/nearest.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

// Longer signs first: "<=" is not "<".
constexpr std::array signs{std::pair{"<=", Relation::at_most}, std::pair{">=", Relation::at_least},
                           std::pair{"==", Relation::equal},   std::pair{"!=", Relation::unequal},
                           std::pair{"<", Relation::less},     std::pair{">", Relation::more}};

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class Value>
bool compare(const Value& left, Relation how, const Value& right) {
  switch (how) {
    case Relation::less:
      return left < right;
    case Relation::at_most:
      return left <= right;
    case Relation::equal:
      return left == right;
    case Relation::unequal:
      return left != right;
    case Relation::at_least:
      return left >= right;
    case Relation::more:
      return left > right;
  }
  return false;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Operand operand_of(std::string_view text, const std::vector<std::string>& pointers) {
  Operand operand;
  text = trimmed(text);
  const std::size_t times = text.find("*/");
  if (times != std::string_view::npos) {
    const auto factor = number_in(trimmed(text.substr(0, times)));
    if (!factor) throw InputError(fmt::format("\"{}\" is no factor", text.substr(0, times)));
    operand.factor = *factor;
    text.remove_prefix(times + 1);
  }
  if (text.empty()) throw InputError("a side is empty; expected such as /a/b <= 2*/c/d");
  if (text.front() != '/') {
    const std::string value(text);
    const bool is_json = nlohmann::json::accept(value);
    operand.text = is_json ? value : nlohmann::json(value).dump();
    return operand;
  }
  const auto found = std::find(pointers.begin(), pointers.end(), text);
  if (found == pointers.end()) {
    throw InputError(
        unknown_text(fmt::format("pointer {}; it must be one that varies", text), text, pointers));
  }
  operand.value = static_cast<std::size_t>(found - pointers.begin());
  return operand;
}

}  // namespace

bool Condition::holds(const std::vector<std::string>& values) const {
  const auto text = [&](const Operand& side) -> const std::string& {
    return side.value == Operand::constant ? side.text : values[side.value];
  };
  const auto left_number = number_in(text(left)), right_number = number_in(text(right));
  if (left_number && right_number) {
    return compare(*left_number * left.factor, relation, *right_number * right.factor);
  }
  const bool same = text(left) == text(right);
  return relation == Relation::unequal ? !same : relation == Relation::equal && same;
}

Condition condition_of(const std::string& text, const std::vector<std::string>& pointers) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const auto& [sign, relation] : signs) {
      const std::string_view letters(sign);
      if (text.compare(at, letters.size(), letters) != 0) continue;
      const std::string_view all(text);
      return {operand_of(all.substr(0, at), pointers), relation,
              operand_of(all.substr(at + letters.size()), pointers)};
    }
  }
  throw InputError(
      fmt::format("\"{}\" compares nothing; expected such as "
                  "/schedule/microbatches >= 2*/parallel/pipeline",
                  text));
}

}  // namespace penstock
