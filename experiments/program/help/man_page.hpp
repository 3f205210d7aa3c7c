#pragma once

#include <string>

#include "experiments/program/help/command_help.hpp"
#include "experiments/program/help/pages.hpp"

namespace penstock {

/// The man page, section 1, of a command: its options as --help knows them, then its page.
std::string man_page(const CommandHelp& help, const HelpPage& page);

/// The man page, section 7, of a guide.
std::string man_page(const HelpPage& guide);

}  // namespace penstock
