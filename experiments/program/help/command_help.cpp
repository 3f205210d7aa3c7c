#include "experiments/program/help/command_help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "experiments/program/help/markdown.hpp"

namespace penstock {
namespace {

constexpr std::size_t widest_head = 26;

bool is_option(const ArgumentInfo& argument) { return !argument.names.empty(); }

/// A name and what it means, in two columns.
std::string entry_text(const std::string& head, const std::string& text, std::size_t width) {
  const std::size_t column = width + 4;
  const std::string begin = head.size() <= width ? fmt::format("  {:<{}}  ", head, width)
                                                 : fmt::format("  {}\n{:{}}", head, "", column);
  return begin + wrapped(text, column) + "\n";
}

/// The columns that the heads of a command's arguments take, but for very long ones.
std::size_t width_of(const CommandHelp& help) {
  std::size_t width = 0;
  for (const ArgumentInfo& argument : help.arguments) {
    const std::size_t size = head_of(argument).size();
    if (size <= widest_head) width = std::max(width, size);
  }
  return width;
}

std::string text_of(const ArgumentInfo& argument) {
  if (argument.words.empty() || argument.placeholder.find('|') != std::string::npos) {
    return argument.help;
  }
  return fmt::format("{}: {}", argument.help, fmt::join(argument.words, ", "));
}

std::string positionals_text(const CommandHelp& help, std::size_t width) {
  std::string text;
  for (const ArgumentInfo& argument : help.arguments) {
    if (!is_option(argument)) text += entry_text(head_of(argument), text_of(argument), width);
  }
  return text.empty() ? text : "\n" + text;
}

std::string group_text(const CommandHelp& help, const std::string& group, std::size_t width) {
  std::string text = fmt::format("\n{}:\n", group);
  for (const ArgumentInfo& argument : help.arguments) {
    if (!is_option(argument) || argument.group != group) continue;
    text += entry_text(head_of(argument), text_of(argument), width);
  }
  return text;
}

std::string subcommands_text(const CommandHelp& help) {
  if (help.subcommands.empty()) return "";
  std::string text = "\nSubcommands:\n";
  std::size_t width = 0;
  const auto last_word = [](const std::string& name) { return name.substr(name.rfind(' ') + 1); };
  for (const CommandHelp& sub : help.subcommands) {
    width = std::max(width, last_word(sub.name).size());
  }
  for (const CommandHelp& sub : help.subcommands) {
    text += entry_text(last_word(sub.name), sub.summary, width);
  }
  return text;
}

/// The summary as a sentence: summaries in lists begin with a lower-case letter.
std::string sentence(std::string summary) {
  if (!summary.empty()) summary[0] = static_cast<char>(std::toupper(summary[0]));
  return summary + ".";
}

/// The headings of the options in the order of their first option.
std::vector<std::string> groups_of(const CommandHelp& help) {
  std::vector<std::string> groups;
  for (const ArgumentInfo& argument : help.arguments) {
    if (!is_option(argument) || argument.group.empty()) continue;
    if (std::ranges::find(groups, argument.group) == groups.end()) {
      groups.push_back(argument.group);
    }
  }
  return groups;
}

}  // namespace

std::string usage_of(const CommandHelp& help) {
  std::string usage = help.name;
  if (!groups_of(help).empty()) usage += " [OPTIONS]";
  for (const ArgumentInfo& argument : help.arguments) {
    if (is_option(argument)) continue;
    const std::string name = argument.placeholder + (argument.repeats ? "..." : "");
    usage += argument.required ? " " + name : fmt::format(" [{}]", name);
  }
  return help.subcommands.empty() ? usage : usage + " SUBCOMMAND";
}

std::string head_of(const ArgumentInfo& argument) {
  if (!is_option(argument)) return argument.placeholder + (argument.repeats ? "..." : "");
  std::string head = fmt::format("{}", fmt::join(argument.names, ", "));
  return argument.takes_value ? head + " " + argument.placeholder : head;
}

std::string help_text(const CommandHelp& help) {
  const std::size_t width = width_of(help);
  std::string text = fmt::format("{}\n\nUsage: {}\n", sentence(help.summary), usage_of(help));
  text += positionals_text(help, width);
  for (const std::string& group : groups_of(help)) text += group_text(help, group, width);
  text += subcommands_text(help);
  if (!help.example.empty()) {
    text += fmt::format("\nExample:\n  {}\n", help.example);
  }
  return text;
}

}  // namespace penstock
