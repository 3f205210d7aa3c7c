#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// Seconds since 1970 of "2026-11-21T18:40:00Z"; nothing for another form or an invalid date.
std::optional<std::int64_t> utc_seconds(std::string_view text);

/// The text of such seconds, years 0 to 9999.
std::string utc_text(std::int64_t seconds);

}  // namespace penstock
