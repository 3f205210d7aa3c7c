#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

class Schema;

/// Kind of quantity, and the unit of a number that states none.
enum class QuantityKind : std::uint8_t {
  bytes,
  megabytes,
  bytes_per_s,
  nanoseconds,
  microseconds,
  milliseconds,
  seconds
};

/// A number with a unit, "64MB", "1 GiB", "2us", "25GB/s" or "400Gb/s" (bits), converted to the
/// unit of its kind, a size to whole bytes. A number without a unit is returned unchanged. Throws
/// InputError that lists the units.
double quantity_of(std::string_view text, QuantityKind measure);

/// The number that a text stands for under a key of a document: "2GB/s" has one. Empty for a text
/// without a unit, which documents refuse, and for a word. Throws InputError for a wrong unit.
std::optional<double> quantity_in(std::string_view text, QuantityKind measure);

/// The same of a JSON text, which may be a plain number; without a kind only that.
std::optional<double> quantity_in_json(std::string_view json_text,
                                       std::optional<QuantityKind> measure);

/// A quantity above 0 of an option, "--timeout". Throws UsageError that names it.
double positive_quantity(std::string_view option, std::string_view text, QuantityKind measure);
/// The same; nothing for an empty text.
std::optional<double> quantity_if_given(std::string_view option, std::string_view text,
                                        QuantityKind measure);

/// A number in the unit of its kind, for a person: with the unit that leaves at least 1 of it,
/// "10GB/s", "2µs"; a size in GB or in GiB, whichever is shorter.
std::string quantity_text(double value, QuantityKind measure);
/// The unit of a number that states none: "B", "µs".
std::string_view unit_of(QuantityKind measure);
/// The suffix of its keys: `_bytes`.
std::string_view suffix_of(QuantityKind measure);

/// The kind of quantity of a key, by its suffix: `_bytes`, `_mb`, `_bytes_per_s`, `_ns`, `_us`,
/// `_ms`, `_s`.
std::optional<QuantityKind> measure_of_key(std::string_view key);

/// Converts every text under a key with such a suffix to a number, then checks the document. Throws
/// InputError: the schema's, or where a text that the schema refuses has a wrong unit, that.
void take_quantities(nlohmann::json& document, const Schema& schema);

}  // namespace penstock
