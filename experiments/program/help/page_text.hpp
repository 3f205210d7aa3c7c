#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

/// The width that help is printed in.
constexpr std::size_t help_columns = 80;

/// A page as text for a terminal, in lines of at most help_columns where words allow.
std::string page_text(std::string_view markdown);

/// `text` in lines of at most help_columns. Lines after the first begin with `indent` spaces; the
/// first is taken to begin at column `indent` already.
std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace penstock
