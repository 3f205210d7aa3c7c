#include <doctest/doctest.h>

#include <QApplication>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <cstdlib>
#include <new>

#include "gui/views/canvas/background.hpp"
#include "gui/views/canvas/look.hpp"
#include "tests/gui/views/allocations.hpp"

// Counted, so that a test can show that a frame needs none. Sanitizers bring their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  ++penstock::testing::allocations;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

int main(int argc, char** argv) {
  setenv("QT_QPA_PLATFORM", "offscreen", 0);
  setenv("XDG_RUNTIME_DIR", "/tmp", 0);
  QStandardPaths::setTestModeEnabled(true);
  QApplication application(argc, argv);
  QApplication::setApplicationName("penstock-viewer-tests");
  QApplication::setOrganizationName("penstock");
  // Settings of this process: another test runs beside it.
  const QTemporaryDir own;
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, own.path());
  penstock::Background::patience_ms = 60'000;
  penstock::apply_theme(penstock::ThemeName::light);
  return doctest::Context(argc, argv).run();
}
