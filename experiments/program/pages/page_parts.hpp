#pragma once

#include <string_view>

namespace penstock {

/// The style of a page, for light and dark screens.
extern const std::string_view page_style;
/// Its script: sorts and filters the table, opens rows.
extern const std::string_view page_script;

}  // namespace penstock
