#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QSettings>
#include <QStandardPaths>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "gui/views/canvas/look.hpp"
#include "tests/gui/views/monkey/journal.hpp"
#include "tests/gui/views/monkey/monkey.hpp"
#include "tests/gui/views/monkey/steps.hpp"

// Random hands on the viewer: see tests/gui/monkey.

namespace penstock::monkey {
namespace {

constexpr std::size_t most_tabs = 6;

struct Wanted {
  std::uint64_t seed = 0;
  double seconds = 1e9;
  std::uint64_t steps = UINT64_MAX;
};

Wanted wanted_of(int argc, char** argv) {
  Wanted wanted;
  wanted.seed = static_cast<std::uint64_t>(
                    std::chrono::system_clock::now().time_since_epoch().count() / 1000) %
                1'000'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    if (word == "--seed") wanted.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (word == "--seconds") wanted.seconds = std::strtod(argv[i + 1], nullptr);
    if (word == "--steps") wanted.steps = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return wanted;
}

/// What Qt warns of is a fault, apart from what its offscreen platform says of itself.
void on_qt_message(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (type == QtDebugMsg || type == QtInfoMsg) return;
  if (text.startsWith("This plugin does not support")) return;
  fail("Qt warns: " + text.toStdString());
}

const Step& drawn(Draw& draw) {
  unsigned all = 0;
  for (const Step& step : steps()) all += step.weight;
  std::size_t at = draw.below(all);
  for (const Step& step : steps()) {
    if (at < step.weight) return step;
    at -= step.weight;
  }
  return steps().front();
}

/// Runs a step as an event, so that what it deletes later outlives it, as in the program.
class StepTaker : public QObject {
 public:
  StepTaker(const Step& step, Monkey& monkey) : step_(step), monkey_(monkey) {
    QEvent event(QEvent::User);
    QApplication::sendEvent(this, &event);
  }
  bool event(QEvent*) override {
    step_.run(monkey_);
    return true;
  }

 private:
  const Step& step_;
  Monkey& monkey_;
};

/// Runs a step and what follows from it.
void take_step(Monkey& monkey) {
  const Step& step = drawn(monkey.draw);
  ++monkey.done[step.name];
  begin_step(std::string(step.name) + ":");
  try {
    StepTaker(step, monkey);
    settle();
  } catch (const std::exception& error) {
    fail(std::string("an exception left the window: ") + error.what());
  }
  QWidget* const popup = QApplication::activePopupWidget();
  if (popup != nullptr && monkey.draw.one_in(3)) popup->close();
  if (!monkey.window->isVisible()) monkey.window->show();
  if (monkey.window->count() > most_tabs) monkey.window->runs().close();
  settle();
  check(monkey);
}

int run(const Wanted& wanted) {
  std::printf("monkey: seed %llu\n", static_cast<unsigned long long>(wanted.seed));
  std::fflush(stdout);
  Monkey monkey(wanted.seed);
  start_journal(wanted.seed);
  QElapsedTimer clock;
  clock.start();
  qint64 longest = 0;
  while (steps_begun() < wanted.steps &&
         static_cast<double>(clock.elapsed()) < 1e3 * wanted.seconds) {
    const qint64 before = clock.elapsed();
    take_step(monkey);
    longest = std::max(longest, clock.elapsed() - before);
  }
  std::printf("monkey: %llu steps in %lld s, the longest %lld ms, no fault\n",
              static_cast<unsigned long long>(steps_begun()),
              static_cast<long long>(clock.elapsed() / 1000), static_cast<long long>(longest));
  for (const auto& [name, count] : monkey.done) std::printf("  %6d %s\n", count, name.c_str());
  return 0;
}

}  // namespace
}  // namespace penstock::monkey

int main(int argc, char** argv) {
  setenv("QT_QPA_PLATFORM", "offscreen", 0);
  setenv("XDG_RUNTIME_DIR", "/tmp", 0);
  QStandardPaths::setTestModeEnabled(true);
  QApplication application(argc, argv);
  QApplication::setApplicationName("penstock-viewer-monkey");
  QApplication::setOrganizationName("penstock");
  qInstallMessageHandler(penstock::monkey::on_qt_message);
  // Recent files are none of the person's who starts this.
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, QDir::tempPath());
  penstock::apply_theme(penstock::ThemeName::light);
  return penstock::monkey::run(penstock::monkey::wanted_of(argc, argv));
}
