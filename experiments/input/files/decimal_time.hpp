#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

/// Nanoseconds of a decimal number of microseconds, "123.456" or "1.5e3". Exact: no double in
/// between. Fractions of a nanosecond are rounded, half away from zero. Empty for text that is no
/// number and for more than `most_ns`.
std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds, std::int64_t most_ns);

}  // namespace penstock
