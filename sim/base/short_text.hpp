#pragma once

#include <cstdint>
#include <string>

#include "sim/base/time.hpp"
#include "sim/base/time_sum.hpp"

namespace penstock {

/// Four significant digits, for tables: "38.4", "0.3375", "12345"; never an exponent.
std::string short_time_text(TimeSum time, TimeUnit unit);
/// The same in the unit that suits it: "38.4 ms".
std::string short_time_text(TimeSum time);
/// "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace penstock
