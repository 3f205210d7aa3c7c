#include "gui/views/window/run_files.hpp"

#include <fmt/format.h>

#include <QApplication>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QPointer>
#include <QRegularExpression>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/plan/starter/starter.hpp"
#include "gui/models/change/moves.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/output/run_output.hpp"
#include "gui/views/window/window_memory.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Thrown where files are read, once nobody wants them any more.
struct OpeningCancelled {};

std::vector<std::string> local_paths(const QStringList& paths) {
  std::vector<std::string> all;
  for (const QString& path : paths) all.push_back(QFile::encodeName(path).toStdString());
  return all;
}

bool is_sweep(const QString& path) { return path.endsWith(".jsonl"); }

QStringList without_sweeps(QStringList paths) {
  paths.erase(std::remove_if(paths.begin(), paths.end(), is_sweep), paths.end());
  return paths;
}

/// All traces that were opened together are one run; its source is the first of them.
RecentRun recent_run(const ViewedRun& run, const QStringList& paths,
                     const std::vector<ViewedRunPtr>& runs) {
  const QString source = QFile::decodeName(run.source.c_str());
  RecentRun recent{qt_text(run.title), {source}};
  const bool of_traces = run.scenario == nullptr && !source.endsWith(".timeline");
  for (const QString& path : of_traces ? paths : QStringList()) {
    const bool has_own = std::any_of(runs.begin(), runs.end(), [&](const ViewedRunPtr& each) {
      return QFile::decodeName(each->source.c_str()) == path;
    });
    if (!has_own) recent.paths << path;
  }
  return recent;
}

/// The first suffix that a filter of a file dialog names: "png" of "PNG (*.png);;SVG (*.svg)".
QString suffix_of(const QString& kinds) {
  return QRegularExpression("\\*\\.(\\w+)").match(kinds).captured(1);
}

}  // namespace

RunFiles::RunFiles(QWidget& window, OpenRuns& runs, RunChanges& changes, RunComparison& comparison)
    : RunController(runs),
      window_(window),
      changes_(changes),
      comparison_(comparison),
      progress_(new QProgressBar),
      cancel_(new QPushButton("Cancel")),
      recent_(new QMenu("Open recent", &window)) {
  cancel_->hide();
  progress_->setMaximumWidth(140);
  progress_->setAccessibleName("Opening");
  progress_->hide();
  QObject::connect(cancel_, &QPushButton::clicked, cancel_, [this] { cancel_opening(); });
  show_recent();
}

RunFiles::~RunFiles() {
  if (cancelled_ != nullptr) *cancelled_ = true;
  opening_.cancel();
  opening_.finish();
}

void RunFiles::open_files_later(const QStringList& all) {
  const QStringList paths = without_sweeps(all);
  for (const QString& path : all) {
    if (is_sweep(path)) runs_.guarded([&] { open_sweep(path); });
  }
  if (paths.isEmpty()) return;
  if (!cancel_->isHidden()) {
    opened_next_ << paths;
    return;
  }
  show_message("Opening " + paths.join(", "));
  show_opening(true);
  cancelled_ = std::make_shared<std::atomic<bool>>(false);
  opening_.request(
      [this, paths, cancelled = cancelled_] { return opened_in_background(paths, cancelled); }, 0);
}

void RunFiles::open_files_now(const QStringList& paths) {
  const QStringList runs = without_sweeps(paths);
  for (ViewedRunPtr& run : open_files(local_paths(runs))) runs_.add(std::move(run));
  for (const QString& path : paths) {
    if (is_sweep(path)) open_sweep(path);
  }
}

void RunFiles::open_compared(const QStringList& paths) {
  std::vector<ViewedRunPtr> runs = open_files(local_paths(paths));
  if (runs.size() < 2) {
    throw UsageError(fmt::format(
        "--compare: two or more runs are needed, got {}; traces together are one run, a file per "
        "rank",
        runs.size()));
  }
  runs_.add(runs.front());
  runs.erase(runs.begin());
  comparison_.hold_against(std::move(runs), false);
  canvas()->fit();
}

