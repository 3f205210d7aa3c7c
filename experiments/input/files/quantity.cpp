#include "experiments/input/files/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

struct Unit {
  std::string_view name;
  double size;         // in bytes, bytes per second or picoseconds
  bool shown = false;  // by `quantity_text`; these ascend, those of powers of 1024 by themselves

  bool binary() const { return name.find('i') == 1; }
};

constexpr std::array byte_units{Unit{"B", 1, true},
                                Unit{"kB", 1e3, true},
                                Unit{"KB", 1e3},
                                Unit{"MB", 1e6, true},
                                Unit{"GB", 1e9, true},
                                Unit{"TB", 1e12, true},
                                Unit{"PB", 1e15},
                                Unit{"KiB", 1024.0, true},
                                Unit{"MiB", 1048576.0, true},
                                Unit{"GiB", 1073741824.0, true},
                                Unit{"TiB", 1099511627776.0, true},
                                Unit{"PiB", 1125899906842624.0}};
constexpr std::array rate_units{
    Unit{"B/s", 1, true},           Unit{"kB/s", 1e3, true},  Unit{"KB/s", 1e3},
    Unit{"MB/s", 1e6, true},        Unit{"GB/s", 1e9, true},  Unit{"TB/s", 1e12, true},
    Unit{"KiB/s", 1024.0},          Unit{"MiB/s", 1048576.0}, Unit{"GiB/s", 1073741824.0},
    Unit{"TiB/s", 1099511627776.0}, Unit{"b/s", 0.125},       Unit{"kb/s", 1e3 / 8},
    Unit{"Mb/s", 1e6 / 8},          Unit{"Gb/s", 1e9 / 8},    Unit{"Tb/s", 1e12 / 8},
    Unit{"kbit/s", 1e3 / 8},        Unit{"Mbit/s", 1e6 / 8},  Unit{"Gbit/s", 1e9 / 8},
    Unit{"Tbit/s", 1e12 / 8}};
constexpr std::array time_units{Unit{"ps", 1},         Unit{"ns", 1e3, true}, Unit{"us", 1e6},
                                Unit{"µs", 1e6, true}, Unit{"ms", 1e9, true}, Unit{"s", 1e12, true},
                                Unit{"min", 6e13},     Unit{"h", 3.6e15}};

/// How numbers of a kind of quantity are read.
struct Reading {
  std::string_view what;  // "a size"
  std::string_view suffix;
  double plain;  // unit of a plain number, as `Unit::size`
  std::span<const Unit> units;
};

/// By kind of quantity.
constexpr std::array<Reading, 7> readings{{{"a size", "_bytes", 1, byte_units},
                                           {"a size", "_mb", 1e6, byte_units},
                                           {"a bandwidth", "_bytes_per_s", 1, rate_units},
                                           {"a time", "_ns", 1e3, time_units},
                                           {"a time", "_us", 1e6, time_units},
                                           {"a time", "_ms", 1e9, time_units},
                                           {"a time", "_s", 1e12, time_units}}};

const Reading& reading_of(QuantityKind measure) {
  return readings[static_cast<std::size_t>(measure)];
}

/// A ratio of two units is a whole number or the inverse of one. Multiplying or dividing by that
/// whole number keeps decimals exact.
double converted(double value, double from, double to) {
  return from >= to ? value * (from / to) : value / (to / from);
}

/// The length of the number at the start of a text.
std::size_t number_length(std::string_view text) {
  const auto is_part = [&](std::size_t i) {
    if (is_digit(text[i]) || text[i] == '.') return true;
    if (text[i] == '-' || text[i] == '+') return i == 0 || text[i - 1] == 'e' || text[i - 1] == 'E';
    // "1e3s" has an exponent, "2EB" has none.
    const bool exponent = (text[i] == 'e' || text[i] == 'E') && i > 0 && i + 1 < text.size();
    return exponent && (is_digit(text[i + 1]) || text[i + 1] == '-' || text[i + 1] == '+');
  };
  std::size_t length = 0;
  while (length < text.size() && is_part(length)) ++length;
  return length;
}

