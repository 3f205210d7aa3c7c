#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/program/commands/line/completing.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock {
namespace {

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
compdef _penstock penstock
)";

constexpr const char* fish_script =
    "complete -c penstock -e\n"
    "complete -c penstock -a '(penstock completion fish -- (commandline -opc)[2..-1] "
    "(commandline -ct) 2>/dev/null)'\n";

std::string script_of(const std::string& shell) {
  if (shell == "bash") return bash_script;
  return shell == "zsh" ? zsh_script : fish_script;
}

std::vector<CommandHelp> all_commands() {
  std::vector<CommandHelp> commands;
  for (const CommandEntry* entry : command_entries()) commands.push_back(help_of(*entry));
  return commands;
}

struct Options {
  std::string shell;
  std::vector<std::string> words;
};

int complete(const Options& options) {
  if (options.words.empty()) {
    show(script_of(options.shell));
    return ExitCode::done;
  }
  for (const Completion& completion : completions_for(options.words, all_commands())) {
    show(fmt::format("{}\t{}\n", completion.text, completion.help));
  }
  return ExitCode::done;
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.required_choice("SHELL", options->shell, {"bash", "fish", "zsh"}, "the shell");
  line.optional("WORD", options->words,
                "behind --: words typed so far; print what can stand for the last one");
  return [options] { return complete(*options); };
}

}  // namespace

constinit extern const CommandEntry completion_entry{
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .group = CommandGroup::help,
    .example = "source <(penstock completion bash)",
    .declare = declare,
};

}  // namespace penstock
