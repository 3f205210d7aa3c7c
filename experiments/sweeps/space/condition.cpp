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

/// A JSON text as a number: 2, or "2GB/s" where quantities have a unit.
std::optional<double> compared_number(std::string_view json_text,
                                      std::optional<QuantityKind> kind) {
  if (const auto plain = number_in(json_text)) return plain;
  if (!kind || json_text.size() < 3 || json_text.front() != '"') return std::nullopt;
  const std::string_view text = json_text.substr(1, json_text.size() - 2);
  const bool begins_as_number = text.find_first_of("+-.0123456789") == 0;
  return begins_as_number ? std::optional(quantity_of(text, *kind)) : std::nullopt;
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
  if (times != std::string_view::npos && text.front() != '/') {  // not a step "*" of a pointer
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
  operand.kind = measure_of_key(text.substr(text.rfind('/') + 1));
  return operand;
}

/// A constant gets the unit of the side that it is compared with. Numbers of different units are
/// compared as they are if a factor says how.
void agree_on_units(Operand& left, Operand& right) {
  for (auto [constant, other] : {std::pair{&left, &right}, std::pair{&right, &left}}) {
    if (constant->value != Operand::constant) continue;
    constant->kind = other->kind;
    static_cast<void>(compared_number(constant->text, constant->kind));  // throws for a wrong unit
  }
  const bool scaled = left.factor != 1 || right.factor != 1;
  if (left.kind && right.kind && left.kind != right.kind && !scaled) {
    throw InputError("its sides have different units; give a factor, as in /a_us <= 1000*/b_ms");
  }
}

}  // namespace

bool Condition::holds(const std::vector<std::string>& values) const {
  const auto text = [&](const Operand& side) -> const std::string& {
    return side.value == Operand::constant ? side.text : values[side.value];
  };
  const auto left_number = compared_number(text(left), left.kind);
  const auto right_number = compared_number(text(right), right.kind);
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
      Condition condition{operand_of(all.substr(0, at), pointers), relation,
                          operand_of(all.substr(at + letters.size()), pointers)};
      agree_on_units(condition.left, condition.right);
      return condition;
    }
  }
  throw InputError(
      fmt::format("\"{}\" compares nothing; expected such as "
                  "/schedule/microbatches >= 2*/parallel/pipeline",
                  text));
}

}  // namespace penstock
