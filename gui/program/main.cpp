#include <fmt/format.h>

#include <QApplication>
#include <QCommandLineParser>
#include <QSettings>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>

#include "experiments/input/files/shipped.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/program/commands/line/budget_options.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/version.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/output/run_output.hpp"
#include "gui/views/window/viewer_window.hpp"
#include "gui/views/window/window_memory.hpp"
#include "sim/base/error.hpp"

namespace {

using namespace penstock;

struct ViewerOptions {
  QString screenshot;
  Existing replaced = Existing::own;
  std::optional<QSize> size;
  ThemeName theme = ThemeName::light;
  QString select;
  bool compare = false;
  QStringList files;
};

ThemeName theme_named(const QString& word) {
  for (std::size_t t = 0; t < theme_count; ++t) {
    if (qt_text(name(static_cast<ThemeName>(t))) == word) return static_cast<ThemeName>(t);
  }
  throw UsageError(fmt::format("--theme {}: known: light, dark, contrast", word.toStdString()));
}

QSize size_of(const QString& text) {
  const QStringList parts = text.split('x');
  const QSize size(parts.value(0).toInt(), parts.value(1).toInt());
  if (parts.size() != 2 || size.width() < 320 || size.height() < 240 || size.width() > 16384 ||
      size.height() > 16384) {
    throw UsageError(fmt::format("--size {}: expected WIDTHxHEIGHT, from 320x240 to 16384x16384",
                                 text.toStdString()));
  }
  return size;
}

[[noreturn]] void end_with(const std::string& text) {
  fmt::print("{}", text);
  if (std::fflush(stdout) != 0) throw std::runtime_error("standard output: cannot write");
  std::exit(0);
}

/// As given to commands of `penstock`.
void keep_to_bounds(const QCommandLineParser& parser) {
  BudgetOptions bounds;
  for (const BudgetOption& one : budget_options()) {
    bounds.*one.value = parser.value(one.name).toStdString();
    if (parser.isSet(one.name) && (bounds.*one.value).empty()) {
      throw UsageError(fmt::format("--{} is empty; give it a value, or leave it out", one.name));
    }
  }
  std::vector<std::string> words{QApplication::applicationName().toStdString()};
  for (const QString& word : QApplication::arguments().mid(1)) words.push_back(word.toStdString());
  keep_to(bounds, words);
}

ViewerOptions options_of(const QApplication& application) {
  QCommandLineParser parser;
  parser.setApplicationDescription("Shows runs of Penstock: scenarios, timelines, orders, traces.");
  const QCommandLineOption screenshot("screenshot", "Write a picture and end.", "OUT.png");
  const QCommandLineOption force("force", "Overwrite a picture that Penstock did not write.");
  const QCommandLineOption size("size", "Size of the window, default 1440x900.", "WxH");
  const QCommandLineOption theme("theme", "light, dark or contrast; default: the system's.",
                                 "NAME");
  const QCommandLineOption select("select", "Select the first op that fits a search.", "QUERY");
  const QCommandLineOption compare("compare", "The first run against the others, on one axis.");
  parser.addOptions({screenshot, force, size, theme, select, compare});
  for (const BudgetOption& one : budget_options()) {
    parser.addOption({one.name, one.help, one.placeholder});
  }
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("FILE", "scenarios, timelines, orders, traces", "[FILE...]");
  if (!parser.parse(QApplication::arguments())) {
    throw UsageError(parser.errorText().toStdString());
  }
  if (parser.isSet("help")) {
    end_with(parser.helpText().toStdString());
  }
  if (parser.isSet("version")) {
    end_with(fmt::format("penstock-viewer {}\n", application.applicationVersion().toStdString()));
  }
  keep_to_bounds(parser);
  ViewerOptions options;
  options.screenshot = parser.value(screenshot);
  if (parser.isSet(force)) options.replaced = Existing::any;
  if (parser.isSet(size)) options.size = size_of(parser.value(size));
  options.theme = parser.isSet(theme) ? theme_named(parser.value(theme))
                                      : remembered_theme().value_or(system_theme());
  options.select = parser.value(select);
  options.compare = parser.isSet(compare);
  for (const QString& file : parser.positionalArguments()) {
    options.files.append(QString::fromStdString(input_path(file.toStdString())));
  }
  if (!options.screenshot.isEmpty() && !parser.isSet(theme)) options.theme = ThemeName::light;
  return options;
}

void prepare(ViewerWindow& window, const ViewerOptions& options) {
  if (options.compare) {
    window.files().open_compared(options.files);
  } else {
    window.files().open_files_now(options.files);
  }
  if (window.now() == nullptr) return;
  if (!options.select.isEmpty()) {
    window.steps().search_field().setText(options.select);
    window.steps().run_search();
  }
}

int screenshot(const ViewerOptions& options) {
  ViewerWindow window(options.theme);
  if (options.size) window.resize(*options.size);
  window.show();
  prepare(window, options);
  QApplication::processEvents();
  window.finish();
  QApplication::processEvents();
  if (!options.select.isEmpty() && window.now() != nullptr && window.now()->steps.found.empty()) {
    throw UsageError(fmt::format("--select {}: no op fits", options.select.toStdString()));
  }
  write_picture(window, options.screenshot.toStdString(), options.replaced);
  return 0;
}

int interactive(const ViewerOptions& options) {
  ViewerWindow window(options.theme);
  window.take_up();
  if (options.size) window.resize(*options.size);
  window.show();
  QSettings settings;
  if (options.files.isEmpty() && !settings.value("started").toBool()) window.files().open_example();
  settings.setValue("started", true);
  if (!options.compare && options.select.isEmpty()) {
    window.files().open_files_later(options.files);
  } else {
    prepare(window, options);
  }
  return QApplication::exec();
}

bool wants_no_display(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    if (word.starts_with("--screenshot") || word == "--help" || word == "-h" ||
        word == "--version" || word == "-v") {
      return true;
    }
  }
  return false;
}

constexpr int machine_cannot = 4;

/// Qt reports in several lines why it has no display, and aborts.
void end_without_display(QtMsgType type, const QMessageLogContext& /*context*/,
                         const QString& /*text*/) {
  if (type != QtFatalMsg) return;
  say("error: no display to open a window on; --screenshot OUT.png writes a picture without one");
  std::_Exit(machine_cannot);
}

int report_error(const std::exception& error, int code) {
  say(fmt::format("error: {}", error.what()));
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  take_up_signals();
  if (wants_no_display(argc, argv)) setenv("QT_QPA_PLATFORM", "offscreen", 1);
  qInstallMessageHandler(end_without_display);
  QApplication application(argc, argv);
  qInstallMessageHandler(nullptr);
  QApplication::setApplicationName("penstock-viewer");
  QApplication::setOrganizationName("penstock");
  QApplication::setApplicationVersion(QString::fromUtf8(penstock::version));
  QApplication::setDesktopFileName("penstock-viewer");
  try {
    const ViewerOptions options = options_of(application);
    apply_theme(options.theme);
    return options.screenshot.isEmpty() ? interactive(options) : screenshot(options);
  } catch (const UsageError& error) {
    return report_error(error, 2);
  } catch (const UnfinishedRun& unfinished) {
    say(unfinished.what());
    return 1;
  } catch (const InputError& error) {
    return report_error(error, 3);
  } catch (const OverBudget& error) {
    return report_error(error, 3);
  } catch (const std::exception& error) {
    return report_error(error, machine_cannot);
  }
}
