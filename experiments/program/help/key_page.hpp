#pragma once

#include <string_view>

namespace penstock {

/// The page "scenario": every key of a scenario, what it takes and what it means. Markdown.
std::string_view scenario_page();

}  // namespace penstock
