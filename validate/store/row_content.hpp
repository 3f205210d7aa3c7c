#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/store/profile_row.hpp"

namespace penstock {

/// How far rows may go.
struct RowLimits {
  static constexpr std::size_t samples = 1'000'000;
  static constexpr std::size_t text_bytes = 4096;  // of any of its texts
  static constexpr std::size_t facts = 256;        // of its environment
};

/// What about a row no measurement can say: a kernel without a name, control characters, no samples
/// or some below zero, a day that no calendar has. Nothing: it is in order.
std::optional<std::string> row_fault(const ProfileRow& row);

/// The facts of an environment, a line each, and back. Nothing for a text that is none.
std::string facts_text(const std::map<std::string, std::string>& facts);
std::optional<std::map<std::string, std::string>> facts_of(std::string_view text);

/// Samples as little-endian doubles, and back. Nothing for bytes that are none.
std::vector<std::byte> samples_bytes(std::span<const double> samples);
std::optional<std::vector<double>> samples_of(std::span<const std::byte> bytes);

/// A number that every byte of a row has a part in.
std::int64_t row_checksum(const ProfileRow& row);

}  // namespace penstock
