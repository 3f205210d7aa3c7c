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
                     const std::vector<PaintedRunPtr>& runs) {
  const QString source = QFile::decodeName(run.source.c_str());
  RecentRun recent{qt_text(run.title), {source}};
  const bool of_traces = run.scenario == nullptr && !source.endsWith(".timeline");
  for (const QString& path : of_traces ? paths : QStringList()) {
    const bool has_own = std::any_of(runs.begin(), runs.end(), [&](const PaintedRunPtr& each) {
      return QFile::decodeName(each->run->source.c_str()) == path;
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
      recent_(new QMenu("Open recent", &window)),
      opening_(tells_busy()),
      writing_(tells_busy()) {
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
  open_later(
      paths.join(", "),
      [all = local_paths(paths)](const OnProgress& progress) { return open_files(all, progress); },
      [this, paths](const std::vector<PaintedRunPtr>& runs) {
        for (const PaintedRunPtr& run : runs) runs_.add(run);
        for (const PaintedRunPtr& run : runs) remember_run(recent_run(*run->run, paths, runs));
        show_recent();
      });
}

void RunFiles::open_files_now(const QStringList& paths) {
  const QStringList runs = without_sweeps(paths);
  for (const ViewedRunPtr& run : open_files(local_paths(runs))) {
    runs_.add(painted(run, ColourBy::pass));
  }
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
  runs_.add(painted(runs.front(), ColourBy::pass));
  runs.erase(runs.begin());
  comparison_.hold_against(*now(), std::move(runs), false);
}

void RunFiles::compare_with(const QStringList& paths) {
  open_later(
      paths.join(", "),
      [all = local_paths(paths)](const OnProgress& progress) { return open_files(all, progress); },
      [this, shown = canvas()](const std::vector<PaintedRunPtr>& runs) {
        OpenRun* const open = runs_.shown_by(shown);
        if (open == nullptr) return;
        std::vector<ViewedRunPtr> others = open->others;
        for (const PaintedRunPtr& run : runs) others.push_back(run->run);
        comparison_.hold_against(*open, std::move(others), shown->choice().frozen);
      });
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
  open_later(
      QString("row %1").arg(row),
      [base = now()->changes.base, settings](const OnProgress&) {
        return std::vector{viewed(changed(*base, settings))};
      },
      [this, row](const std::vector<PaintedRunPtr>& runs) {
        runs_.add(runs.front());
        runs_.add_to_name(QString(" row %1").arg(row));
      });
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
  runs_.add(painted(viewed(parse_scenario(small_starter(), "example.json")), ColourBy::pass));
}

void RunFiles::reload() {
  OpenRun& open = *now();
  const QString source = QString::fromStdString(open.run->source);
  if (!QFileInfo::exists(source)) return show_message(source + ": there is no such file any more");
  runs_.replace(
      open, [path = open.run->source] { return open_files({path}).front(); },
      [this, shown = open.canvas](const QString& problem) {
        OpenRun* const read = runs_.shown_by(shown);
        if (!problem.isEmpty()) return show_message(problem);
        if (read != nullptr && read == now()) changes_.begin_at(*read);
      });
}

void RunFiles::cancel_opening() {
  if (cancelled_ != nullptr) *cancelled_ = true;
  opened_next_.clear();
  opening_.cancel();
  show_opening(false);
  show_message("Opening was cancelled");
}

RunFiles::OnProgress RunFiles::progress_of(const std::shared_ptr<std::atomic<bool>>& cancelled) {
  const QPointer<QProgressBar> bar = progress_;
  return [bar, cancelled](double share) {
    if (*cancelled) throw OpeningCancelled();
    const auto show = [bar, share, cancelled] {
      if (bar == nullptr || *cancelled) return;
      bar->setRange(0, 1000);
      bar->setValue(static_cast<int>(1000 * share));
    };
    QMetaObject::invokeMethod(qApp, show, Qt::QueuedConnection);
  };
}

void RunFiles::open_later(const QString& what,
                          std::function<std::vector<ViewedRunPtr>(OnProgress)> read, OnRuns then) {
  if (!cancel_->isHidden()) {
    opened_next_.push_back([=, this] { open_later(what, read, then); });
    return;
  }
  show_message("Opening " + what);
  show_opening(true);
  cancelled_ = std::make_shared<std::atomic<bool>>(false);
  opening_.request(
      [this, progress = progress_of(cancelled_), read = std::move(read),
       then = std::move(then)]() -> Background::Done {
        std::vector<PaintedRunPtr> runs;
        QString problem;
        try {
          for (ViewedRunPtr& run : read(progress)) {
            runs.push_back(painted(std::move(run), ColourBy::pass));
          }
        } catch (const OpeningCancelled&) {
          return [] {};
        } catch (const std::exception& error) {
          problem = QString::fromUtf8(error.what());
        }
        return [this, runs = std::move(runs), problem, then] {
          show_opening(false);
          show_message(problem);
          if (problem.isEmpty()) runs_.guarded([&] { then(runs); });
          open_next();
        };
      },
      0);
}

void RunFiles::open_next() {
  if (opened_next_.empty()) return;
  const auto next = std::move(opened_next_.front());
  opened_next_.erase(opened_next_.begin());
  next();
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
  write(local_paths({dialog.selectedFiles().front()}).front());
}

void RunFiles::write_later(const std::string& path, std::function<std::string()> write) {
  if (writing_.busy()) return show_message("Another file is still being written");
  show_message("Writing " + qt_text(path));
  writing_.request(
      [this, path, write = std::move(write)]() -> Background::Done {
        std::string text = "Written: " + path;
        try {
          const std::string more = write();
          if (!more.empty()) text = more;
        } catch (const std::exception& error) {
          text = error.what();
        }
        return [this, text] { show_message(QString::fromUtf8(text.c_str())); };
      },
      Background::patience_ms);
}

void RunFiles::export_dialog() {
  save_as("Export what is seen", "PNG (*.png);;SVG (*.svg);;PDF (*.pdf)",
          [this](const std::string& path) {
            export_view(*canvas(), path);
            show_message("Written: " + qt_text(path));
          });
}

void RunFiles::export_whole_dialog() {
  if (now()->run->file != nullptr) throw UsageError("This run is a file, and too large to be held");
  save_as("Export the whole run",
          "Page to pan and zoom (*.html);;SVG (*.svg);;PNG (*.png);;PDF (*.pdf);;Trace for "
          "Perfetto (*.json *.json.gz);;Timeline "
          "(*.timeline)",
          [this](const std::string& path) {
            write_later(path, [run = now()->run, path] {
              export_run(*run, path);
              return std::string();
            });
          });
}

void RunFiles::export_area_dialog() {
  if (!canvas()->area()) return show_message("Drag over the lanes first: that area is written");
  save_as("Export the selected area", "CSV (*.csv)", [this](const std::string& path) {
    const Area& area = *canvas()->area();
    const PaintedRunPtr run =
        area.run == 0 ? canvas()->first() : canvas()->others()[area.run - std::size_t{1}];
    write_later(path, [area, run, path] {
      write_file(path, csv_of(area, *run), Existing::any);
      return std::string();
    });
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
  const ViewedRunPtr run = now()->run;
  if (!run->scenario) throw UsageError("a recorded run has no scenario to save");
  if (!has_changed_order(*run)) {
    write_file(path, document_text(*run->scenario), Existing::any);
    return show_message("Written: " + qt_text(path));
  }
  // The order stands in a file beside the scenario.
  const std::filesystem::path order = std::filesystem::path(path).replace_extension(".csv");
  const QString beside = qt_text(order.filename().string());
  if (std::filesystem::exists(order) &&
      QMessageBox::question(&window_, "Save as scenario", beside + " exists. Replace it?") !=
          QMessageBox::Yes) {
    return show_message("Not written, as " + beside + " exists");
  }
  write_later(path, [run, path, order] {
    const TorchCsv csv = write_torch_csv(run->layout->schedule);
    if (!csv.left_out.empty()) {
      throw UsageError(path + ": PyTorch's notation has no " + csv.left_out.front() +
                       ", so this order cannot be saved");
    }
    const std::string setting = "/schedule/file=" + order.filename().string();
    OutputSet files(Existing::any);  // the user was asked
    files.write(order.string(), csv.text);
    files.write(path, document_text(changed(*run->scenario, {setting}, {"schedule"})));
    files.publish();
    return std::string();
  });
}

void RunFiles::save_order(const std::string& path) {
  const ViewedRunPtr run = now()->run;
  if (!run->layout) throw UsageError("a recorded run has no order to save");
  write_later(path, [run, path] {
    const TorchCsv order = write_torch_csv(run->layout->schedule);
    write_file(path, order.text, Existing::any);
    if (order.left_out.empty()) return std::string();
    return fmt::format("The notation has no {}; left out with {}", order.left_out.front(),
                       counted(order.left_out.size() - 1, "other"));
  });
}

}  // namespace penstock
