#include <fmt/format.h>

#include <QApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QPointer>
#include <QRegularExpression>
#include <QSettings>
#include <filesystem>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/plan/starter/small_starter.hpp"
#include "gui/models/change/moves.hpp"
#include "gui/models/run/open_files.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/output/run_output.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr int most_recent = 10;

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

/// The first suffix that a filter of a file dialog names: "png" of "PNG (*.png);;SVG (*.svg)".
QString suffix_of(const QString& kinds) {
  return QRegularExpression("\\*\\.(\\w+)").match(kinds).captured(1);
}

}  // namespace

void ViewerWindow::open_files_now(const QStringList& paths) {
  const QStringList runs = without_sweeps(paths);
  for (ViewedRunPtr& run : open_files(local_paths(runs))) add_run(std::move(run));
  for (const QString& path : paths) {
    if (is_sweep(path)) open_sweep(path);
  }
}

void ViewerWindow::open_compared(const QStringList& paths) {
  std::vector<ViewedRunPtr> runs = open_files(local_paths(paths));
  if (runs.size() < 2) {
    throw UsageError(fmt::format(
        "--compare: two or more runs are needed, got {}; traces together are one run, a file per "
        "rank",
        runs.size()));
  }
  add_run(runs.front());
  runs.erase(runs.begin());
  hold_against(std::move(runs), false);
  canvas()->fit();
}

