#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <QApplication>
#include <QStandardPaths>
#include <cstdlib>

#include "gui/views/canvas/look.hpp"

int main(int argc, char** argv) {
  setenv("QT_QPA_PLATFORM", "offscreen", 0);
  setenv("XDG_RUNTIME_DIR", "/tmp", 0);
  QStandardPaths::setTestModeEnabled(true);
  QApplication application(argc, argv);
  QApplication::setApplicationName("penstock-viewer-tests");
  QApplication::setOrganizationName("penstock");
  penstock::apply_theme(penstock::ThemeName::light);
  return doctest::Context(argc, argv).run();
}
