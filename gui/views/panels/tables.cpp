#include "gui/views/panels/tables.hpp"

#include <algorithm>
#include <optional>

#include "experiments/input/files/table.hpp"
#include "experiments/plan/sweeps/tables/table_plots.hpp"
#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/report/idle.hpp"

namespace penstock {
namespace {

constexpr int most_rows = 5000;

/// Whole numbers as they are, others with the digits that a person compares.
QString shown_number(const TableCell& cell) {
  const bool whole = cell.text.find_first_of(".e") == std::string::npos;
  return whole ? qt_text(cell.text) : QString::number(*cell.number(), 'g', 5);
}

double percent(Time part, Time whole) {
  if (whole == Time{}) return 0;
  return 100 * static_cast<double>(part.picoseconds) / static_cast<double>(whole.picoseconds);
}

std::vector<TableColumn> idle_columns() {
  std::vector<TableColumn> columns{{"rank"}, {"holds", false, true}, {"idle", true}, {"idle %"}};
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    columns.push_back({name(static_cast<IdleCause>(c)), true});
  }
  return columns;
}

std::size_t fill_idle(ListRows& rows, const ViewedRun& run) {
  const std::vector<RankSummary> facts = facts_of_ranks(run);
  const auto add = [&](const IdleCauses& causes, Time whole) {
    NumberedRow* const row = add_row(rows);
    row->set_time(2, causes.total());
    const double share = percent(causes.total(), whole);
    row->set(3, QString::number(share, 'f', 1), share);
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      row->set_time(static_cast<int>(c) + 4, time_of(causes, static_cast<IdleCause>(c)));
    }
    return row;
  };
  IdleCauses all;
  for (std::uint32_t r = 0; r < run.report.ranks.size(); ++r) {
    const RankReport& rank = run.report.ranks[r];
    all += rank.idle_by_cause;
    NumberedRow* const row = add(rank.idle_by_cause, run.report.makespan);
    row->set_count(0, r);
    row->set_rank(r);
    if (r < facts.size()) row->setText(1, qt_text(facts[r].holds));
  }
  const auto ranks = static_cast<std::int64_t>(run.report.ranks.size());
  add(all, Time{run.report.makespan.picoseconds * ranks})->set(0, "all", 1e9);
  return run.report.ranks.size() + 1;
}

/// What an op is, from a column on: kind, stage and microbatch.
void set_op(NumberedRow& row, const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  row.setText(0, qt_text(task_text(plan, task)));
  row.set_task(task);
  row.setText(1, qt_text(pass_name(work.pass)));
  row.set_count(2, index(work.stage));
  row.set_count(3, index(plan.microbatch[task]));
}

std::size_t fill_path(ListRows& rows, const ViewedRun& run) {
  for (const PathStep& step : run.report.critical_path) {
    if (rows.size() >= most_rows) break;
    NumberedRow* const row = add_row(rows);
    set_op(*row, run.plan, step.task);
    row->setText(4, qt_text(place_text(run.plan, run.plan.class_of(step.task).resource)));
    row->set_time(5, step.begin);
    row->set_time(6, step.end - step.begin);
    row->set_time(7, step.waits.total());
  }
  return run.report.critical_path.size();
}

std::size_t fill_memory(ListRows& rows, const ViewedRun& run) {
  for (std::uint32_t r = 0; r < run.report.ranks.size(); ++r) {
    const MemoryPeak& peak = run.report.ranks[r].memory;
    NumberedRow* const row = add_row(rows);
    row->set_count(0, r);
    row->set_rank(r);
    row->set_bytes(1, peak.bytes);
    row->set_time(2, peak.time);
    QStringList kinds;
    for (std::size_t k = 0; k < buffer_kinds; ++k) {
      if (peak.by_kind[k] == 0) continue;
      kinds << qt_text(name(static_cast<BufferKind>(k))) + " " +
                   qt_text(bytes_text(peak.by_kind[k]));
    }
    const bool judged = r < run.memory.size() && run.memory[r].word;
    row->setText(3, judged ? qt_text(text(*run.memory[r].word)) : QString());
    row->setText(4, kinds.join(", "));
    if (peak.task != no_task) row->set_task(peak.task);
  }
  return run.report.ranks.size();
}

