#include "experiments/plan/planner/space/restrictions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/setting.hpp"
#include "schedules/partitioners/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// An axis of layouts: names, or whole numbers.
struct LayoutAxis {
  std::string_view pointer;
  std::vector<std::string> names = {};
  std::uint64_t least = 1, most = 1'048'576;  // where there are no names
};

const std::vector<LayoutAxis>& layout_axes() {
  static const std::vector<LayoutAxis> axes{
      {"/parallel/pipeline"},
      {"/parallel/tensor"},
      {"/parallel/data"},
      {"/parallel/context"},
      {"/parallel/expert"},
      {"/parallel/expert_tensor"},
      {"/parallel/chunks"},
      {"/parallel/sequence", {"true", "false"}},
      {"/parallel/overlap_experts", {"true", "false"}},
      {"/model/microbatch"},
      {"/schedule/name", split_names(names_of(schedule_entries()))},
      {"/schedule/microbatches"},
      {"/schedule/overlap", {"serial", "fused"}},
      {"/memory/zero", {}, 0, 3},
      {"/recompute/mode", {"none", "selective", "full", "except_last"}},
      {"/recompute/layers"},
      {"/codec/stash", {"none", "bfp"}},
      {"/codec/link", {"none", "bfp"}},
      {"/offload/keep"},
      {"/offload/layers"},
      {"/partition/name", split_names(names_of(partitioner_entries()))}};
  return axes;
}

const LayoutAxis& axis_at(const std::string& pointer) {
  std::vector<std::string> known;
  for (const LayoutAxis& axis : layout_axes()) {
    if (axis.pointer == pointer) return axis;
    known.emplace_back(axis.pointer);
  }
  throw InputError(unknown_text(fmt::format("axis \"{}\"", pointer), pointer, known));
}

/// A value as layouts name theirs: 4, 1f1b.
std::string checked_value(const LayoutAxis& axis, const std::string& json_text) {
  const auto parsed = parse_json(json_text);
  const std::string value = parsed.is_string() ? parsed.get<std::string>() : json_text;
  if (axis.names.empty()) {
    const auto number = parsed.is_string() ? std::nullopt : plain_number(value);
    if (number && *number == std::floor(*number) && *number >= double(axis.least) &&
        *number <= double(axis.most)) {
      return json_number(*number);
    }
    throw InputError(fmt::format("{} of {} is not a whole number from {} to {}",
                                 shortened(json_text), axis.pointer, axis.least, axis.most));
  }
  if (std::find(axis.names.begin(), axis.names.end(), value) != axis.names.end()) return value;
  throw InputError(unknown_text(fmt::format("value \"{}\" of {}", shortened(value), axis.pointer),
                                meant_schedule(value), axis.names));
}

std::vector<std::string> checked_values(const Setting& setting) {
  constexpr std::uint64_t most_values = 10'000;
  const LayoutAxis& axis = axis_at(setting.pointer);
  if (setting.joined) throw InputError("& goes with --vary alone; , stands between settings");
  if (setting.values.is_continuous() || setting.values.size() > most_values) {
    throw InputError(fmt::format("{} takes a list, or a range of at most {} whole numbers",
                                 axis.pointer, most_values));
  }
  std::vector<std::string> values;
  for (std::uint64_t i = 0; i < setting.values.size(); ++i) {
    values.push_back(checked_value(axis, setting.values.text(i)));
  }
  return values;
}

}  // namespace

std::map<std::string, std::vector<std::string>, std::less<>> layout_choices() {
  std::map<std::string, std::vector<std::string>, std::less<>> all;
  for (const LayoutAxis& axis : layout_axes()) all.emplace(axis.pointer, axis.names);
  return all;
}

void refuse_axes(std::string_view option, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    for (const SingleSetting& setting : single_settings_of(option, text)) {
      const auto chosen = [&](const LayoutAxis& axis) { return axis.pointer == setting.pointer; };
      if (std::none_of(layout_axes().begin(), layout_axes().end(), chosen)) continue;
      throw UsageError(
          fmt::format("{} {}: layouts choose {}; --only {} keeps those with that value", option,
                      text, setting.pointer, setting.text()));
    }
  }
}

Restrictions::Restrictions(const std::vector<std::string>& texts, std::string_view option) {
  for (const std::string& text : texts) {
    for (const Setting& setting : settings_of(option, text)) {
      try {
        if (allowed_.contains(setting.pointer)) {
          throw InputError(
              fmt::format("{} is restricted twice; give all its values together", setting.pointer));
        }
        allowed_[setting.pointer] = checked_values(setting);
      } catch (const InputError& error) {
        throw UsageError(fmt::format("{} {}: {}", option, text, error.what()));
      }
    }
  }
}

const std::vector<std::string>* Restrictions::values_of(std::string_view pointer) const {
  const auto found = allowed_.find(pointer);
  return found == allowed_.end() ? nullptr : &found->second;
}

bool Restrictions::allow(std::string_view pointer, std::string_view value) const {
  const std::vector<std::string>* values = values_of(pointer);
  return values == nullptr || std::find(values->begin(), values->end(), value) != values->end();
}

bool Restrictions::allow(std::string_view pointer, std::uint64_t value) const {
  return allow(pointer, std::string_view(std::to_string(value)));
}

Restrictions Restrictions::with(const Restrictions& other) const {
  Restrictions both = *this;
  for (const auto& [pointer, values] : other.allowed_) both.allowed_[pointer] = values;
  return both;
}

std::vector<Restrictions> Restrictions::each() const {
  std::vector<Restrictions> all;
  for (const auto& one : allowed_) all.emplace_back().allowed_.insert(one);
  return all;
}

std::vector<Restrictions> Restrictions::all_but_each() const {
  std::vector<Restrictions> all;
  for (const auto& [pointer, values] : allowed_) {
    all.push_back(*this);
    all.back().allowed_.erase(pointer);
  }
  return all;
}

std::vector<std::string> Restrictions::pointers() const {
  std::vector<std::string> all;
  for (const auto& [pointer, values] : allowed_) all.push_back(pointer);
  return all;
}

std::string Restrictions::text() const {
  std::vector<std::string> texts;
  for (const auto& [pointer, values] : allowed_) {
    texts.push_back(fmt::format("{}={}", pointer, fmt::join(values, ",")));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace penstock