struct SpelledUnit {
  std::string_view word;  // the beginning, in small letters
  std::string_view name;
};
constexpr std::array spelled_units{
    SpelledUnit{"kilobyte", "kB"},  SpelledUnit{"megabyte", "MB"},  SpelledUnit{"gigabyte", "GB"},
    SpelledUnit{"terabyte", "TB"},  SpelledUnit{"kibibyte", "KiB"}, SpelledUnit{"mebibyte", "MiB"},
    SpelledUnit{"gibibyte", "GiB"}, SpelledUnit{"tebibyte", "TiB"}, SpelledUnit{"byte", "B"},
    SpelledUnit{"picosec", "ps"},   SpelledUnit{"nanosec", "ns"},   SpelledUnit{"microsec", "us"},
    SpelledUnit{"millisec", "ms"},  SpelledUnit{"sec", "s"},        SpelledUnit{"minute", "min"},
    SpelledUnit{"hour", "h"},       SpelledUnit{"kilobit", "kb/s"}, SpelledUnit{"megabit", "Mb/s"},
    SpelledUnit{"gigabit", "Gb/s"}, SpelledUnit{"terabit", "Tb/s"}};

/// "Gbps", "gbps" and "Gb/sec" as "Gb/s", "GBps" as "GB/s".
std::string per_second(std::string_view name) {
  std::string unit(name);
  if (unit.ends_with("/sec")) unit.resize(unit.size() - 2);
  if (!unit.ends_with("bps") && !unit.ends_with("Bps")) return unit;
  unit.replace(unit.size() - 2, 2, "/s");
  constexpr std::string_view small = "mgtK", usual = "MGTk";
  const std::size_t prefix = small.find(unit.front());
  if (unit.size() == 4 && prefix != std::string_view::npos) unit.front() = usual[prefix];
  return unit;
}

/// The unit of this kind of quantity that a misspelt one most likely means.
const Unit* meant_unit(std::string_view name, std::span<const Unit> units) {
  const std::string exact = per_second(name);
  for (const Unit& unit : units) {
    if (unit.name == exact) return &unit;
  }
  const std::string small = in_small_letters(exact);
  for (const Unit& unit : units) {
    if (in_small_letters(unit.name) == small) return &unit;
  }
  for (const SpelledUnit& spelled : spelled_units) {
    if (!small.starts_with(spelled.word)) continue;
    const auto unit = std::ranges::find(units, spelled.name, &Unit::name);
    return unit == units.end() ? nullptr : &*unit;
  }
  return nullptr;
}

[[noreturn]] void refuse(std::string_view text, const Reading& reading) {
  const std::size_t length = number_length(text);
  const Unit* meant = meant_unit(trimmed(text.substr(length)), reading.units);
  if (meant != nullptr && plain_number(text.substr(0, length))) {
    throw InputError(fmt::format("\"{}\" is not {}; did you mean \"{}{}\"?", shortened(text),
                                 reading.what, text.substr(0, length), meant->name));
  }
  throw InputError(fmt::format("\"{}\" is not {}: give a number with one of the units {}",
                               shortened(text), reading.what, joined(reading.units, &Unit::name)));
}

/// A number with the unit that leaves at least 1 of it, of those of powers of 1024 or the others.
std::string shown_in(double value, const Reading& reading, bool binary) {
  const Unit* best = nullptr;
  for (const Unit& unit : reading.units) {
    const bool fits = unit.size <= std::fabs(value) * reading.plain;
    if (unit.shown && unit.binary() == binary && (best == nullptr || fits)) best = &unit;
  }
  return fmt::format("{:.6g}{}", converted(value, reading.plain, best->size), best->name);
}

using Errors = std::vector<InputError>;

void convert_below(json& value, const json::json_pointer& place, Errors& wrong);

/// Converts one value of an object or list.
void convert_item(json& item, std::string_view key, const json::json_pointer& place,
                  Errors& wrong) {
  const auto measure = item.is_string() ? measure_of_key(key) : std::nullopt;
  if (!measure) return convert_below(item, place, wrong);
  const std::string text = item;
  if (plain_number(text)) return;
  try {
    item = quantity_of(text, *measure);
  } catch (const InputError& error) {
    wrong.emplace_back(place.to_string(), error.what());
  }
}

