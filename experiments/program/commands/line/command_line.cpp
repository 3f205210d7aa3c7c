#include "experiments/program/commands/line/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "sim/base/error.hpp"

namespace penstock {

CommandLine::CommandLine(CLI::App& app)
    : app_(app),
      values_(std::make_shared<KnownValues>()),
      subcommands_(std::make_shared<std::vector<CommandLine>>()) {}

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

void CommandLine::optional(const std::string& name, std::vector<std::string>& values,
                           const std::string& help) {
  app_.add_option(name, values, help)->type_name("");
}

void CommandLine::option(const std::string& name, std::string& value, const std::string& help,
                         const std::string& placeholder) {
  app_.add_option(name, value, help)->type_name(placeholder);
}

void CommandLine::option(const std::string& name, std::optional<std::uint32_t>& value,
                         const std::string& help) {
  const auto is_whole = [](const std::string& text) {
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    if (digits && text.size() <= 9) return std::string();
    return fmt::format("\"{}\" is not a whole number below 1e9", text);
  };
  app_.add_option(name, value, help)->check(is_whole)->type_name("N");
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
  declare_choice(name, value, words, help, {});
}

void CommandLine::declare_choice(const std::string& name, std::string& value,
                                 const std::vector<std::string>& words, const std::string& help,
                                 const std::map<std::string, std::string>& meant) {
  // CLI11's own IsMember would repeat the values after the type name.
  const auto is_known = [words, meant](const std::string& word) {
    if (std::ranges::find(words, word) != words.end()) return std::string();
    const auto other = meant.find(word);
    if (other == meant.end()) return unknown_text(fmt::format("\"{}\"", word), word, words);
    return fmt::format("unknown \"{}\"; did you mean \"{}\"? known: {}", word, other->second,
                       fmt::join(words, ", "));
  };
  const std::string all = fmt::format("{}", fmt::join(words, "|"));
  app_.add_option(name, value, help)->check(is_known)->type_name(all.size() <= 30 ? all : "NAME");
  values_->words[key_of(name)] = words;
}

void CommandLine::required_choice(const std::string& name, std::string& value,
                                  const std::vector<std::string>& words, const std::string& help,
                                  const std::map<std::string, std::string>& meant) {
  declare_choice(name, value, words, help, meant);
  app_.get_option(name)->required();
}

void CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  app_.add_flag(name, value, help);
}

void CommandLine::scenario(std::string& file, std::vector<std::string>& settings) {
  required("SCENARIO", file, "scenario file (JSON), - for standard input");
  this->settings(settings);
}

void CommandLine::settings(std::vector<std::string>& settings, const std::string& help) {
  option("--set", settings, help, "/POINTER=VALUE");
  suggest("--set", suggested_settings);
}

void CommandLine::json(bool& json, const std::string& help) { flag("--json", json, help); }

void CommandLine::replaces(Existing& replaced) {
  app_.add_flag_callback(
      "--force", [&replaced] { replaced = Existing::any; },
      "overwrite outputs that Penstock did not write");
}

void CommandLine::group(const std::string& heading) { app_.option_defaults()->group(heading); }

void CommandLine::suggest(const std::string& name, Suggest words) {
  values_->suggest[key_of(name)] = std::move(words);
}

/// The key of an argument; it may be declared as "-o,--output".
std::string CommandLine::key_of(const std::string& name) const {
  return app_.get_option(name.substr(name.rfind(',') + 1))->get_name();
}

CommandLine CommandLine::subcommand(const std::string& name, const std::string& summary,
                                    const std::string& example) {
  CLI::App* command = app_.add_subcommand(name, summary);
  command->footer(example);
  app_.require_subcommand(1);
  CommandLine line(*command);
  subcommands_->push_back(line);
  line.answer_help("penstock " + app_.get_name());
  return line;
}

bool CommandLine::is_given() const { return app_.parsed(); }

ArgumentInfo CommandLine::argument(const CLI::Option& option) const {
  ArgumentInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  info.takes_value = option.get_items_expected_min() > 0;
  info.placeholder = option.get_positional() ? option.get_name() : option.get_type_name();
  info.help = option.get_description();
  info.group = option.get_group();
  info.required = option.get_required();
  info.repeats = option.get_positional() && option.get_expected_max() > 1;
  const auto words = values_->words.find(option.get_name());
  if (words != values_->words.end()) info.words = words->second;
  const auto suggest = values_->suggest.find(option.get_name());
  if (suggest != values_->suggest.end()) info.suggest = suggest->second;
  return info;
}

CommandHelp CommandLine::help(const std::string& path) const {
  CommandHelp help{.name = path + " " + app_.get_name(),
                   .summary = app_.get_description(),
                   .example = app_.get_footer(),
                   .arguments = {},
                   .subcommands = {}};
  const CLI::Option* asks_for_help = app_.get_help_ptr();
  for (const CLI::Option* option : app_.get_options()) {
    if (option != asks_for_help) help.arguments.push_back(argument(*option));
  }
  if (asks_for_help != nullptr) help.arguments.push_back(argument(*asks_for_help));
  for (const CommandLine& sub : *subcommands_) help.subcommands.push_back(sub.help(help.name));
  return help;
}

void CommandLine::answer_help(const std::string& path) {
  app_.set_help_flag("-h,--help", "print this help")->group("Options");
  app_.formatter_fn([line = *this, path](const CLI::App*, const std::string&, CLI::AppFormatMode) {
    return help_text(line.help(path));
  });
}

std::uint32_t within(const char* option, std::optional<std::uint32_t> value, std::uint32_t limit) {
  if (!value) throw UsageError(fmt::format("{} is missing", option));
  if (*value == 0 || *value > limit) {
    throw UsageError(fmt::format("{} is {}: expected 1 to {}", option, *value, limit));
  }
  return *value;
}

std::optional<std::uint32_t> within_if_given(const char* option, std::optional<std::uint32_t> value,
                                             std::uint32_t limit) {
  return value ? std::optional(within(option, value, limit)) : std::nullopt;
}

}  // namespace penstock
