#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// A page of experiments/guides: what `penstock help` prints and what man pages are made of.
struct HelpPage {
  std::string_view name;  // of the file, without .md
  std::string_view text;  // Markdown
};

/// One page a question, by name.
std::span<const HelpPage> guides();

/// One page a subcommand, by name.
std::span<const HelpPage> command_pages();

/// The page of that name among `pages`.
std::optional<HelpPage> find_page(std::span<const HelpPage> pages, std::string_view name);

/// The text of the first heading.
std::string title_of(const HelpPage& page);

}  // namespace penstock
