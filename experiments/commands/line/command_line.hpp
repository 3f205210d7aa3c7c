#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/help/command_help.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace penstock {

/// The values that completion offers for what is typed so far.
using Suggest = std::function<std::vector<std::string>(std::string_view typed)>;

/// The arguments of one subcommand. Each call binds a name to the variable that receives its value;
/// the variable must outlive the parse. Names have the form "--json" or "-o,--output".
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app);

  void required(const std::string& name, std::string& value, const std::string& help);
  /// One or more.
  void required(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void optional(const std::string& name, std::string& value, const std::string& help);
  /// Zero or more.
  void optional(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void option(const std::string& name, std::string& value, const std::string& help,
              const std::string& placeholder);
  void option(const std::string& name, std::optional<std::uint32_t>& value,
              const std::string& help);
  /// May be given several times.
  void option(const std::string& name, std::vector<std::string>& values, const std::string& help,
              const std::string& placeholder);
  /// One of these words.
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
              const std::string& help);
  void required_choice(const std::string& name, std::string& value,
                       const std::vector<std::string>& words, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);

  /// Options declared after this call are listed under this heading.
  void group(const std::string& heading);
  /// Values that shell completion offers for an option or positional; other values are accepted
  /// too.
  void suggest(const std::string& name, Suggest words);

  /// The arguments of a nested subcommand. If a command has any, one must be given.
  CommandLine subcommand(const std::string& name, const std::string& summary,
                         const std::string& example);
  /// Whether this subcommand was given.
  bool is_given() const;

  /// The command for help and completion. `path` is the command line up to its name.
  CommandHelp help(const std::string& path) const;
  /// Makes --help print `help(path)`.
  void answer_help(const std::string& path);

 private:
  /// Known values of arguments, by argument name.
  struct Values {
    std::map<std::string, std::vector<std::string>> words;
    std::map<std::string, Suggest> suggest;
  };

  std::string key_of(const std::string& name) const;
  ArgumentInfo argument(const CLI::Option& option) const;

  CLI::App& app_;
  // Shared by copies, which represent the same command.
  std::shared_ptr<Values> values_;
  std::shared_ptr<std::vector<CommandLine>> subcommands_;
};

}  // namespace penstock
