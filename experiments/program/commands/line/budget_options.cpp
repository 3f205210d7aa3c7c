#include "experiments/program/commands/line/budget_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>

#include "experiments/input/files/named_files.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

struct BudgetOption {
  const char* name;
  const char* placeholder;
  const char* help;
  std::string BudgetOptions::*value;
};
constexpr std::array budget_options{
    BudgetOption{"--max-memory", "BYTES", "refuse work that needs more, 2GB; default 80 % of free",
                 &BudgetOptions::memory},
    BudgetOption{"--timeout", "SECONDS", "end when this time has passed", &BudgetOptions::seconds},
    BudgetOption{"--confine", "DIR", "read no file outside DIR that an input names",
                 &BudgetOptions::folder}};

}  // namespace

void add_budget_options(CLI::App& command, BudgetOptions& options) {
  for (const BudgetOption& one : budget_options) {
    command.add_option(one.name, options.*one.value, one.help)
        ->type_name(one.placeholder)
        ->group(std::string(budget_heading));
  }
}

void keep_to(const BudgetOptions& options, const std::vector<std::string>& words) {
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

}  // namespace penstock