std::size_t fill_links(ListRows& rows, const ViewedRun& run) {
  for (const LinkReport& link : run.report.links) {
    NumberedRow* const row = add_row(rows);
    row->setText(0, qt_text(text(link.link)));
    row->setText(1, qt_text(end_text(link.link.from)));
    row->setText(2, qt_text(end_text(link.link.to)));
    const auto at = std::find(run.plan.links.begin(), run.plan.links.end(), link.link);
    if (at != run.plan.links.end()) {
      row->set_link(static_cast<std::uint32_t>(at - run.plan.links.begin()));
    }
    const double use = percent(link.busy, run.report.makespan);
    row->set(3, QString::number(use, 'f', 1), use);
    row->set_time(4, link.busy);
    row->set_count(5, link.transfers);
    row->set_bytes(6, link.bytes);
  }
  return run.report.links.size();
}

}  // namespace

const std::vector<RunTable>& run_tables() {
  static const std::vector<RunTable> tables{
      {"Idle time", "Idle time by cause", idle_columns(), fill_idle},
      {"Critical path",
       "Critical path",
       {{"op"},
        {"kind", false, true},
        {"stage", false, true},
        {"microbatch", false, true},
        {"where", false, true},
        {"begin"},
        {"length", true},
        {"waits", true}},
       fill_path},
      {"Memory",
       "Memory by rank",
       {{"rank"}, {"peak"}, {"at"}, {"fit", false, true}, {"largest kinds"}},
       fill_memory},
      {"Links",
       "Links",
       {{"link"},
        {"from", false, true},
        {"to", false, true},
        {"use %"},
        {"busy", true},
        {"transfers", true},
        {"bytes", true}},
       fill_links}};
  return tables;
}

std::vector<TableColumn> op_columns() {
  return {{"op"},
          {"kind", false, true},
          {"stage", false, true},
          {"microbatch", false, true},
          {"begin"},
          {"end"},
          {"length", true}};
}

std::size_t fill_ops(ListRows& rows, const PaintedRun& run, std::uint32_t rank, std::int64_t from) {
  std::size_t all = 0;
  if (rank >= run.lanes->ranks.size()) return all;
  for (const Track& track : run.lanes->ranks[rank].compute) {
    const std::size_t first = track.first_ending_after(from);
    const std::size_t end = std::min(track.size(), first + static_cast<std::size_t>(most_rows));
    all += track.size() - first;
    for (std::size_t i = first; i < end; ++i) {
      NumberedRow* const row = add_row(rows);
      set_op(*row, run.run->plan, track.tag[i]);
      row->set_time(4, {track.begin_at(i)});
      row->set_time(5, {track.end_at(i)});
      row->set_time(6, {track.end_at(i) - track.begin_at(i)});
    }
  }
  return all;
}

std::vector<std::size_t> compared_columns(const RowTable& table) {
  std::vector<std::size_t> columns = table.varied();
  for (const char* result : {"makespan_us", "bubble.of_makespan", "throughput.samples_per_s",
                             "throughput.tokens_per_s", "peak_memory_bytes", "finding"}) {
    const auto at = std::find(table.columns.begin(), table.columns.end(), result);
    if (at != table.columns.end()) {
      columns.push_back(static_cast<std::size_t>(at - table.columns.begin()));
    }
  }
  return columns;
}

QString sweep_heading(const std::string& column) {
  return qt_text(quantity_of_column(column).label) + (is_fraction(column) ? ", %" : "");
}

double sweep_number(const std::string& column, double number) {
  return number * (is_fraction(column) ? 100 : quantity_of_column(column).factor);
}

std::vector<TableColumn> sweep_columns(const RowTable& rows) {
  std::vector<TableColumn> columns{{"row"}};
  const std::vector<std::size_t> varied = rows.varied();
  for (const std::size_t column : compared_columns(rows)) {
    const bool varies = std::find(varied.begin(), varied.end(), column) != varied.end();
    columns.push_back({sweep_heading(rows.columns[column]), false, varies});
  }
  return columns;
}

std::size_t fill_sweep(ListRows& items, const RowTable& rows) {
  const std::vector<std::size_t> columns = compared_columns(rows);
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    NumberedRow* const row = add_row(items);
    row->set_count(0, r);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const TableCell& cell = rows.rows[r][columns[c]];
      const int at = static_cast<int>(c) + 1;
      const std::optional<double> number = cell.number();
      if (!number) {
        row->setText(at, qt_text(cell.text));
        continue;
      }
      const double shown = sweep_number(rows.columns[columns[c]], *number);
      row->set(at, shown == *number ? shown_number(cell) : qt_text(number_text(shown)), shown);
    }
  }
  return rows.rows.size();
}

}  // namespace penstock
