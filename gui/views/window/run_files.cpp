#include "gui/views/window/run_files.hpp"

#include <fmt/format.h>

#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QPointer>
#include <algorithm>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/plan/starter/starter.hpp"
#include "experiments/run/recordings.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "gui/views/canvas/look.hpp"
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

/// Where nobody could change a run that does not finish.
std::vector<ViewedRunPtr> finished(std::vector<ViewedRunPtr> runs) {
  for (const ViewedRunPtr& run : runs) {
    if (run->unfinished) throw UnfinishedRun(*run->unfinished);
  }
  return runs;
}

QStringList files_of(const ViewedRun& run) {
  QStringList files;
  for (const std::string& file : run.files) files << QFile::decodeName(file.c_str());
  return files.isEmpty() ? QStringList{QFile::decodeName(run.source.c_str())} : files;
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

// What is opened is waited for by its thread, and heard of no more: who would hear may be gone.
RunFiles::~RunFiles() {
  if (cancelled_ != nullptr) *cancelled_ = true;
}

void RunFiles::open_files_later(const QStringList& all) {
  const QStringList paths = without_sweeps(all);
  for (const QString& path : all) {
    if (is_sweep(path)) runs_.guarded([&] { open_sweep(path); });
  }
  if (paths.isEmpty()) return;
  open_later(
      paths,
      [all = local_paths(paths)](const OnProgress& progress) { return open_files(all, progress); },
      [this](const std::vector<PaintedRunPtr>& runs) {
        for (const PaintedRunPtr& run : runs) {
          runs_.add(run);
          if (run->run->unfinished) show_message(qt_text(run->run->unfinished->what()));
        }
        for (const PaintedRunPtr& run : runs) {
          if (run->run->source == "-") continue;
          remember_run({qt_text(run->run->title), files_of(*run->run)});
        }
        show_recent();
      });
}

void RunFiles::open_files_now(const QStringList& paths) {
  const QStringList runs = without_sweeps(paths);
  for (const ViewedRunPtr& run : finished(open_files(local_paths(runs)))) {
    runs_.add(painted(run, ColourBy::pass));
  }
  for (const QString& path : paths) {
    if (is_sweep(path)) open_sweep(path);
  }
}

void RunFiles::open_compared(const QStringList& paths) {
  std::vector<ViewedRunPtr> runs = finished(open_files(local_paths(paths)));
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
      paths,
      [all = local_paths(paths)](const OnProgress& progress) {
        return finished(open_files(all, progress));
      },
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
  std::vector<std::string> settings, of_base = now()->changes.settings;
  for (std::size_t c = 0; c < swept_.columns.size(); ++c) {
    const TableCell& cell = swept_.rows[row][c];
    if (!swept_.columns[c].starts_with("/") || cell.empty()) continue;
    settings.push_back(swept_.columns[c] + "=" + cell.text);
  }
  of_base.insert(of_base.end(), settings.begin(), settings.end());
  open_later(
      {},
      [base = now()->changes.base, settings](const OnProgress&) {
        return std::vector{viewed(changed(*base, settings))};
      },
      [this, row, all = std::move(of_base)](const std::vector<PaintedRunPtr>& runs) {
        runs_.add(runs.front());
        now()->changes.settings = all;
        runs_.add_to_name(QString(" row %1").arg(row));
      },
      QString("row %1").arg(row));
}

void RunFiles::open_dialog() {
  open_files_later(QFileDialog::getOpenFileNames(
      &window_, "Open", {},
      "Runs (*.json *.timeline *.csv *.gz *.sqlite *.jsonl);;Scenarios and traces (*.json *.gz "
      "*.sqlite);;Timelines (*.timeline);;Orders (*.csv);;Sweeps (*.jsonl);;All files (*)"));
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
  const QStringList files = files_of(*open.run);
  for (const QString& file : files) {
    if (!QFileInfo::exists(file)) return show_message(file + ": there is no such file any more");
  }
  changes_.read_again(open, [paths = local_paths(files), settings = open.changes.settings] {
    const ViewedRunPtr read = open_files(paths).front();
    return settings.empty() ? read : viewed(changed(*read->scenario, settings));
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

void RunFiles::open_later(const QStringList& paths,
                          std::function<std::vector<ViewedRunPtr>(OnProgress)> read, OnRuns then,
                          const QString& what) {
  if (!cancel_->isHidden()) {
    opened_next_.push_back([=, this] { open_later(paths, read, then, what); });
    return;
  }
  show_message("Opening " + (what.isEmpty() ? paths.join(", ") : what));
  show_opening(true);
  cancelled_ = std::make_shared<std::atomic<bool>>(false);
  opening_.request(
      [this, paths, progress = progress_of(cancelled_), read = std::move(read),
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
        return [this, paths, runs = std::move(runs), problem, then] {
          show_opening(false);
          show_message(problem);
          if (!paths.isEmpty()) {
            const Remedy remedy = remedy_of(local_paths(paths));
            on_problem(problem, qt_text(remedy.label),
                       [this, remedy, paths] { mend(remedy, paths); });
          }
          if (problem.isEmpty()) runs_.guarded([&] { then(runs); });
          if (opened_next_.empty()) return;
          const auto next = std::move(opened_next_.front());
          opened_next_.erase(opened_next_.begin());
          next();
        };
      },
      0);
}

void RunFiles::show_opening(bool is_opening) {
  cancel_->setVisible(is_opening);
  progress_->setVisible(is_opening);
  progress_->setRange(0, 0);  // until it is known how much is left
}

void RunFiles::mend(const Remedy& remedy, const QStringList& paths) {
  if (remedy.kind == RemedyKind::again) return open_files_later(paths);
  if (remedy.kind == RemedyKind::forget) {
    forget_runs(paths);
    return show_recent();
  }
  QApplication::clipboard()->setText(QString::fromStdString(remedy.command));
  show_message("Copied: " + QString::fromStdString(remedy.command));
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

}  // namespace penstock
