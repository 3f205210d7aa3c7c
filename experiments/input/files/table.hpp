#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/time.hpp"

namespace penstock {

/// Up to four significant digits below 1000, a whole number above. An exponent only for extreme
/// values.
std::string number_text(double value);
std::string time_text(Time time, TimeUnit unit);
/// Four significant digits, for tables: "38.4", "0.3375", "12345"; never an exponent.
std::string short_time_text(Time time, TimeUnit unit);
/// "12.5 %", and "+12.5 %" of a difference; never "-0.0 %".
std::string percent_text(double share);
std::string signed_percent_text(double share);
/// "1 rank", "2 ranks"; without `many`, the plural is `one` and an s.
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});
/// "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

/// A table whose first row is the header. Columns are right-aligned, except for those in `left`.
std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<std::size_t>& left = {});

/// A table with one row per rank. `cells` returns the cells after the rank's number. Of hundreds of
/// ranks, those in the middle are left out.
std::string table_of_ranks(std::size_t ranks, std::vector<std::string> heads,
                           const std::function<std::vector<std::string>(std::size_t rank)>& cells);

}  // namespace penstock
