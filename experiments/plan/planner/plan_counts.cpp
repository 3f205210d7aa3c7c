#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "experiments/plan/planner/plan_report.hpp"
#include "sim/base/time.hpp"

namespace penstock {

std::string counts_text(const LayoutPlan& plan) {
  const auto verb = [](std::uint64_t count, std::string_view one, std::string_view several) {
    return fmt::format("{} {}", count, count == 1 ? one : several);
  };
  std::uint64_t refused = 0, too_large = 0;
  for (const Exclusion& one : plan.refused) {
    refused += one.layouts;
    if (one.rule == too_large_to_simulate) too_large += one.layouts;
  }
  const std::string by_rules =
      refused == 0 ? "" : fmt::format(" {} refused (--why rules),", verb(refused, "is", "are"));
  const std::string others =
      plan.stopped ? verb(plan.slower, "was", "were") + " left when the time was up"
                   : verb(plan.slower, "has", "have") + " a bound above the listed times";
  const std::string beside =
      plan.beside == 0 ? ""
                       : fmt::format("; beside an encoder on devices of its own, {} of the others",
                                     counted(plan.beside, "layout"));
  return fmt::format(
      "judged {}:{} {} more memory than there is, {}, {} simulated ({} not fit, {} another under a "
      "second name){}{}",
      counted(plan.legal, "legal layout"), by_rules, verb(plan.without_memory, "needs", "need"),
      others, verb(plan.simulated, "was", "were"), verb(plan.too_large.size(), "does", "do"),
      verb(plan.repeated, "repeats", "repeat"), beside,
      too_large == 0
          ? ""
          : fmt::format("; {} would need more memory to simulate than --max-memory", too_large));
}

std::string others_text(const LayoutPlan& plan) {
  if (plan.slower_bound_us == 0) return "how much faster the others may be is not known";
  const Time fastest = plan.fastest_full.value_or(plan.best()->trial.makespan);
  const double gap = 1 - plan.slower_bound_us / to_us(fastest);
  return fmt::format(
      "none of the others is more than {} faster{}{}", percent_text(std::max(0.0, gap)),
      plan.fastest_full ? " with full microbatches" : "",
      plan.unplaced ? ", but for those with devices of its own for the encoder" : "");
}

std::string closest_text(const LayoutPlan& plan) {
  if (!plan.too_large.empty()) {
    const JudgedLayout& closest = plan.too_large.front();
    return fmt::format("the closest that was simulated needs {}: {}",
                       bytes_text(closest.trial.peak_bytes), text_of(closest.choice));
  }
  if (!plan.least) return "";
  const std::string bytes = bytes_text(static_cast<std::uint64_t>(plan.least->least_bytes));
  if (!plan.least->choice) return "no layout needs less than " + bytes;
  return fmt::format("the smallest needs at least {}: {}", bytes, text_of(*plan.least->choice));
}

std::string none_text(const LayoutPlan& plan) {
  if (plan.legal == 0) return fmt::format("no layout is legal: {}\n", plan.none_because);
  if (!plan.draws_refused.empty()) {
    return fmt::format("no layout runs with these documents: {}\n", plan.draws_refused);
  }
  if (plan.stopped) return "the search was stopped before it found a layout that fits\n";
  if (!lacks_memory(plan) && !plan.refused.empty()) {
    return fmt::format("no layout runs: {}\n", plan.refused.front().rule);
  }
  const std::string closest = closest_text(plan);
  return "no layout fits in memory\n" + (closest.empty() ? "" : closest + "\n");
}

}  // namespace penstock
