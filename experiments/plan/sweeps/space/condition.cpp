#include "experiments/plan/sweeps/space/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

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

/// A varied pointer with its values.
struct Varied {
  std::string pointer;
  const ValueList* values;
};

std::vector<Varied> varied_of(const std::vector<Axis>& axes) {
  std::vector<Varied> all;
  for (const Axis& axis : axes) {
    for (std::size_t i = 0; i < axis.pointers.size(); ++i) {
      all.push_back({axis.pointers[i], &axis.values[i]});
    }
  }
  return all;
}

Operand operand_of(const ConditionSide& side, const std::vector<Varied>& varied) {
  if (side.pointer.empty()) return {.text = side.value};
  const auto found = std::ranges::find(varied, side.pointer, &Varied::pointer);
  if (found == varied.end()) {
    std::vector<std::string> pointers;
    for (const Varied& one : varied) pointers.push_back(one.pointer);
    throw InputError(
        unknown_text(fmt::format("pointer {}; it must be one that varies", side.pointer),
                     side.pointer, pointers));
  }
  return {
      .value = static_cast<std::size_t>(found - varied.begin()),
      .factor = side.factor,
      .kind = measure_of_key(std::string_view(side.pointer).substr(side.pointer.rfind('/') + 1))};
}

/// A constant gets the unit of the side that it is compared with. Numbers of different units are
/// compared as they are if a factor says how.
void agree_on_units(Operand& left, Operand& right) {
  for (auto [constant, other] : {std::pair{&left, &right}, std::pair{&right, &left}}) {
    if (constant->value != Operand::constant) continue;
    constant->kind = other->kind;
    static_cast<void>(quantity_in_json(constant->text, constant->kind));  // throws for a wrong unit
  }
  const bool scaled = left.factor != 1 || right.factor != 1;
  if (left.kind && right.kind && left.kind != right.kind && !scaled) {
    throw InputError("its sides have different units; give a factor, as in /a_us <= 1000*/b_ms");
  }
}

/// The values of a side that are no numbers.
std::vector<std::string> texts_of(const Operand& side, const std::vector<Varied>& varied) {
  const std::vector<std::string> constant{side.text};
  const bool varies = side.value != Operand::constant;
  std::vector<std::string> texts;
  for (const std::string& text : varies ? varied[side.value].values->list : constant) {
    if (!quantity_in_json(text, side.kind)) texts.push_back(text);
  }
  return texts;
}

bool has_numbers(const Operand& side, const std::vector<Varied>& varied) {
  const std::size_t texts = texts_of(side, varied).size();
  return side.value == Operand::constant ? texts == 0
                                         : texts < varied[side.value].values->size() ||
                                               varied[side.value].values->is_continuous();
}

/// Throws unless the values of a side are numbers.
void check_numbers(const Operand& side, const std::vector<Varied>& varied) {
  const auto texts = texts_of(side, varied);
  if (texts.empty()) return;
  if (side.value == Operand::constant) {
    throw InputError(fmt::format("{} is no number", shortened(texts.front())));
  }
  throw InputError(fmt::format("{} takes {}, which is no number; it can only be == or != a value",
                               varied[side.value].pointer, shortened(texts.front())));
}

/// A JSON value as a user types it: a text without its quotes.
std::string shown(const std::string& value) {
  const auto parsed = parse_json(value);
  return parsed.is_string() ? parsed.get<std::string>() : value;
}

/// Throws unless a text is among the values of a pointer.
void check_text(const std::string& text, const Varied& varied) {
  const std::vector<std::string>& known = varied.values->list;
  if (std::ranges::find(known, text) != known.end()) return;
  if (known.empty() || plain_number(known.front())) {
    throw InputError(fmt::format("{} is no number, as {} takes", shortened(text), varied.pointer));
  }
  std::vector<std::string> names;
  for (const std::string& one : known) names.push_back(shown(one));
  throw InputError(
      unknown_text(fmt::format("value \"{}\" of {}", shortened(shown(text)), varied.pointer),
                   shown(text), names));
}

/// Numbers are compared with numbers; a text equals one that its other side takes, or differs.
void check_comparable(const Condition& condition, const std::vector<Varied>& varied) {
  const Operand &left = condition.left, &right = condition.right;
  if (left.value == Operand::constant && right.value == Operand::constant) {
    throw InputError("no side is a pointer; expected such as /a/b <= 2*/c/d");
  }
  const bool orders =
      condition.relation != Relation::equal && condition.relation != Relation::unequal;
  if (orders || left.factor != 1 || right.factor != 1) {
    check_numbers(left, varied);
    check_numbers(right, varied);
    return;
  }
  for (const auto& [one, other] : {std::pair{&left, &right}, std::pair{&right, &left}}) {
    if (one->value != Operand::constant) continue;
    if (!texts_of(*one, varied).empty()) {
      check_text(one->text, varied[other->value]);
    } else if (!has_numbers(*other, varied)) {
      check_numbers(*other, varied);
    }
    return;
  }
  if (has_numbers(left, varied) != has_numbers(right, varied)) {
    check_numbers(left, varied);
    check_numbers(right, varied);
  }
}

}  // namespace

bool Condition::holds(const std::vector<std::string>& values) const {
  const auto text = [&](const Operand& side) -> const std::string& {
    return side.value == Operand::constant ? side.text : values[side.value];
  };
  const auto left_number = quantity_in_json(text(left), left.kind);
  const auto right_number = quantity_in_json(text(right), right.kind);
  if (left_number && right_number) {
    return compare(*left_number * left.factor, relation, *right_number * right.factor);
  }
  const bool same = text(left) == text(right);
  return relation == Relation::unequal ? !same : relation == Relation::equal && same;
}

Condition condition_of(const std::string& text, const std::vector<Axis>& axes) {
  const ConditionText read = condition_text_of(text);
  const std::vector<Varied> varied = varied_of(axes);
  Condition condition{operand_of(read.left, varied), read.relation, operand_of(read.right, varied),
                      text};
  agree_on_units(condition.left, condition.right);
  check_comparable(condition, varied);
  return condition;
}

std::vector<Axis> axes_of(const std::string& text) {
  std::vector<Axis> axes;
  for (Setting& setting : settings_of("--vary", text)) {
    if (!setting.joined) axes.push_back({.pointers = {}, .values = {}, .option = "--vary " + text});
    axes.back().pointers.push_back(std::move(setting.pointer));
    axes.back().values.push_back(std::move(setting.values));
  }
  return axes;
}

}  // namespace penstock