void RunFiles::compare_with(const QStringList& paths) {
  std::vector<ViewedRunPtr> others = now()->others;
  for (ViewedRunPtr& run : open_files(local_paths(paths))) others.push_back(std::move(run));
  comparison_.hold_against(std::move(others), canvas()->choice().frozen);
}

void RunFiles::open_sweep(const QString& path) {
  swept_ = read_row_table(QFile::encodeName(path).toStdString());
  on_sweep(swept_);
  show_message(QString("%1: %2; Enter opens one as a change of the scenario in front")
                   .arg(QFileInfo(path).fileName())
                   .arg(qt_text(counted(swept_.rows.size(), "row"))));
}

/// Rows hold only what was varied, so the scenario in front is the base.
void RunFiles::open_row(std::size_t row) {
  if (row >= swept_.rows.size()) return;
  if (now() == nullptr || now()->changes.base == nullptr) {
    throw UsageError("Open the scenario that was swept first: rows hold only what was varied");
  }
  std::vector<std::string> settings;
  for (std::size_t c = 0; c < swept_.columns.size(); ++c) {
    const TableCell& cell = swept_.rows[row][c];
    if (!swept_.columns[c].starts_with("/") || cell.empty()) continue;
    settings.push_back(swept_.columns[c] + "=" + cell.text);
  }
  const Scenario scenario = changed(*now()->changes.base, settings);
  runs_.add(viewed(scenario));
  runs_.add_to_name(QString(" row %1").arg(row));
}

void RunFiles::open_dialog() {
  open_files_later(QFileDialog::getOpenFileNames(
      &window_, "Open", {},
      "Runs (*.json *.timeline *.csv *.gz *.jsonl);;Scenarios and traces (*.json *.gz);;"
      "Timelines (*.timeline);;Orders (*.csv);;Sweeps (*.jsonl);;All files (*)"));
}

void RunFiles::compare_dialog() {
  const QStringList paths = QFileDialog::getOpenFileNames(&window_, "Compare with", {}, "Runs (*)");
  if (!paths.isEmpty()) compare_with(paths);
}

void RunFiles::open_example() {
  runs_.add(viewed(parse_scenario(small_starter(), "example.json")));
}

void RunFiles::reload() {
  OpenRun& open = *now();
  const QString source = QString::fromStdString(open.run->source);
  if (!QFileInfo::exists(source)) return show_message(source + ": there is no such file any more");
  const auto runs = open_files(local_paths({source}));
  runs_.replace(open, runs.front());
  changes_.begin_at(open);
}

void RunFiles::cancel_opening() {
  if (cancelled_ != nullptr) *cancelled_ = true;
  opened_next_.clear();
  opening_.cancel();
  show_opening(false);
  show_message("Opening was cancelled");
}

Background::Done RunFiles::opened_in_background(
    const QStringList& paths, const std::shared_ptr<std::atomic<bool>>& cancelled) {
  std::vector<ViewedRunPtr> runs;
  QString problem;
  const QPointer<QProgressBar> bar = progress_;
  const auto progress = [&](double share) {
    if (*cancelled) throw OpeningCancelled();
    const auto show = [bar, share, cancelled] {
      if (bar == nullptr || *cancelled) return;
      bar->setRange(0, 1000);
      bar->setValue(static_cast<int>(1000 * share));
    };
    QMetaObject::invokeMethod(qApp, show, Qt::QueuedConnection);
  };
  try {
    runs = open_files(local_paths(paths), progress);
  } catch (const OpeningCancelled&) {
    return [] {};
  } catch (const std::exception& error) {
    problem = QString::fromUtf8(error.what());
  }
  return [this, paths, runs, problem] {
    show_opening(false);
    show_message(problem);
    for (const ViewedRunPtr& run : runs) runs_.add(run);
    for (const ViewedRunPtr& run : runs) remember_run(recent_run(*run, paths, runs));
    show_recent();
    if (!opened_next_.isEmpty()) open_files_later(std::exchange(opened_next_, {}));
  };
}

void RunFiles::show_opening(bool is_opening) {
  cancel_->setVisible(is_opening);
  progress_->setVisible(is_opening);
  progress_->setRange(0, 0);  // until it is known how much is left
}

