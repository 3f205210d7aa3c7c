#include "gui/views/window/run_panels.hpp"

#include <QApplication>
#include <QClipboard>
#include <QScrollArea>
#include <QScrollBar>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/panels/tables.hpp"

namespace penstock {
namespace {

QPlainTextEdit* make_text(const QString& accessible_name, const QString& placeholder) {
  auto* text = new QPlainTextEdit;
  text->setFont(fixed_font());
  text->setReadOnly(true);
  text->setLineWrapMode(QPlainTextEdit::NoWrap);
  text->setAccessibleName(accessible_name);
  text->setPlaceholderText(placeholder);
  return text;
}

/// For what is higher than a small window.
QScrollArea* scrolled(QWidget* content) {
  auto* area = new QScrollArea;
  area->setWidget(content);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setMinimumWidth(content->minimumSizeHint().width() +
                        area->verticalScrollBar()->sizeHint().width());
  return area;
}

/// The run of a letter; 0: A.
const ViewedRunPtr& run_at(const OpenRun& open, std::size_t place) {
  const std::size_t number = lettered(place, open.canvas->choice().frozen);
  return number == 0 ? open.run : open.others[number - 1];
}

/// "B − A: time +0.5 ms …" for each run that is held against A.
QString difference_text(const OpenRun& open) {
  const ViewedRun& a = *run_at(open, 0);
  QStringList parts;
  for (std::size_t place = 1; place <= open.others.size(); ++place) {
    const ViewedRun& run = *run_at(open, place);
    parts << QString(QChar(letter_of_run(place))) + " − A: " + qt_text(headline(a, run));
  }
  return parts.join("; ");
}

/// Each run that is held against A.
std::vector<ShownPair> pairs_of(const OpenRun& open) {
  const bool frozen = open.canvas->choice().frozen;
  std::vector<ShownPair> pairs;
  for (std::size_t i = 0; i < open.pairs.size(); ++i) {
    const auto now = static_cast<std::uint8_t>(lettered(i + 1, frozen));
    pairs.push_back({&open.pairs[i], now, letter_of_run(i + 1)});
  }
  return pairs;
}

/// The run in front with its differences to A, or of the others to it.
TableRuns table_runs(const OpenRun& open) {
  TableRuns runs{open.run};
  for (std::size_t place = 1; place <= open.others.size(); ++place) {
    runs.changes.push_back({letter_of_run(place), run_at(open, place), run_at(open, 0)});
  }
  return runs;
}

QString panel_about(FigureKind kind) {
  switch (kind) {
    case FigureKind::step_time:
      return "Critical path";
    case FigureKind::bubble:
      return "Idle time";
    case FigureKind::peak_memory:
      return "Memory";
    case FigureKind::mfu:
      break;
  }
  return "Report";
}

}  // namespace

RunPanels::RunPanels(QMainWindow& window, OpenRuns& runs, RunChanges& changes)
    : RunController(runs),
      strip_(new PanelStrip(window)),
      figures_(new FigureBar),
      use_(new TextLine("Selection")),
      selection_(new SelectionPanel),
      counting_(tells_busy()) {
  selection_->on_op = [this](ShownOp op) { runs_.select(op); };
  report_ = make_text("Report", "The report of the open run");
  comparison_ = new ComparisonPanel;
  comparison_->on_op = [this](ShownOp op) { runs_.select(op); };
  comparison_->on_cell = [this](std::size_t stage, std::size_t microbatch) {
    on_search(QString("stage:%1 mb:%2").arg(stage).arg(microbatch));
  };
  for (const RunTable& each : run_tables()) {
    const TableRuns none{std::make_shared<const ViewedRun>()};
    tables_.push_back(new TablePanel(each.columns(none), each.accessible_name));
    tables_.back()->on_place = [this](const RowPlace& place) { go_to(place); };
  }
  sweep_ = new SweepPanel;
  sweep_->on_row = [this](std::size_t row) { runs_.guarded([&] { on_row(row); }); };
  ops_ = new TablePanel(op_columns(), "Ops of the selected rank");
  ops_->on_place = [this](const RowPlace& place) { runs_.select({place.task, ops_run_}); };
  legend_ = new RunLegend;
  figures_->on_click = [this](FigureKind kind) { strip_->open(panel_about(kind)); };
  build_docks(changes);
}

void RunPanels::build_docks(RunChanges& changes) {
  QScrollArea* const legend = scrolled(legend_);
  QScrollArea* const turned = scrolled(&changes.what_if());

  strip_->add("Report", report_, PanelGroup::below);
  strip_->add("Selection", selection_, PanelGroup::below);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    strip_->add(run_tables()[t].title, tables_[t], PanelGroup::below);
  }
  strip_->add("Ops", ops_, PanelGroup::below);
  strip_->add("Sweep", sweep_, PanelGroup::below);
  strip_->add("Comparison", comparison_, PanelGroup::below);
  strip_->add("Moved ops", comparison_->moved(), PanelGroup::below);
  strip_->add("What if", turned, PanelGroup::beside);
  strip_->add("Scenario", &changes.scenario_panel(), PanelGroup::beside);
  strip_->add("Legend", legend, PanelGroup::legend);
}

