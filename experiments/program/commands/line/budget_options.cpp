#include "experiments/program/commands/line/budget_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>

#include "experiments/input/files/named_files.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::array all_options{
    BudgetOption{"max-memory", "BYTES", "refuse work that needs more, 2GB; default 80 % of free",
                 &BudgetOptions::memory},
    BudgetOption{"timeout", "SECONDS", "end when this time has passed", &BudgetOptions::seconds},
    BudgetOption{"confine", "DIR", "read no file outside DIR that an input names",
                 &BudgetOptions::folder}};

/// Of the process, as its limits are.
BudgetOptions& own_options() {
  static BudgetOptions options;
  return options;
}

}  // namespace

std::span<const BudgetOption> budget_options() { return all_options; }

void add_budget_options(CLI::App& command, BudgetOptions& options) {
  for (const BudgetOption& one : budget_options()) {
    command.add_option(fmt::format("--{}", one.name), options.*one.value, one.help)
        ->type_name(one.placeholder)
        ->group(std::string(budget_heading));
  }
}

void keep_to(const BudgetOptions& options, const std::vector<std::string>& words) {
  own_options() = options;
  set_budget(options.memory.empty() ? usual_budget()
                                    : given_budget(positive_quantity("--max-memory", options.memory,
                                                                     QuantityKind::bytes)));
  if (!options.folder.empty()) confine_named_files(options.folder);
  if (options.seconds.empty()) return;
  const double seconds = positive_quantity("--timeout", options.seconds, QuantityKind::seconds);
  if (seconds > 1e8) throw UsageError("--timeout is above 1e8 seconds");
  end_after(seconds, fmt::format("{}: not finished after {:g} s; give more --timeout, or less work",
                                 fmt::join(words, " "), seconds));
}

std::vector<std::string> handed_over_bounds() {
  forget_end_after();
  std::vector<std::string> words;
  for (const BudgetOption& one : budget_options()) {
    const std::string& value = own_options().*one.value;
    if (!value.empty()) words.push_back(fmt::format("--{}={}", one.name, value));
  }
  return words;
}

}  // namespace penstock
