#include "experiments/input/files/plain_text.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/program/help/markdown.hpp"
#include "experiments/program/help/pages.hpp"
#include "sim/base/named.hpp"

namespace penstock::help_file {
namespace {

/// The blocks of a page behind its title and the line under it.
std::string_view body_of(const HelpPage& page) {
  const std::size_t end = page.text.find("\n\n");
  return end == std::string_view::npos ? std::string_view() : page.text.substr(end + 2);
}

std::string guide_list() {
  std::string text = "Guides\n";
  for (const HelpPage& guide : guides()) {
    text += fmt::format("  {:<13} {}\n", guide.name, title_of(guide));
  }
  return text;
}

std::vector<std::string> topics() {
  std::vector<std::string> names = words_of(command_entries());
  for (const HelpPage& guide : guides()) {
    if (find_named(command_entries(), guide.name) == nullptr) names.emplace_back(guide.name);
  }
  return names;
}

HelpPage page_of(const CommandEntry& entry) {
  const auto page = find_page(command_pages(), entry.name);
  return page ? *page : HelpPage{entry.name, ""};
}

/// A command, a guide, or both.
std::string topic_text(const std::string& topic) {
  std::string text;
  if (const CommandEntry* entry = find_named(command_entries(), topic)) {
    const std::string body = page_text(body_of(page_of(*entry)));
    text = help_text(help_of(*entry)) + (body.empty() ? "" : "\n" + body);
  }
  if (const auto guide = find_page(guides(), topic)) {
    text += (text.empty() ? "" : "\n") + page_text(guide->text);
  }
  if (!text.empty()) return text;
  throw UsageError(unknown_text(fmt::format("topic \"{}\"", topic), topic, topics()));
}

/// What the man page of the program says beside its commands and guides.
constexpr std::string_view program_page = R"(# penstock

Simulates pipeline-parallel training: step time, bubble, utilisation and memory. `penstock COMMAND --help` lists the
options of a command, `penstock --version` prints the version.

## Exit status

- 0: done
- 1: found a problem, such as out of memory, a deadlock, or a difference over the tolerance
- 2: wrong usage
- 3: wrong input
- 4: not possible on this machine
- 130: interrupted; what was finished is kept

## Environment

- `PENSTOCK_DATA`: the folder of scenarios, models and papers that are found by name
- `PENSTOCK_HARDWARE`: folders, separated by colons, of further devices, links and machines
- `PENSTOCK_PYTHON`: the Python with PyTorch that runs orders for `torch_*` backends
- `PENSTOCK_NCCL`: the file of NCCL
- `PENSTOCK_PORT`, `PENSTOCK_TOKEN`: where the processes of a job meet, and what they show each other

## Files

- `share/penstock`, beside the folder of the program: scenarios, models, papers and guides
- `~/.local/share/penstock/hardware`: your own devices, links and machines; `XDG_DATA_HOME` moves it
)";

constexpr const char* see_program =
    ".SH SEE ALSO\n\\fBpenstock\\fR(1): exit status, environment, files\n";

CommandHelp program_help() {
  ArgumentInfo command, help, version;
  command.placeholder = "COMMAND";
  command.help = "one of those below";
  command.required = true;
  help.names = {"--help"};
  help.help = "list all commands";
  version.names = {"--version"};
  version.help = "print the version";
  return {.name = "penstock",
          .summary = "simulate pipeline-parallel training",
          .example = "",
          .arguments = {command, help, version},
          .subcommands = {}};
}

/// Every man page of the program, into a folder.
void write_man_pages(const std::string& folder, OutputSet& files) {
  std::string index = man_page(program_help(), HelpPage{"penstock", program_page});
  index += ".SH COMMANDS\n";
  for (const CommandEntry* entry : command_entries()) {
    const CommandHelp help = help_of(*entry);
    files.write(fmt::format("{}/penstock-{}.1", folder, entry->name),
                man_page(help, page_of(*entry)) + see_program);
    index += fmt::format(".TP\n\\fBpenstock\\-{}\\fR(1)\n{}\n", entry->name, entry->summary);
  }
  index += ".SH GUIDES\n";
  for (const HelpPage& guide : guides()) {
    files.write(fmt::format("{}/penstock-{}.7", folder, guide.name), man_page(guide));
    index += fmt::format(".TP\n\\fBpenstock\\-{}\\fR(7)\n{}\n", guide.name, title_of(guide));
  }
  files.write(folder + "/penstock.1", index);
  files.publish();
}

struct Options : Arguments {
  Text topic =
      line.optional("TOPIC", "a command or a guide", [](std::string_view) { return topics(); });
  Text man = line.folder("--man", "write all man pages into this folder");
  const Existing& replaced = line.replaces();
};

int show_help(const Options& options) {
  if (!options.man.empty()) {
    OutputSet files(options.replaced);
    files.make_folder(options.man);
    write_man_pages(options.man, files);
  } else if (options.topic.empty()) {
    show(fmt::format("{}\n{}", first_screen(), guide_list()));
  } else {
    show(topic_text(options.topic));
  }
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry help_entry{
    .name = "help",
    .summary = "print the page of a command, or a guide",
    .group = CommandGroup::help,
    .example = "penstock help run",
    .declare = command<Options, show_help>,
};

}  // namespace penstock::help_file
