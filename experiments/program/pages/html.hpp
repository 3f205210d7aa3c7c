#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

/// A text escaped for elements and quoted attributes of HTML. Invalid bytes and control characters
/// other than line ends become U+FFFD.
std::string html_text(std::string_view text);

/// An SVG file as an element of a page. `number` is its own in the page: names inside it get it.
std::string inline_svg(std::string_view svg, std::size_t number, std::string_view label);

}  // namespace penstock
