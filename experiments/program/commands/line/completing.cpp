#include "experiments/program/commands/line/completing.hpp"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

const CommandHelp* find_command(const std::vector<CommandHelp>& commands, const std::string& name) {
  const auto found = std::ranges::find_if(
      commands, [&](const CommandHelp& command) { return last_word(command.name) == name; });
  return found == commands.end() ? nullptr : &*found;
}

void add_commands(const std::vector<CommandHelp>& commands, std::vector<Completion>& all) {
  for (const CommandHelp& command : commands) {
    all.push_back({last_word(command.name), command.summary});
  }
}

/// The values of an argument.
void add_values(const ArgumentInfo& argument, const std::string& typed,
                std::vector<Completion>& all) {
  for (const std::string& word : argument.words) all.push_back({word, ""});
  if (!argument.suggest) return;
  for (std::string& word : argument.suggest(typed)) all.push_back({std::move(word), ""});
}

/// The option of this name if it takes a value, else nullptr.
const ArgumentInfo* option_with_value(const CommandHelp& command, const std::string& name) {
  for (const ArgumentInfo& argument : command.arguments) {
    const auto& names = argument.names;
    const bool is_it = std::ranges::find(names, name) != names.end();
    if (is_it && argument.takes_value) return &argument;
  }
  return nullptr;
}

/// "--set=/sch": the values of the option, behind its name.
void add_values_behind(const ArgumentInfo& option, const std::string& typed, std::size_t equals,
                       std::vector<Completion>& all) {
  std::vector<Completion> values;
  add_values(option, typed.substr(equals + 1), values);
  for (Completion& value : values) {
    all.push_back({typed.substr(0, equals + 1) + value.text, std::move(value.help)});
  }
}

void add_arguments(const CommandHelp& command, const std::string& typed,
                   std::vector<Completion>& all) {
  add_commands(command.subcommands, all);
  for (const ArgumentInfo& argument : command.arguments) {
    if (argument.names.empty()) add_values(argument, typed, all);
    // Options are offered only after a dash: without one, files may fit as well.
    if (!typed.starts_with('-')) continue;
    for (const std::string& name : argument.names) all.push_back({name, argument.help});
  }
}

std::vector<Completion> that_fit(std::vector<Completion> all, const std::string& typed) {
  std::erase_if(all, [&](const Completion& one) { return !one.text.starts_with(typed); });
  return all;
}

}  // namespace

std::vector<Completion> completions_for(const std::vector<std::string>& words,
                                        const std::vector<CommandHelp>& commands) {
  std::vector<Completion> all;
  const std::string typed = words.empty() ? "" : words.back();
  if (words.size() < 2) {
    add_commands(commands, all);
    for (const char* option : {"--help", "--version"}) all.push_back({option, ""});
    return that_fit(std::move(all), typed);
  }
  const CommandHelp* command = find_command(commands, words.front());
  if (command == nullptr) return {};
  if (words.size() > 2) {
    if (const CommandHelp* sub = find_command(command->subcommands, words[1])) command = sub;
  }
  const std::size_t equals = typed.starts_with("--") ? typed.find('=') : std::string::npos;
  if (const ArgumentInfo* option = option_with_value(*command, words[words.size() - 2])) {
    add_values(*option, typed, all);
  } else if (equals != std::string::npos) {
    const ArgumentInfo* named = option_with_value(*command, typed.substr(0, equals));
    if (named != nullptr) add_values_behind(*named, typed, equals, all);
  } else {
    add_arguments(*command, typed, all);
  }
  return that_fit(std::move(all), typed);
}

}  // namespace penstock
