#include "experiments/program/pages/run_page.hpp"

#include <fmt/format.h>

#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/program/pages/row_detail.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {
namespace {

constexpr double gibibyte_of_page = 1073741824.0;

PageCell number_cell(double value) { return {number_text(value), fmt::format("{}", value)}; }

}  // namespace

ResultPage run_page(const Scenario& scenario, const RunResult& result) {
  PageDetail detail = detail_of_run(scenario, result);
  ResultPage page{.title = result.title,
                  .summary = run_summary(result) + numbered_notes(result),
                  .notes = {},
                  .figures = std::move(detail.figures),
                  .texts = std::move(detail.texts),
                  .table_heading = "Ranks",
                  .columns = {{"rank", "rank", true},
                              {"busy, ms", "time in actions", true},
                              {"idle, ms", "makespan without busy", true},
                              {"idle, %", "of the makespan", true},
                              {"peak memory, GiB", "largest memory", true},
                              {"actions", "actions", true}},
                  .rows = {},
                  .detail = {}};
  const double makespan_ms = to_us(result.report->makespan) / 1000;
  for (const RankReport& rank : result.report->ranks) {
    const double idle_ms = to_us(rank.idle) / 1000;
    page.rows.push_back({{std::to_string(page.rows.size())},
                         number_cell(to_us(rank.busy) / 1000),
                         number_cell(idle_ms),
                         number_cell(makespan_ms > 0 ? 100 * idle_ms / makespan_ms : 0),
                         number_cell(static_cast<double>(rank.memory.bytes) / gibibyte_of_page),
                         {std::to_string(rank.actions)}});
  }
  return page;
}

}  // namespace penstock