void RunPanels::refresh() {
  OpenRun* const open = now();
  if (open == nullptr) {
    report_->clear();
    comparison_->show_pairs({});
    for (TablePanel* table : tables_) table->clear();
    ops_->clear();
    selection_->show_facts({}, theme(runs_.theme_name()));
    selection_->hide_rows();
    use_->set_text({});
    figures_->clear();
    return;
  }
  const ViewedRun& run = *open->run;
  report_->setPlainText(QString::fromStdString(run.text));
  const TableRuns shown = table_runs(*open);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    tables_[t]->set_columns(run_tables()[t].columns(shown));
    tables_[t]->set_absence(run.file == nullptr ? "" : "Not known of a run that is read in parts");
    tables_[t]->fill([shown, t](ListRows& rows) { return run_tables()[t].fill(rows, shown); });
  }
  refresh_ops();
  refresh_legend();
  comparison_->show_pairs(pairs_of(*open));
  refresh_selection();
}

void RunPanels::refresh_legend() {
  if (now() == nullptr || !canvas()->first()) return;
  std::vector<PaintedRunPtr> runs{canvas()->first()};
  runs.insert(runs.end(), canvas()->others().begin(), canvas()->others().end());
  legend_->show_runs(runs, runs_.theme_name(), canvas()->rows());
}

void RunPanels::refresh_heat() {
  if (now() == nullptr || !canvas()->first() || canvas()->rows().empty()) return;
  if (canvas()->rows().front().heat != legend_->shows_heat()) refresh_legend();
}

void RunPanels::refresh_ops() {
  const TimelineCanvas& shown = *now()->canvas;
  const ShownOp& op = shown.selected();
  ops_run_ = 0;
  std::uint32_t rank = 0;
  if (!op.is_none()) {
    ops_run_ = op.run;
    rank = rank_of_task(shown.run(op.run).run->plan, op.task);
  } else if (shown.area()) {
    ops_run_ = shown.area()->run;
    rank = shown.area()->first_rank;
  }
  const PaintedRunPtr run = shown.shared_run(ops_run_);
  const std::int64_t from = shown.area() ? shown.area()->begin : 0;
  ops_->fill([run, rank, from](ListRows& rows) { return fill_ops(rows, *run, rank, from); });
}

void RunPanels::refresh_selection() {
  OpenRun* const open = now();
  if (open == nullptr) return;
  refresh_figures(*open);
  TimelineCanvas& shown = *open->canvas;
  const Facts facts = shown.facts_of_selection();
  show_selection(facts);
  if (facts.title.empty()) use_->set_text(difference_text(*open));
  if (!facts.title.empty() && shown.hasFocus()) strip_->open_if_unfolded("Selection");
  count_area();
}

void RunPanels::show_selection(const Facts& facts) {
  selection_->show_facts(facts, theme(runs_.theme_name()));
  use_->set_text(qt_text(facts.in_one_line()));
}

void RunPanels::copy_selection() {
  const bool any = !canvas()->selected().is_none() || canvas()->area();
  if (!any) return show_message("Select an op, a gap or an area first");
  counting_.finish();
  QApplication::clipboard()->setText(selection_->text());
  show_message("Copied to the clipboard");
}