void RunFiles::show_recent() {
  recent_->clear();
  for (const RecentRun& run : recent_runs()) {
    QAction* const action =
        recent_->addAction(text_of(run), recent_, [this, run] { open_files_later(run.paths); });
    action->setStatusTip(run.paths.join(", "));
  }
  recent_->setEnabled(!recent_->isEmpty());
}

void RunFiles::save_as(const QString& title, const QString& kinds,
                       const std::function<void(const std::string& path)>& write) {
  QFileDialog dialog(&window_, title, {}, kinds);
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  const auto choose = [&](const QString& kind) { dialog.setDefaultSuffix(suffix_of(kind)); };
  choose(kinds);
  QObject::connect(&dialog, &QFileDialog::filterSelected, &dialog, choose);
  if (dialog.exec() != QDialog::Accepted) return;
  const QString path = dialog.selectedFiles().front();
  show_message("Written: " + path);  // unless the writer has more to say
  write(local_paths({path}).front());
}

void RunFiles::export_dialog() {
  save_as("Export what is seen", "PNG (*.png);;SVG (*.svg);;PDF (*.pdf)",
          [this](const std::string& path) { export_view(*canvas(), path); });
}

void RunFiles::export_whole_dialog() {
  save_as("Export the whole run",
          "Page to pan and zoom (*.html);;SVG (*.svg);;PNG (*.png);;PDF (*.pdf);;Trace for "
          "Perfetto (*.json *.json.gz);;Timeline "
          "(*.timeline)",
          [this](const std::string& path) { export_run(*now()->run, path); });
}

void RunFiles::export_area_dialog() {
  if (!canvas()->area()) return show_message("Drag over the lanes first: that area is written");
  save_as("Export the selected area", "CSV (*.csv)", [this](const std::string& path) {
    const Area& area = *canvas()->area();
    write_file(path, csv_of(area, canvas()->run(area.run)), Existing::any);
  });
}

void RunFiles::save_scenario_dialog() {
  if (!now()->run->scenario) return save_scenario("");
  save_as("Save as scenario", "Scenario (*.json)",
          [this](const std::string& path) { save_scenario(path); });
}

void RunFiles::save_order_dialog() {
  if (!now()->run->layout) return save_order("");
  save_as("Save the order", "PyTorch order (*.csv)",
          [this](const std::string& path) { save_order(path); });
}

void RunFiles::save_scenario(const std::string& path) {
  const ViewedRun& run = *now()->run;
  if (!run.scenario) throw UsageError("a recorded run has no scenario to save");
  if (!has_changed_order(run)) {
    return write_file(path, document_text(*run.scenario), Existing::any);
  }
  // The order stands in a file beside the scenario.
  const std::filesystem::path order = std::filesystem::path(path).replace_extension(".csv");
  const TorchCsv csv = write_torch_csv(run.layout->schedule);
  if (!csv.left_out.empty()) {
    throw UsageError(path + ": PyTorch's notation has no " + csv.left_out.front() +
                     ", so this order cannot be saved");
  }
  const std::string setting = "/schedule/file=" + order.filename().string();
  const std::string text = document_text(changed(*run.scenario, {setting}, {"schedule"}));
  const QString beside = qt_text(order.filename().string());
  if (std::filesystem::exists(order) &&
      QMessageBox::question(&window_, "Save as scenario", beside + " exists. Replace it?") !=
          QMessageBox::Yes) {
    return show_message("Not written, as " + beside + " exists");
  }
  OutputSet files(Existing::any);  // the user was asked
  files.write(order.string(), csv.text);
  files.write(path, text);
  files.publish();
}

void RunFiles::save_order(const std::string& path) {
  if (!now()->run->layout) throw UsageError("a recorded run has no order to save");
  const TorchCsv order = write_torch_csv(now()->run->layout->schedule);
  write_file(path, order.text, Existing::any);
  if (!order.left_out.empty()) {
    show_message(QString("The notation has no %1; left out with %2")
                     .arg(QString::fromStdString(order.left_out.front()))
                     .arg(qt_text(counted(order.left_out.size() - 1, "other"))));
  }
}

}  // namespace penstock
