#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock {

// Bytes as text of 64 letters (RFC 4648): four letters for three bytes, and "=" to fill the last
// four.

std::string base64(std::string_view bytes);

/// The bytes of a text; nothing for a text that is none of base64.
std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace penstock
