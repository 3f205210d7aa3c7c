#pragma once

#include <optional>
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

/// Their heading. --help leaves them out: they are the same for every command.
inline constexpr std::string_view budget_heading = "Bounds";

/// Declares them for a command; their help has a place of its own.
void add_budget_options(CLI::App& command, BudgetOptions& options);

/// Bounds this process from now on. `words`: the command line, for what is said when time is over.
/// Throws UsageError for wrong values.
void keep_to(const BudgetOptions& options, const std::vector<std::string>& words);

}  // namespace penstock
