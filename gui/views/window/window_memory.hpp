#pragma once

#include <QMainWindow>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "gui/models/drawing/theme.hpp"

namespace penstock {

// What the viewer keeps from one day to the next, in the settings of the user: theme, place and
// panels of the window, marks of runs, and the runs opened last.

std::optional<ThemeName> remembered_theme();
/// Whether there was something to take up.
bool take_up_window(QMainWindow& window);
void remember_window(const QMainWindow& window, ThemeName theme);

/// Of a file, the first one of a run.
std::vector<std::int64_t> remembered_marks(const QString& source);
void remember_marks(const QString& source, const std::vector<std::int64_t>& marks);

/// A run as it was opened.
struct RecentRun {
  QString title;
  QStringList paths;  // several are one run, such as the traces of its ranks
};
/// The newest first.
std::vector<RecentRun> recent_runs();
void remember_run(const RecentRun& run);
/// Those of some files that are gone.
void forget_runs(const QStringList& paths);
/// "first_run.json – 1f1b, 4 ranks, 8 microbatches"; "rank0.json and 63 more – …".
QString text_of(const RecentRun& run);

}  // namespace penstock
