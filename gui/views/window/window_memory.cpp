#include "gui/views/window/window_memory.hpp"

#include <QFileInfo>
#include <QSettings>
#include <algorithm>

#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_recent = 10;
constexpr int most_marked = 50;    // files
constexpr int layout_version = 1;  // of the panels

QString whole(const QString& path) { return QFileInfo(path).absoluteFilePath(); }

void write_recent(const std::vector<RecentRun>& runs) {
  QSettings settings;
  settings.beginWriteArray("recent_runs", static_cast<int>(runs.size()));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    settings.setArrayIndex(static_cast<int>(i));
    settings.setValue("title", runs[i].title);
    settings.setValue("paths", runs[i].paths);
  }
  settings.endArray();
}

}  // namespace

std::optional<ThemeName> remembered_theme() {
  const QString word = QSettings().value("theme").toString();
  for (std::size_t t = 0; t < theme_count; ++t) {
    if (qt_text(name(static_cast<ThemeName>(t))) == word) return static_cast<ThemeName>(t);
  }
  return std::nullopt;
}

bool take_up_window(QMainWindow& window) {
  const QSettings settings;
  const bool placed = window.restoreGeometry(settings.value("geometry").toByteArray());
  return window.restoreState(settings.value("panels").toByteArray(), layout_version) && placed;
}

void remember_window(const QMainWindow& window, ThemeName theme) {
  QSettings settings;
  settings.setValue("theme", qt_text(name(theme)));
  settings.setValue("geometry", window.saveGeometry());
  settings.setValue("panels", window.saveState(layout_version));
}

std::vector<std::int64_t> remembered_marks(const QString& source) {
  std::vector<std::int64_t> marks;
  for (const QVariant& each : QSettings().value("marks").toMap()[whole(source)].toList()) {
    marks.push_back(each.toLongLong());
  }
  return marks;
}

void remember_marks(const QString& source, const std::vector<std::int64_t>& marks) {
  QSettings settings;
  QVariantMap all = settings.value("marks").toMap();
  QVariantList list;
  for (const std::int64_t mark : marks) list << QVariant::fromValue<qlonglong>(mark);
  all.remove(whole(source));
  while (all.size() >= most_marked) all.erase(all.begin());
  if (!list.isEmpty()) all[whole(source)] = list;
  settings.setValue("marks", all);
}

std::vector<RecentRun> recent_runs() {
  QSettings settings;
  std::vector<RecentRun> runs;
  const int count = settings.beginReadArray("recent_runs");
  for (int i = 0; i < count; ++i) {
    settings.setArrayIndex(i);
    runs.push_back({settings.value("title").toString(), settings.value("paths").toStringList()});
  }
  settings.endArray();
  return runs;
}

void remember_run(const RecentRun& run) {
  RecentRun kept{run.title, {}};
  for (const QString& path : run.paths) kept.paths << whole(path);
  std::vector<RecentRun> runs = recent_runs();
  std::erase_if(runs, [&](const RecentRun& each) { return each.paths == kept.paths; });
  runs.insert(runs.begin(), kept);
  if (runs.size() > most_recent) runs.resize(most_recent);
  write_recent(runs);
}

void forget_runs(const QStringList& paths) {
  QStringList gone;
  for (const QString& path : paths) {
    if (!QFileInfo::exists(path)) gone << whole(path);
  }
  std::vector<RecentRun> runs = recent_runs();
  std::erase_if(runs, [&](const RecentRun& run) {
    return std::any_of(run.paths.begin(), run.paths.end(),
                       [&](const QString& path) { return gone.contains(path); });
  });
  write_recent(runs);
}

QString text_of(const RecentRun& run) {
  QString text = QFileInfo(run.paths.value(0)).fileName();
  if (run.paths.size() > 1) text += QString(" and %1 more").arg(run.paths.size() - 1);
  return run.title.isEmpty() ? text : text + " – " + run.title;
}

}  // namespace penstock
