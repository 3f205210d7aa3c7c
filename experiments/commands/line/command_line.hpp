#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace penstock {

/// The arguments of one subcommand: each call ties a name to the variable that receives it, which
/// must outlive the parse. Names read "--json" or "-o,--output".
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(app) {}

  void required(const std::string& name, std::string& value, const std::string& help);
  /// One or more.
  void required(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void optional(const std::string& name, std::string& value, const std::string& help);
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
  void required_choice(const std::string& name, std::string& value,
                       const std::vector<std::string>& words, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);

  /// The arguments of one of its own subcommands; one of those must then be given.
  CommandLine subcommand(const std::string& name, const std::string& summary,
                         const std::string& details);
  /// Whether this is the subcommand that was given.
  bool is_given() const;

 private:
  CLI::App& app_;
};

}  // namespace penstock
