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
};

/// The values that completion offers for the beginning typed so far.
using Suggest = std::function<std::vector<std::string>(std::string_view typed)>;

/// The heading of the options declared after it.
struct Heading {};

/// The arguments of one subcommand. Each call declares one and returns its value, which lives as
/// long as a copy of this. Names read "--json" or "-o,--output". `suggest` are values that shell
/// completion offers; others are accepted as well.
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app);

  /// The same, for arguments that name inputs: files that come with Penstock are found by name
  /// (`input_path`).
  CommandLine input() const;

  const std::string& required(const std::string& name, const std::string& help,
                              Suggest suggest = {});
  const std::string& optional(const std::string& name, const std::string& help,
                              Suggest suggest = {});
  /// One or more.
  const std::vector<std::string>& required_list(const std::string& name, const std::string& help);
  /// None or more.
  const std::vector<std::string>& optional_list(const std::string& name, const std::string& help);
  const std::string& option(const std::string& name, const std::string& help,
                            const std::string& placeholder, Suggest suggest = {},
                            const std::string& otherwise = {});
  /// A folder to write files to.
  const std::string& folder(const std::string& name, const std::string& help);
  const std::optional<std::uint32_t>& number(const std::string& name, const std::string& help);
  /// May be given several times.
  const std::vector<std::string>& list(const std::string& name, const std::string& help,
                                       const std::string& placeholder, Suggest suggest = {});
  /// One of a few words.
  const std::string& choice(const std::string& name, const std::vector<std::string>& words,
                            const std::string& help, const std::string& otherwise = {});
  /// The same; `meant` says which word is meant by one that is not among them.
  const std::string& required_choice(const std::string& name, const std::vector<std::string>& words,
                                     const std::string& help,
                                     const std::map<std::string, std::string>& meant = {});
  const bool& flag(const std::string& name, const std::string& help);

  /// SCENARIO.
  const std::string& scenario();
  /// --set.
  const std::vector<std::string>& settings(const std::string& help = "change the scenario first");
  const bool& json(const std::string& help = "print it as JSON");
  /// --force: outputs may replace any file.
  const Existing& replaces();
  Heading group(const std::string& heading);

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
  /// The values of arguments, and what is known of them by their names.
  struct ArgumentValues {
    std::vector<std::shared_ptr<void>> given;
    std::map<std::string, std::vector<std::string>> words;
    std::map<std::string, Suggest> suggest;
  };

  template <class Value>
  Value& keep(Value value = {});
  CLI::Option& add(CLI::Option* option) const;
  CLI::Option& add_words(const std::string& name, std::string& value,
                         const std::vector<std::string>& words, const std::string& help,
                         const std::map<std::string, std::string>& meant = {});
  ArgumentInfo argument(const CLI::Option& option) const;

  CLI::App& app_;
  bool names_inputs_ = false;  // its next arguments
  // Shared by copies of this, which stand for the same command.
  std::shared_ptr<ArgumentValues> values_;
  std::shared_ptr<std::vector<CommandLine>> subcommands_;
};

/// What the arguments of a command derive from: a member for each, in the order of its help.
struct Arguments {
  using Text = const std::string&;
  using Texts = const std::vector<std::string>&;
  using Number = const std::optional<std::uint32_t>&;
  using Flag = const bool&;

  CommandLine line;
};

/// A subcommand whose arguments are `Options`; `run` takes what was parsed.
template <class Options, int (*run)(const Options& options)>
Runner command(CommandLine& line) {
  const std::shared_ptr<const Options> options(new Options{{line}});
  return [options] { return run(*options); };
}

/// Where --json prints, as an output that takes no other.
inline std::string json_output(bool json) { return json ? "-" : ""; }

/// The number that an option got. Throws UsageError for a text that is none.
double number_of(const std::string& option, const std::string& text);

/// The value of an option, which must be from 1 to `limit`; else throws UsageError.
std::uint32_t within(const char* option, std::optional<std::uint32_t> value, std::uint32_t limit);

/// The same for an option that may be missing.
std::optional<std::uint32_t> within_if_given(const char* option, std::optional<std::uint32_t> value,
                                             std::uint32_t limit = 1'000'000'000);

}  // namespace penstock
