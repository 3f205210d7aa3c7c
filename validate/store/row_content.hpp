#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock {

/// Limits of a row.
struct RowLimits {
  static constexpr std::size_t samples = 1'000'000;
  static constexpr std::size_t text_bytes = 4096;  // of any text
  static constexpr std::size_t facts = 256;        // of its environment
};

/// Why a row cannot be a measurement: a kernel without a name, control characters, no samples,
/// negative samples, an invalid date. Nothing: it is valid.
std::optional<std::string> row_fault(const ProfileRow& row);

/// The facts of an environment as text, one per line, and back. Nothing for any other text.
std::string facts_text(const std::map<std::string, std::string>& facts);
std::optional<std::map<std::string, std::string>> facts_of(std::string_view text);

/// Samples as little-endian doubles, and back. Nothing for invalid bytes.
std::vector<std::byte> samples_bytes(std::span<const double> samples);
std::optional<std::vector<double>> samples_of(std::span<const std::byte> bytes);

/// A checksum over all of a row.
std::int64_t row_checksum(const ProfileRow& row);

/// Seconds since 1970 of "2026-11-21T18:40:00Z"; nothing for another form or an invalid date.
std::optional<std::int64_t> utc_seconds(std::string_view text);

/// The text of such seconds, years 0 to 9999.
std::string utc_text(std::int64_t seconds);

}  // namespace penstock