void RunPanels::hide_counts() {
  selection_->hide_rows();
  const TimelineCanvas& shown = *now()->canvas;
  if (!shown.area()) return;
  const Area& area = *shown.area();
  const PaintedRun& run = shown.run(area.run);
  if (covers(*run.run, area.begin, area.end)) return;
  Facts facts = facts_of_area(area, {}, run.run->plan, nullptr);
  facts.all.push_back({"ops", "not counted: this part of the file is not read; F zooms to it"});
  show_selection(facts);
}

void RunPanels::count_area() {
  counting_.cancel();
  const TimelineCanvas& shown = *now()->canvas;
  const bool counts =
      shown.area() && !shown.area()->memory && !shown.selected_gap() &&
      covers(*shown.run(shown.area()->run).run, shown.area()->begin, shown.area()->end);
  if (!counts) return hide_counts();
  const Area area = *shown.area();
  const bool frozen = shown.choice().frozen;
  const bool is_a = area.run == lettered(0, frozen);
  const auto against = static_cast<std::uint8_t>(lettered(is_a ? 1 : 0, frozen));
  const PaintedRunPtr run = shown.shared_run(area.run);
  const PaintedRunPtr other = shown.runs() > 1 ? shown.shared_run(against) : nullptr;
  const QString compared =
      other == nullptr ? QString()
                       : QString("%1 − A").arg(letter_of_run(is_a ? against : area.run, frozen));
  constexpr double many_ops = 100000;
  const bool many = ops_about(area, *run->lanes) > many_ops;
  if (many) selection_->wait_for_rows();
  const auto count = [=, this, of = shown.of_run(area.run).toStdString()]() -> Background::Done {
    const AreaUse use = use_of(area, *run->lanes, run->run->plan);
    std::vector<AreaRow> rows = rows_of(area, *run->lanes, run->run->plan);
    if (other != nullptr) {
      compare_rows(rows, rows_of(area, *other->lanes, other->run->plan), !is_a);
    }
    return [=, this, rows = std::move(rows)] {
      const double time =
          static_cast<double>(area.end - area.begin) * area.ranks(run->run->plan.ranks);
      show_selection(facts_of_area(area, of, run->run->plan, &use));
      selection_->show_rows(rows, time, compared);
    };
  };
  counting_.request(count, many ? 0 : Background::patience_ms);
}

/// An op is selected; of a rank or a link, its lane is brought into sight.
void RunPanels::go_to(const RowPlace& place) {
  if (now() == nullptr) return;
  if (place.task != no_task) return runs_.select(place.task);
  if (place.link && !canvas()->choice().links) runs_.toggle_links();
  if (place.link) return canvas()->show_link(*place.link);
  const Area whole{0, canvas()->run(0).lanes->span, *place.rank, *place.rank + 1};
  canvas()->show_lane(whole);
  canvas()->set_area(whole);
}

/// Of B against A where there are several runs.
void RunPanels::refresh_figures(const OpenRun& open) {
  if (open.others.empty())
    return figures_->show_figures(figures_of(*open.run, nullptr), open.run->brief, {});
  const ViewedRun& b = *run_at(open, 1);
  figures_->show_figures(figures_of(b, run_at(open, 0).get()), b.brief, " of B");
}

void RunPanels::refresh_stale() {
  const bool stale = now() != nullptr && runs_.is_stale(*now());
  if (stale == std::exchange(stale_, stale)) return;
  const Theme& colours = theme(runs_.theme_name());
  std::vector<QWidget*> all{report_, comparison_, selection_, ops_, use_, figures_};
  all.insert(all.end(), tables_.begin(), tables_.end());
  for (QWidget* each : all) {
    QPalette palette = each->palette();
    const QColor colour = qt_colour(mix(colours.ink, colours.panel, stale ? 0.55 : 0));
    palette.setColor(QPalette::Text, colour);
    palette.setColor(QPalette::WindowText, colour);
    each->setPalette(stale ? palette : QPalette());
  }
}

void RunPanels::show_sweep(const RowTable& rows) {
  sweep_->show_sweep(rows);
  strip_->open("Sweep");
}

}  // namespace penstock
