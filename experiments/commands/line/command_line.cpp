#include "experiments/commands/line/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace penstock {

void CommandLine::required(const std::string& name, std::string& value, const std::string& help) {
  app_.add_option(name, value, help)->required()->type_name("");
}

void CommandLine::required(const std::string& name, std::vector<std::string>& values,
                           const std::string& help) {
  app_.add_option(name, values, help)->required()->type_name("");
}

void CommandLine::optional(const std::string& name, std::string& value, const std::string& help) {
  app_.add_option(name, value, help)->type_name("");
}

void CommandLine::option(const std::string& name, std::string& value, const std::string& help,
                         const std::string& placeholder) {
  app_.add_option(name, value, help)->type_name(placeholder);
}

void CommandLine::option(const std::string& name, std::optional<std::uint32_t>& value,
                         const std::string& help) {
  app_.add_option(name, value, help)->type_name("N");
}

void CommandLine::option(const std::string& name, std::vector<std::string>& values,
                         const std::string& help, const std::string& placeholder) {
  app_.add_option(name, values, help)
      ->type_name(placeholder)
      ->expected(1)
      ->take_all()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void CommandLine::choice(const std::string& name, std::string& value,
                         const std::vector<std::string>& words, const std::string& help) {
  // CLI11's own IsMember would put its set behind the type name a second time.
  const auto is_known = [words](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
    return fmt::format("unknown \"{}\"; known: {}", word, fmt::join(words, ", "));
  };
  app_.add_option(name, value, help)
      ->check(is_known)
      ->type_name(fmt::format("{}", fmt::join(words, "|")));
}

void CommandLine::required_choice(const std::string& name, std::string& value,
                                  const std::vector<std::string>& words, const std::string& help) {
  choice(name, value, words, help);
  app_.get_option(name)->required();
}

void CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help);
}

CommandLine CommandLine::subcommand(const std::string& name, const std::string& summary,
                                    const std::string& details) {
  CLI::App* command = app_.add_subcommand(name, summary);
  command->footer(details);
  app_.require_subcommand(1);
  return CommandLine(*command);
}

bool CommandLine::is_given() const { return app_.parsed(); }

}  // namespace penstock
