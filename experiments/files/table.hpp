#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/time.hpp"

namespace penstock {

/// Six digits at most, without zeros at the end: enough to compare by eye.
std::string number_text(double value);
std::string time_text(Time time, TimeUnit unit);
/// Four significant digits, for tables: "38.4", "0.3375", "12345"; never an exponent.
std::string short_time_text(Time time, TimeUnit unit);
/// "12.5 %", and "+12.5 %" of a difference; never "-0.0 %".
std::string percent_text(double share);
std::string signed_percent_text(double share);
/// "1 rank", "2 ranks"; without `many` it ends in an s.
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});
/// "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

/// A table whose first row is the header. Columns are aligned to the right, except those that hold
/// text: the numbers of the columns to align to the left.
std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<std::size_t>& left = {});

/// A table with a row for each rank, of which `cells` gives what stands behind its number. Of
/// hundreds the middle is left out.
std::string table_of_ranks(std::size_t ranks, std::vector<std::string> heads,
                           const std::function<std::vector<std::string>(std::size_t rank)>& cells);

}  // namespace penstock
