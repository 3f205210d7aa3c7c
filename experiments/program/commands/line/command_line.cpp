#include "experiments/program/commands/line/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/shipped.hpp"
#include "experiments/program/commands/line/budget_options.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "sim/base/error.hpp"

namespace penstock {

CommandLine::CommandLine(CLI::App& app)
    : app_(app),
      values_(std::make_shared<ArgumentValues>()),
      subcommands_(std::make_shared<std::vector<CommandLine>>()) {}

CommandLine CommandLine::input() const {
  CommandLine line = *this;
  line.names_inputs_ = true;
  return line;
}

CLI::Option& CommandLine::add(CLI::Option* option) const {
  const auto is_named = [](const std::string& path) {
    return path.empty() ? "it is empty; name a file, or - for standard input" : std::string();
  };
  if (!names_inputs_) return *option;
  option->transform(input_path)->check(is_named);
  static const std::map<std::string, std::string> shipped{
      {"SCENARIO", "scenarios"}, {"SWEEP", "scenarios"}, {"RUN", "scenarios"}, {"A", "scenarios"},
      {"B", "scenarios"},        {"MODEL", "models"},    {"PAPER", "papers"}};
  const auto folder = shipped.find(option->get_name());
  if (folder == shipped.end()) return *option;
  values_->suggest[folder->first] = [name = folder->second](std::string_view typed) {
    return shipped_names(name, std::string(typed));
  };
  return *option;
}

template <class Value>
Value& CommandLine::keep(Value value) {
  auto kept = std::make_shared<Value>(std::move(value));
  values_->given.push_back(kept);
  return *kept;
}

const std::string& CommandLine::required(const std::string& name, const std::string& help,
                                         Suggest suggest) {
  const std::string& value = optional(name, help, std::move(suggest));
  app_.get_option(name)->required();
  return value;
}

const std::string& CommandLine::optional(const std::string& name, const std::string& help,
                                         Suggest suggest) {
  return option(name, help, "", std::move(suggest));
}

const std::vector<std::string>& CommandLine::required_list(const std::string& name,
                                                           const std::string& help) {
  const auto& values = optional_list(name, help);
  app_.get_option(name)->required();
  return values;
}

const std::vector<std::string>& CommandLine::optional_list(const std::string& name,
                                                           const std::string& help) {
  auto& values = keep<std::vector<std::string>>();
  add(app_.add_option(name, values, help)).type_name("");
  return values;
}

const std::string& CommandLine::option(const std::string& name, const std::string& help,
                                       const std::string& placeholder, Suggest suggest,
                                       const std::string& otherwise) {
  std::string& value = keep(otherwise);
  const CLI::Option* option = add(app_.add_option(name, value, help)).type_name(placeholder);
  if (suggest) values_->suggest[option->get_name()] = std::move(suggest);
  return value;
}

const std::string& CommandLine::folder(const std::string& name, const std::string& help) {
  const auto is_folder = [](const std::string& path) {
    return path == "-" ? "several files cannot go to standard output; give a folder"
                       : std::string();
  };
  const std::string& value = option(name, help, "FOLDER");
  app_.get_option(name.substr(name.rfind(',') + 1))->check(is_folder);
  return value;
}

const std::optional<std::uint32_t>& CommandLine::number(const std::string& name,
                                                        const std::string& help) {
  const auto is_whole = [](const std::string& text) {
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    if (digits && text.size() <= 9) return std::string();
    return fmt::format("\"{}\" is not a whole number below 1e9", text);
  };
  auto& value = keep<std::optional<std::uint32_t>>();
  app_.add_option(name, value, help)->check(is_whole)->type_name("N");
  return value;
}

const std::vector<std::string>& CommandLine::list(const std::string& name, const std::string& help,
                                                  const std::string& placeholder, Suggest suggest) {
  const auto& values = optional_list(name, help);
  CLI::Option* option = app_.get_option(name.substr(name.rfind(',') + 1));
  option->type_name(placeholder)
      ->expected(1)
      ->take_all()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (suggest) values_->suggest[option->get_name()] = std::move(suggest);
  return values;
}

CLI::Option& CommandLine::add_words(const std::string& name, std::string& value,
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
  CLI::Option* option = app_.add_option(name, value, help)->check(is_known);
  values_->words[option->get_name()] = words;
  return *option->type_name(all.size() <= 30 ? all : "NAME");
}

const std::string& CommandLine::choice(const std::string& name,
                                       const std::vector<std::string>& words,
                                       const std::string& help, const std::string& otherwise) {
  std::string& value = keep(otherwise);
  add_words(name, value, words, help);
  return value;
}

const std::string& CommandLine::required_choice(const std::string& name,
                                                const std::vector<std::string>& words,
                                                const std::string& help,
                                                const std::map<std::string, std::string>& meant) {
  auto& value = keep<std::string>();
  add_words(name, value, words, help, meant).required();
  return value;
}

const bool& CommandLine::flag(const std::string& name, const std::string& help) {
  bool& value = keep(false);
  app_.add_flag(name, value, help);
  return value;
}

const std::string& CommandLine::scenario() {
  return input().required("SCENARIO", "scenario file (JSON), - for standard input");
}

const std::vector<std::string>& CommandLine::settings(const std::string& help) {
  return list("--set", help, "/POINTER=VALUE", suggested_settings);
}

const bool& CommandLine::json(const std::string& help) { return flag("--json", help); }

const Existing& CommandLine::replaces() {
  Existing& replaced = keep(Existing::own);
  app_.add_flag_callback(
      "--force", [&replaced] { replaced = Existing::any; },
      "overwrite outputs that Penstock did not write");
  return replaced;
}

Heading CommandLine::group(const std::string& heading) {
  app_.option_defaults()->group(heading);
  return {};
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
  if (option.get_group() != budget_heading) info.group = option.get_group();
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
                   .example = app_.get_footer()};
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

double number_of(const std::string& option, const std::string& text) {
  if (const auto number = plain_number(text)) return *number;
  throw UsageError(fmt::format("{}: \"{}\" is no number", option, text));
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
