#include <fmt/format.h>

#include <algorithm>

#include "experiments/commands/registry.hpp"
#include "schedules/registry.hpp"

namespace penstock {
namespace {

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string command_names() {
  std::vector<std::string> names;
  for (const CommandEntry* entry : command_entries()) names.emplace_back(entry->name);
  return joined(names);
}

/// The options of a subcommand, and the words that may stand where it takes a positional.
struct Offers {
  std::vector<std::string> options;
  std::vector<std::string> words;
};

Offers offers_of(const CommandEntry& entry) {
  Offers offers;
  for (const ArgumentInfo& argument : arguments_of(entry)) {
    if (argument.name.empty()) {
      offers.words.insert(offers.words.end(), argument.words.begin(), argument.words.end());
    } else {
      offers.options.push_back(argument.name);
    }
  }
  if (entry.name == "schedule") {
    for (const ScheduleEntry* schedule : schedule_entries()) {
      offers.words.emplace_back(schedule->name);
    }
  }
  return offers;
}

/// Options with a fixed set of values, as "option words" pairs.
std::vector<ArgumentInfo> choices_of(const CommandEntry& entry) {
  std::vector<ArgumentInfo> choices = arguments_of(entry);
  std::erase_if(choices, [](const ArgumentInfo& a) { return a.name.empty() || a.words.empty(); });
  return choices;
}

std::string bash() {
  std::string script = fmt::format(
      "_penstock() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local options= words=\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n",
      command_names());
  for (const CommandEntry* entry : command_entries()) {
    const Offers offers = offers_of(*entry);
    script += fmt::format("    {})\n      options='{}'\n      words='{}'\n      case $before in\n",
                          entry->name, joined(offers.options), joined(offers.words));
    for (const ArgumentInfo& choice : choices_of(*entry)) {
      script +=
          fmt::format("        {}) options='' words='{}' ;;\n", choice.name, joined(choice.words));
    }
    script += "      esac ;;\n";
  }
  return script +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$options $words\" -- \"$word\"))\n"
         "  [ -n \"$words\" ] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
         "}\n"
         "complete -o filenames -F _penstock penstock\n";
}

/// Help text inside single quotes and brackets of a zsh specification.
std::string zsh_quoted(std::string text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else if (c == '[' || c == ']' || c == ':') {
      quoted += fmt::format("\\{}", c);
    } else {
      quoted += c;
    }
  }
  return quoted;
}

std::string zsh_argument(const ArgumentInfo& argument, const Offers& offers) {
  const std::string& help = argument.help;
  if (argument.name.empty()) {
    return offers.words.empty()
               ? fmt::format("      ':{}:_files'", zsh_quoted(help))
               : fmt::format("      ':{}:({})'", zsh_quoted(help), joined(offers.words));
  }
  std::string text = fmt::format("      '*{}[{}]", argument.name, zsh_quoted(help));
  if (argument.takes_value) {
    text += argument.words.empty() ? ":value:_files"
                                   : fmt::format(":value:({})", joined(argument.words));
  }
  return text + "'";
}

std::string zsh() {
  std::string script = "#compdef penstock\n_penstock() {\n  local -a commands=(\n";
  for (const CommandEntry* entry : command_entries()) {
    script += fmt::format("    '{}:{}'\n", entry->name, zsh_quoted(std::string(entry->summary)));
  }
  script +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const CommandEntry* entry : command_entries()) {
    const Offers offers = offers_of(*entry);
    script += fmt::format("    {}) _arguments", entry->name);
    for (const ArgumentInfo& argument : arguments_of(*entry)) {
      script += " \\\n" + zsh_argument(argument, offers);
    }
    script += " ;;\n";
  }
  return script + "  esac\n}\n_penstock \"$@\"\n";
}

std::string fish_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

std::string fish() {
  std::string script;
  for (const CommandEntry* entry : command_entries()) {
    script += fmt::format("complete -c penstock -n __fish_use_subcommand -f -a {} -d '{}'\n",
                          entry->name, fish_quoted(std::string(entry->summary)));
    const std::string here = fmt::format("-n '__fish_seen_subcommand_from {}'", entry->name);
    for (const ArgumentInfo& argument : arguments_of(*entry)) {
      if (argument.name.empty()) continue;
      const bool is_long = argument.name.starts_with("--");
      script += fmt::format("complete -c penstock {} -{} {} -d '{}'", here, is_long ? "l" : "s",
                            argument.name.substr(is_long ? 2 : 1), fish_quoted(argument.help));
      if (argument.takes_value) script += " -r";
      if (!argument.words.empty()) script += fmt::format(" -f -a '{}'", joined(argument.words));
      script += '\n';
    }
    const Offers offers = offers_of(*entry);
    if (!offers.words.empty()) {
      script += fmt::format("complete -c penstock {} -f -a '{}'\n", here, joined(offers.words));
    }
  }
  return script;
}

Runner declare(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  line.required_choice("SHELL", *shell, {"bash", "fish", "zsh"}, "the shell");
  return [shell] {
    fmt::print("{}", *shell == "bash" ? bash() : *shell == "zsh" ? zsh() : fish());
    return ExitCode::done;
  };
}

}  // namespace

constinit extern const CommandEntry completion_entry{
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .details = "Example: source <(penstock completion bash)",
    .declare = declare,
};

}  // namespace penstock
