#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// The content of a .gz file. Equal contents give equal files: no time is written into them.
std::string gzip(std::string_view content);

/// What a .gz file holds, its members one after the other. Throws InputError for a file that is cut
/// off or damaged, and for more than `max_bytes`.
std::string gunzip(std::string_view file, std::uint64_t max_bytes);

}  // namespace penstock