void ViewerWindow::open_files_later(const QStringList& all) {
  const QStringList paths = without_sweeps(all);
  for (const QString& path : all) {
    if (is_sweep(path)) guarded([&] { open_sweep(path); });
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

void ViewerWindow::show_opening(bool is_opening) {
  cancel_->setVisible(is_opening);
  progress_->setVisible(is_opening);
  progress_->setRange(0, 0);  // until it is known how much is left
}

Background::Done ViewerWindow::opened_in_background(
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
    for (const ViewedRunPtr& run : runs) add_run(run);
    for (const QString& path : runs.empty() ? QStringList() : paths) add_recent(path);
    if (!opened_next_.isEmpty()) open_files_later(std::exchange(opened_next_, {}));
  };
}

void ViewerWindow::cancel_opening() {
  if (cancelled_ != nullptr) *cancelled_ = true;
  opened_next_.clear();
  opening_.cancel();
  show_opening(false);
  show_message("Opening was cancelled");
}

void ViewerWindow::open_dialog() {
  open_files_later(QFileDialog::getOpenFileNames(
      this, "Open", {},
      "Runs (*.json *.timeline *.csv *.gz *.jsonl);;Scenarios and traces (*.json *.gz);;"
      "Timelines (*.timeline);;Orders (*.csv);;Sweeps (*.jsonl);;All files (*)"));
}

void ViewerWindow::compare_with(const QStringList& paths) {
  std::vector<ViewedRunPtr> others = now()->others;
  for (ViewedRunPtr& run : open_files(local_paths(paths))) others.push_back(std::move(run));
  hold_against(std::move(others), canvas()->choice().frozen);
}

void ViewerWindow::open_example() {
  add_run(viewed(parse_scenario(small_starter(), "example.json")));
}

void ViewerWindow::reload() {
  OpenRun& open = *now();
  const QString source = QString::fromStdString(open.run->source);
  if (!QFileInfo::exists(source)) return show_message(source + ": there is no such file any more");
  const auto runs = open_files(local_paths({source}));
  replace_run(open, runs.front());
  open.base = open.run->scenario;
  what_if_->show_scenario(open.base);
}

void ViewerWindow::add_recent(const QString& path) {
  QSettings settings;
  QStringList recent = settings.value("recent").toStringList();
  const QString whole = QFileInfo(path).absoluteFilePath();
  recent.removeAll(whole);
  recent.prepend(whole);
  while (recent.size() > most_recent) recent.removeLast();
  settings.setValue("recent", recent);
  show_recent();
}

void ViewerWindow::show_recent() {
  recent_->clear();
  for (const QString& path : QSettings().value("recent").toStringList()) {
    recent_->addAction(path, this, [this, path] { open_files_later({path}); });
  }
  recent_->setEnabled(!recent_->isEmpty());
}

void ViewerWindow::add_run(ViewedRunPtr run) {
  OpenRun open;
  open.canvas = new TimelineCanvas;
  open.canvas->set_theme(theme_);
  connect_canvas(*open.canvas);
  open.run = run;
  open.base = run->scenario;
  if (runs_.empty()) {
    QWidget* const empty = tabs_->widget(0);
    tabs_->removeTab(0);
    empty->deleteLater();
  }
  open.canvas->show_runs(painted(run, ColourBy::pass), {}, false);
  TimelineCanvas* const canvas = open.canvas;
  runs_.push_back(std::move(open));
  const QString name = QFileInfo(QString::fromStdString(run->source)).fileName();
  const int tab = tabs_->addTab(canvas, name.isEmpty() ? qt_text(run->title) : name);
  tabs_->setTabToolTip(tab, QString::fromStdString(run->source));
  tabs_->tabBar()->setVisible(true);
  tabs_->setCurrentIndex(tab);
  what_if_->show_scenario(run->scenario);
  refresh_panels();
  canvas->setFocus();
  QApplication::processEvents(QEventLoop::ExcludeUserInputEvents);
  canvas->leave_out_what_does_not_fit();
  canvas->fit();
}

void ViewerWindow::close_run() {
  const int tab = tabs_->currentIndex();
  if (now() == nullptr) return;
  QWidget* const closed = tabs_->widget(tab);
  runs_.erase(runs_.begin() + tab);
  if (runs_.empty()) {
    auto* empty = new TimelineCanvas;
    empty->set_theme(theme_);
    tabs_->addTab(empty, "nothing open");
    tabs_->tabBar()->setVisible(false);
    setWindowTitle("Penstock");
  }
  tabs_->removeTab(tab);
  closed->deleteLater();
  refresh_panels();
}

// ---- saving ----

void ViewerWindow::save_as(const QString& title, const QString& kinds,
                           const std::function<void(const std::string& path)>& write) {
  QFileDialog dialog(this, title, {}, kinds);
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  const auto choose = [&](const QString& kind) { dialog.setDefaultSuffix(suffix_of(kind)); };
  choose(kinds);
  connect(&dialog, &QFileDialog::filterSelected, &dialog, choose);
  if (dialog.exec() != QDialog::Accepted) return;
  const QString path = dialog.selectedFiles().front();
  show_message("Written: " + path);  // unless the writer has more to say
  write(local_paths({path}).front());
}

void ViewerWindow::export_dialog() {
  save_as("Export what is seen", "PNG (*.png);;SVG (*.svg);;PDF (*.pdf)",
          [this](const std::string& path) { export_view(*canvas(), path); });
}

void ViewerWindow::export_whole_dialog() {
  save_as("Export the whole run",
          "SVG (*.svg);;PNG (*.png);;PDF (*.pdf);;Trace for Perfetto (*.json *.json.gz);;Timeline "
          "(*.timeline)",
          [this](const std::string& path) { export_run(*now()->run, path); });
}

void ViewerWindow::export_area_dialog() {
  if (!canvas()->area()) return show_message("Drag over the lanes first: that area is written");
  save_as("Export the selected area", "CSV (*.csv)", [this](const std::string& path) {
    const Area& area = *canvas()->area();
    write_file(path, csv_of(area, canvas()->run(area.run)), Existing::any);
  });
}

void ViewerWindow::save_scenario(const std::string& path) {
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
      QMessageBox::question(this, "Save as scenario", beside + " exists. Replace it?") !=
          QMessageBox::Yes) {
    return show_message("Not written, as " + beside + " exists");
  }
  OutputSet files(Existing::any);  // the user was asked
  files.write(order.string(), csv.text);
  files.write(path, text);
  files.publish();
}

void ViewerWindow::save_scenario_dialog() {
  if (!now()->run->scenario) return save_scenario("");
  save_as("Save as scenario", "Scenario (*.json)",
          [this](const std::string& path) { save_scenario(path); });
}

void ViewerWindow::save_order(const std::string& path) {
  if (!now()->run->layout) throw UsageError("a recorded run has no order to save");
  const TorchCsv order = write_torch_csv(now()->run->layout->schedule);
  write_file(path, order.text, Existing::any);
  if (!order.left_out.empty()) {
    show_message(QString("The notation has no %1; left out with %2")
                     .arg(QString::fromStdString(order.left_out.front()))
                     .arg(qt_text(counted(order.left_out.size() - 1, "other"))));
  }
}

void ViewerWindow::save_order_dialog() {
  if (!now()->run->layout) return save_order("");
  save_as("Save the order", "PyTorch order (*.csv)",
          [this](const std::string& path) { save_order(path); });
}

}  // namespace penstock
