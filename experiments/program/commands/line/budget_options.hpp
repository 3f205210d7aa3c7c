#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace penstock {

/// Options of every command, which bound what it may use.
struct BudgetOptions {
  std::string memory;   // --max-memory
  std::string seconds;  // --timeout
  std::string folder;   // --confine
};

/// One of them, for whoever parses command lines.
struct BudgetOption {
  const char* name;  // without dashes
  const char* placeholder;
  const char* help;
  std::string BudgetOptions::*value;
};
std::span<const BudgetOption> budget_options();

/// Their heading. --help leaves them out: they are the same for every command.
inline constexpr std::string_view budget_heading = "Bounds";

/// Declares them for a command; their help has a place of its own.
void add_budget_options(CLI::App& command, BudgetOptions& options);

/// Bounds this process from now on. `words`: the command line, for what is said when time is over.
/// Throws UsageError for wrong values.
void keep_to(const BudgetOptions& options, const std::vector<std::string>& words);

/// These bounds as arguments of another program, which this one becomes. The time is that program's
/// from then on.
std::vector<std::string> handed_over_bounds();

}  // namespace penstock
