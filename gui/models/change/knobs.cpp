#include "gui/models/change/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/input/files/quantity.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "experiments/run/layout/training.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Whether the hardware takes its links from numbers of the scenario.
bool has_plain_links(const Scenario& scenario) {
  return value_at(scenario, "/hardware/name").value_or("") == "ideal" &&
         !value_at(scenario, "/hardware/transfer_us");
}

/// Which activations are made again; without a mode, those of stages that state a time for it.
std::string recompute_word(const Layout& layout, const Knob& knob) {
  const std::vector<bool> stages = extras_of(layout).recomputing.stages;
  const bool any = std::find(stages.begin(), stages.end(), true) != stages.end();
  const RecomputeMode usual = any ? RecomputeMode::full : RecomputeMode::none;
  return knob.words.at(static_cast<std::size_t>(layout.recompute.mode.value_or(usual)));
}

template <class Number>
std::optional<std::string> text_of(const std::optional<Number>& number) {
  return number ? std::optional(fmt::format("{}", *number)) : std::nullopt;
}

}  // namespace

std::string_view Knob::unit() const {
  const auto kind = measure_of_key(field->key);
  return kind ? unit_of(*kind) : "";
}

const std::vector<Knob>& knobs() {
  static const Field factor = turned({"factor", number(), ""}, {"Cost of stage ×", 0.25, 4});
  static const std::vector<Knob> table = [] {
    std::vector<Knob> all{{"", &factor}};
    for (const auto& [name, section] : scenario_sections()) {
      for (const Field& field : section->fields) {
        if (!field.slider) continue;
        Knob& knob = all.emplace_back(Knob{fmt::format("/{}/{}", name, field.key), &field});
        if (field.slider->is_choice()) knob.words = suggested_values(knob.pointer);
      }
    }
    return all;
  }();
  return table;
}

std::uint32_t numbered_stages(const Scenario& scenario) {
  std::uint32_t stages = 0;
  while (value_at(scenario, fmt::format("/model/stages/{}", stages))) ++stages;
  return stages;
}

std::optional<std::string> knob_value(const Scenario& scenario, const Knob& knob) {
  if (knob.of_stage()) return "1";
  return value_at(scenario, knob.pointer);
}

std::optional<std::string> value_in_force(const Layout& layout, const Knob& knob) {
  const std::string& key = knob.pointer;
  const HardwareSpec& links = layout.hardware.spec;
  if (key == "/recompute/mode") return recompute_word(layout, knob);
  if (key == "/schedule/microbatches") return fmt::format("{}", layout.microbatches);
  if (key == "/memory/capacity_bytes") return text_of(layout.memory.capacity_bytes);
  if (key == "/hardware/bandwidth_bytes_per_s") return text_of(links.bandwidth_bytes_per_s);
  if (key == "/schedule/name" && layout.rule != nullptr) return std::string(layout.rule->name);
  if (key == "/chance/jitter" && layout.chance.samples.empty()) {
    return fmt::format("{}", layout.chance.jitter);
  }
  if (key == "/parallel/chunks") {
    return fmt::format("{}", chunks_of(layout) * layout.placement.chains().size());
  }
  // A link that states its bandwidth alone has no latency.
  const bool one_link = key == "/hardware/latency_us" && links.bandwidth_bytes_per_s.has_value();
  return one_link ? fmt::format("{}", links.latency_us.value_or(0)) : std::optional<std::string>();
}

bool knob_applies(const Scenario& scenario, const Knob& knob) {
  if (knob.of_stage()) return numbered_stages(scenario) > 0;
  if (knob.pointer.starts_with("/hardware/")) return has_plain_links(scenario);
  const bool of_order =
      knob.pointer.starts_with("/schedule/") || knob.pointer == "/parallel/chunks";
  return !(of_order && value_at(scenario, "/schedule/file"));
}

std::optional<double> knob_number(const Knob& knob, const std::string& value) {
  if (value.empty()) return std::nullopt;
  try {
    if (const auto kind = measure_of_key(knob.pointer)) return quantity_of(value, *kind);
    std::size_t read = 0;
    const double number = std::stod(value, &read);
    return read == value.size() ? std::optional(number) : std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const std::logic_error&) {  // of `stod`
    return std::nullopt;
  }
}

std::string knob_text(const Knob& knob, double number) {
  if (const auto kind = measure_of_key(knob.pointer)) return quantity_text(number, *kind);
  return fmt::format("{:.6g}", number);
}

std::vector<std::string> settings_for(const Scenario& scenario, const Knob& knob,
                                      const std::string& value, std::uint32_t stage) {
  if (!knob.of_stage()) return {fmt::format("{}={}", knob.pointer, value)};
  const std::optional<double> factor = knob_number(knob, value);
  if (!factor || !std::isfinite(*factor)) {
    throw InputError(
        fmt::format("{}: \"{}\" is not a number, for example 1.5", knob.slider().label, value));
  }
  std::vector<std::string> settings;
  for (const Field& field : fields_of(Layer{}).fields) {
    if (measure_of_key(field.key) != QuantityKind::microseconds) continue;
    const std::string pointer = fmt::format("/model/stages/{}/{}", stage, field.key);
    const auto now = value_at(scenario, pointer);
    if (!now) continue;
    const double time_us = quantity_of(*now, QuantityKind::microseconds);
    settings.push_back(fmt::format("{}={}", pointer, time_us * *factor));
  }
  return settings;
}

std::vector<std::string> with_schedule_of(const Layout& layout, const Scenario& scenario,
                                          std::vector<std::string> settings) {
  constexpr std::string_view section = "/schedule/";
  const bool states_any = std::any_of(settings.begin(), settings.end(), [](const auto& setting) {
    return setting.starts_with(section);
  });
  if (!states_any || value_at(scenario, "/schedule")) return settings;
  for (const Knob& knob : knobs()) {
    const auto value = value_in_force(layout, knob);
    if (!value || !knob.pointer.starts_with(section)) continue;
    settings.insert(settings.begin(), fmt::format("{}={}", knob.pointer, *value));
  }
  return settings;
}

double knob_at(const Knob& knob, double position) {
  const auto& [label, low, high] = knob.slider();
  const double share = std::clamp(position, 0.0, 1.0);
  const double value =
      knob.slider().logarithmic() ? low * std::pow(high / low, share) : low + (high - low) * share;
  if (knob.field->takes.only_whole()) return std::round(value);
  // Three significant digits: what a hand can mean.
  if (value == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::fabs(value))) - 2);
  return std::round(value / unit) * unit;
}

double position_of(const Knob& knob, double value) {
  const auto& [label, low, high] = knob.slider();
  if (knob.slider().is_choice()) return 0;
  const double clamped = std::clamp(value, low, high);
  return knob.slider().logarithmic() ? std::log(clamped / low) / std::log(high / low)
                                     : (clamped - low) / (high - low);
}

}  // namespace penstock