void convert_below(json& value, const json::json_pointer& place, Errors& wrong) {
  if (value.is_object()) {
    for (auto& [key, item] : value.items()) convert_item(item, key, place / key, wrong);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_structured()) convert_below(value[i], place / i, wrong);
    }
  }
}

}  // namespace

double quantity_of(std::string_view text, QuantityKind measure) {
  const Reading& reading = reading_of(measure);
  const std::size_t length = number_length(text);
  const auto number = plain_number(text.substr(0, length));
  if (!number) refuse(text, reading);
  std::string_view name = trimmed(text.substr(length));
  if (name.empty()) return *number;
  if (name == "μs") name = "µs";  // with the Greek letter
  const auto unit = std::ranges::find(reading.units, name, &Unit::name);
  if (unit == reading.units.end()) refuse(text, reading);
  const double value = converted(*number, unit->size, reading.plain);
  return measure == QuantityKind::bytes ? std::round(value) : value;
}

std::optional<double> quantity_in(std::string_view text, QuantityKind measure) {
  const bool begins_as_number = text.find_first_of("+-.0123456789") == 0;
  if (!begins_as_number || plain_number(text)) return std::nullopt;
  return quantity_of(text, measure);
}

std::optional<double> quantity_in_json(std::string_view json_text,
                                       std::optional<QuantityKind> measure) {
  if (const auto plain = plain_number(json_text)) return plain;
  if (!measure || !json_text.starts_with('"')) return std::nullopt;
  const bool escapes = json_text.find('\\') != std::string_view::npos;
  if (escapes) return quantity_in(parse_json(json_text).get<std::string>(), *measure);
  return quantity_in(json_text.substr(1, json_text.size() - 2), *measure);
}

double positive_quantity(std::string_view option, std::string_view text, QuantityKind measure) {
  double value = 0;
  try {
    value = quantity_of(text, measure);
  } catch (const InputError& error) {
    throw UsageError(fmt::format("{}: {}", option, error.what()));
  }
  if (value > 0 && value <= 1e18) return value;
  throw UsageError(fmt::format("{} is {}: expected a number above 0, at most 1e18", option, text));
}

std::optional<double> quantity_if_given(std::string_view option, std::string_view text,
                                        QuantityKind measure) {
  if (text.empty()) return std::nullopt;
  return positive_quantity(option, text, measure);
}

std::string quantity_text(double value, QuantityKind measure) {
  if (value == 0) return "0";
  const Reading& reading = reading_of(measure);
  const std::string plain = shown_in(value, reading, false);
  if (measure != QuantityKind::bytes) return plain;
  const std::string binary = shown_in(value, reading, true);
  return binary.size() <= plain.size() ? binary : plain;
}

std::string_view unit_of(QuantityKind measure) {
  const Reading& reading = reading_of(measure);
  return std::ranges::find_if(
             reading.units,
             [&](const Unit& unit) { return unit.shown && unit.size == reading.plain; })
      ->name;
}

std::string_view suffix_of(QuantityKind measure) { return reading_of(measure).suffix; }

std::optional<QuantityKind> measure_of_key(std::string_view key) {
  // Only byte rates have units; "samples_per_s" is a plain number.
  const bool other_rate = key.ends_with("_per_s") && !key.ends_with("_bytes_per_s");
  if (other_rate) return std::nullopt;
  const auto found = std::ranges::find_if(readings, [&](const Reading& reading) {
    return key.ends_with(reading.suffix) && key.size() > reading.suffix.size();
  });
  if (found == readings.end()) return std::nullopt;
  return QuantityKind{static_cast<std::uint8_t>(found - readings.begin())};
}

void take_quantities(json& document, const Schema& schema) {
  Errors wrong;
  convert_below(document, json::json_pointer(), wrong);
  if (wrong.empty()) return schema.check(document);
  json marked = document;  // only a key that takes any text takes this one
  for (const InputError& error : wrong) marked[json::json_pointer(error.where())] = "?";
  try {
    schema.check(marked);
  } catch (const InputError& error) {
    const auto same = std::ranges::find(wrong, error.where(), &InputError::where);
    throw same == wrong.end() || is_of_unknown_key(error) ? error : *same;
  }
}

}  // namespace penstock
