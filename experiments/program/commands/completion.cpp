#include <algorithm>
#include <utility>

#include "experiments/program/commands/registry.hpp"

namespace penstock::completion_file {
namespace {

/// A candidate for the word being typed.
struct Completion {
  std::string text;
  std::string help;  // one line; may be empty
};

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

const CommandHelp* find_command(const std::vector<CommandHelp>& commands, const std::string& name) {
  const auto found =
      std::find_if(commands.begin(), commands.end(),
                   [&](const CommandHelp& command) { return last_word(command.name) == name; });
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
    const bool is_it = std::find(names.begin(), names.end(), name) != names.end();
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

/// The candidates for the last of the words typed after "penstock"; it may be empty or incomplete.
/// None if only file names fit.
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

// Each script asks the program for candidates, and offers files if there are none.

constexpr const char* bash_script = R"(_penstock() {
  local typed=${COMP_LINE:0:COMP_POINT} words candidate
  read -ra words <<<"$typed"
  [[ $typed == *[[:space:]] ]] && words+=('')
  local word=${words[-1]} cut=
  # Bash splits words at "=" and expects only what comes behind it.
  [[ $COMP_WORDBREAKS == *=* && $word == *=* ]] && cut=${word%"${word##*=}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    COMPREPLY+=("${candidate#"$cut"}")
  done < <(penstock completion bash -- "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "${word#"$cut"}"))
  elif [[ ${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace
  fi
}
complete -F _penstock penstock
)";

constexpr const char* zsh_script = R"(#compdef penstock
_penstock() {
  local -a names shown
  local line
  for line in "${(@f)$(penstock completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    names+=("${line%%$'\t'*}")
    shown+=("${line//$'\t'/  }")
  done
  if (( ${#names} )); then
    local -a end=()
    [[ ${names[1]} == *= ]] && end=(-S '')
    compadd "${end[@]}" -l -d shown -a names
  else
    _files
  fi
}
# Loaded as a function when the first completion is asked for, or by a command of the user.
if [[ ${funcstack[1]} == _penstock ]]; then _penstock "$@"; else compdef _penstock penstock; fi
)";

constexpr const char* fish_script =
    "complete -c penstock -e\n"
    "complete -c penstock -a '(penstock completion fish -- (commandline -opc)[2..-1] "
    "(commandline -ct) 2>/dev/null)'\n";

struct Options : Arguments {
  Text shell = line.required_choice("SHELL", {"bash", "fish", "zsh"}, "the shell");
  Texts words = line.optional_list(
      "WORD", "behind --: words typed so far; print what can stand for the last one");
};

int complete(const Options& options) {
  if (options.words.empty()) {
    show(options.shell == "bash" ? bash_script : options.shell == "zsh" ? zsh_script : fish_script);
    return ExitCode::done;
  }
  std::vector<CommandHelp> commands;
  for (const CommandEntry* entry : command_entries()) commands.push_back(help_of(*entry));
  for (const Completion& completion : completions_for(options.words, commands)) {
    show(fmt::format("{}\t{}\n", completion.text, completion.help));
  }
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry completion_entry{
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .group = CommandGroup::help,
    .example = "source <(penstock completion bash)",
    .declare = command<Options, complete>,
};

}  // namespace penstock::completion_file
