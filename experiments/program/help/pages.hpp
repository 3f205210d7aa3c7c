#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "experiments/program/help/command_help.hpp"

namespace penstock {

/// A page of experiments/guides: what `penstock help` prints and what man pages are made of.
struct HelpPage {
  std::string_view name;  // of the file, without .md
  std::string_view text;  // Markdown
};

/// One page a question, by name; and one of all keys of a scenario.
std::span<const HelpPage> guides();
/// Those of them that are files.
std::span<const HelpPage> guide_files();

/// One page a subcommand, by name.
std::span<const HelpPage> command_pages();

/// The page of that name among `pages`.
std::optional<HelpPage> find_page(std::span<const HelpPage> pages, std::string_view name);

/// The text of the first heading.
std::string title_of(const HelpPage& page);

/// The man page, section 1, of a command: its options as --help knows them, then its page.
std::string man_page(const CommandHelp& help, const HelpPage& page);

/// The man page, section 7, of a guide.
std::string man_page(const HelpPage& guide);

}  // namespace penstock
