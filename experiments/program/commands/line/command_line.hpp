#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/output_file.hpp"
#include "experiments/program/help/command_help.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace penstock {

/// Runs a parsed subcommand and returns the exit code.
using Runner = std::function<int()>;

/// The exit codes of the program.
struct ExitCode {
  static constexpr int done = 0;
  static constexpr int finding = 1;
  static constexpr int wrong_usage = 2;
  static constexpr int wrong_input = 3;
  static constexpr int machine_cannot = 4;
  static constexpr int interrupted = 130;
};

/// The values that completion offers for the beginning typed so far.
using Suggest = std::function<std::vector<std::string>(std::string_view typed)>;

/// The arguments of one subcommand: each call ties a name to the variable that receives it, which
/// must outlive the parse. Names read "--json" or "-o,--output".
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app);

  void required(const std::string& name, std::string& value, const std::string& help);
  /// One or more.
  void required(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void optional(const std::string& name, std::string& value, const std::string& help);
  /// None or more.
  void optional(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void option(const std::string& name, std::string& value, const std::string& help,
              const std::string& placeholder);
  void option(const std::string& name, std::optional<std::uint32_t>& value,
              const std::string& help);
  /// May be given several times.
  void option(const std::string& name, std::vector<std::string>& values, const std::string& help,
              const std::string& placeholder);
  /// One of a few words.
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
              const std::string& help);
  /// The same; `meant` says which word is meant by one that is not among them.
  void required_choice(const std::string& name, std::string& value,
                       const std::vector<std::string>& words, const std::string& help,
                       const std::map<std::string, std::string>& meant = {});
  void flag(const std::string& name, bool& value, const std::string& help);

  /// SCENARIO, and --set for it.
  void scenario(std::string& file, std::vector<std::string>& settings);
  /// --set.
  void settings(std::vector<std::string>& settings,
                const std::string& help = "change the scenario first");
  void json(bool& json, const std::string& help = "print it as JSON");
  /// --force: outputs may replace any file.
  void replaces(Existing& replaced);

  /// Options declared after this are listed under this heading.
  void group(const std::string& heading);
  /// KnownValues of an option or positional that shell completion offers; others are accepted as
  /// well.
  void suggest(const std::string& name, Suggest words);

  /// The arguments of one of its own subcommands; one of those must then be given.
  CommandLine subcommand(const std::string& name, const std::string& summary,
                         const std::string& example);
  /// Whether this is the subcommand that was given.
  bool is_given() const;

  /// What help and completion know of the command. `path` is the command line up to its name.
  CommandHelp help(const std::string& path) const;
  /// Makes --help print that.
  void answer_help(const std::string& path);

 private:
  /// What is known of the values of arguments, by their names.
  struct KnownValues {
    std::map<std::string, std::vector<std::string>> words;
    std::map<std::string, Suggest> suggest;
  };

  void declare_choice(const std::string& name, std::string& value,
                      const std::vector<std::string>& words, const std::string& help,
                      const std::map<std::string, std::string>& meant);
  std::string key_of(const std::string& name) const;
  ArgumentInfo argument(const CLI::Option& option) const;

  CLI::App& app_;
  // Shared by copies of this, which stand for the same command.
  std::shared_ptr<KnownValues> values_;
  std::shared_ptr<std::vector<CommandLine>> subcommands_;
};

/// A subcommand whose arguments are `Options`: `declare` binds them, `run` takes what was parsed.
template <class Options, void (*declare)(CommandLine& line, Options& options),
          int (*run)(const Options& options)>
Runner command(CommandLine& line) {
  auto options = std::make_shared<Options>();
  declare(line, *options);
  return [options] { return run(*options); };
}

/// The value of an option, which must be from 1 to `limit`; else throws UsageError.
std::uint32_t within(const char* option, std::optional<std::uint32_t> value, std::uint32_t limit);

/// The same for an option that may be missing.
std::optional<std::uint32_t> within_if_given(const char* option, std::optional<std::uint32_t> value,
                                             std::uint32_t limit = 1'000'000'000);

}  // namespace penstock
