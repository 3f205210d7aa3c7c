#include "gui/models/change/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "experiments/input/files/quantity.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

struct ShownUnit {
  double size;  // in the unit of the key
  const char* name;
};
constexpr std::array byte_sizes{ShownUnit{1, "B"}, ShownUnit{1e3, "kB"}, ShownUnit{1e6, "MB"},
                                ShownUnit{1e9, "GB"}, ShownUnit{1e12, "TB"}};
constexpr std::array rate_sizes{ShownUnit{1, "B/s"}, ShownUnit{1e3, "kB/s"}, ShownUnit{1e6, "MB/s"},
                                ShownUnit{1e9, "GB/s"}, ShownUnit{1e12, "TB/s"}};
constexpr std::array microseconds{ShownUnit{1e-3, "ns"}, ShownUnit{1, "µs"}, ShownUnit{1e3, "ms"},
                                  ShownUnit{1e6, "s"}};

std::span<const ShownUnit> shown_units(const Knob& knob) {
  const auto kind = measure_of_key(knob.pointer);
  if (kind == QuantityKind::bytes) return byte_sizes;
  if (kind == QuantityKind::bytes_per_s) return rate_sizes;
  if (kind == QuantityKind::microseconds) return microseconds;
  return {};
}

bool is_choice(const Knob& knob) { return knob.low == knob.high; }

/// Whether the hardware takes its links from numbers of the scenario.
bool has_plain_links(const Scenario& scenario) {
  return value_at(scenario, "/hardware/name").value_or("") == "ideal" &&
         !value_at(scenario, "/hardware/transfer_us");
}

}  // namespace

const std::vector<Knob>& knobs() {
  static const std::vector<Knob> table{
      {"microbatches", "Microbatches", "", "/schedule/microbatches", 1, 4096, true, true},
      {"schedule", "Schedule", "", "/schedule/name", 0, 0, false, false, suggested_schedules("")},
      {"chunks", "Chunks per rank", "", "/parallel/chunks", 1, 8, true},
      {"stage", "Cost of stage ×", "", "", 0.25, 4, false, true},
      {"bandwidth", "Link bandwidth", "bytes/s", "/hardware/bandwidth_bytes_per_s", 1e8, 1e12,
       false, true},
      {"latency", "Link latency", "µs", "/hardware/latency_us", 0.1, 10000, false, true},
      {"recompute",
       "Recomputation",
       "",
       "/recompute/mode",
       0,
       0,
       false,
       false,
       {"none", "selective", "full", "except_last"}},
      {"capacity", "Memory capacity", "bytes", "/memory/capacity_bytes", 1e8, 1e12, true, true},
      {"jitter", "Jitter", "", "/chance/jitter", 0, 0.5},
  };
  return table;
}

std::uint32_t numbered_stages(const Scenario& scenario) {
  std::uint32_t stages = 0;
  while (value_at(scenario, fmt::format("/model/stages/{}", stages))) ++stages;
  return stages;
}

std::optional<std::string> knob_value(const Scenario& scenario, const Knob& knob) {
  if (knob.pointer.empty()) return "1";
  return value_at(scenario, std::string(knob.pointer));
}

bool knob_applies(const Scenario& scenario, const Knob& knob) {
  if (knob.id == "stage") return numbered_stages(scenario) > 0;
  if (knob.id == "bandwidth" || knob.id == "latency") return has_plain_links(scenario);
  const bool by_file = value_at(scenario, "/schedule/file").has_value();
  const bool of_order = knob.id == "schedule" || knob.id == "microbatches" || knob.id == "chunks";
  return !(by_file && of_order);
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
  const std::span<const ShownUnit> units = shown_units(knob);
  if (units.empty() || number == 0) return fmt::format("{:.6g}", number);
  const ShownUnit* best = &units.front();
  for (const ShownUnit& unit : units) {
    if (unit.size <= std::fabs(number)) best = &unit;
  }
  return fmt::format("{:.6g}{}", number / best->size, best->name);
}

std::vector<std::string> settings_for(const Scenario& scenario, const Knob& knob,
                                      const std::string& value, std::uint32_t stage) {
  if (knob.id != "stage") return {fmt::format("{}={}", knob.pointer, value)};
  const std::optional<double> factor = knob_number(knob, value);
  if (!factor || !std::isfinite(*factor)) {
    throw InputError(fmt::format("{}: \"{}\" is not a number, for example 1.5", knob.label, value));
  }
  std::vector<std::string> settings;
  for (const char* key :
       {"forward_us", "backward_us", "backward_input_us", "backward_weight_us", "recompute_us"}) {
    const std::string pointer = fmt::format("/model/stages/{}/{}", stage, key);
    const auto now = value_at(scenario, pointer);
    if (!now) continue;
    const double time_us = quantity_of(*now, QuantityKind::microseconds);
    settings.push_back(fmt::format("{}={}", pointer, time_us * *factor));
  }
  return settings;
}

double knob_at(const Knob& knob, double position) {
  const double share = std::clamp(position, 0.0, 1.0);
  const double value = knob.logarithmic ? knob.low * std::pow(knob.high / knob.low, share)
                                        : knob.low + (knob.high - knob.low) * share;
  if (knob.whole) return std::round(value);
  // Three significant digits: what a hand can mean.
  if (value == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::fabs(value))) - 2);
  return std::round(value / unit) * unit;
}

double position_of(const Knob& knob, double value) {
  if (is_choice(knob)) return 0;
  const double clamped = std::clamp(value, knob.low, knob.high);
  return knob.logarithmic ? std::log(clamped / knob.low) / std::log(knob.high / knob.low)
                          : (clamped - knob.low) / (knob.high - knob.low);
}

}  // namespace penstock
