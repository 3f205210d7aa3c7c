#pragma once

#include <QPointer>
#include <QTimer>
#include <map>
#include <memory>
#include <string>

#include "gui/views/window/viewer_window.hpp"
#include "tests/gui/views/monkey/draw.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::monkey {

/// A window and what random hands do to it.
struct Monkey {
  explicit Monkey(std::uint64_t seed);
  ~Monkey();

  /// Small enough to be written as a picture.
  bool is_small();
  /// The path of a file to be written; some cannot be.
  QString written_file(const QStringList& suffixes);

  Draw draw;
  testing::Scratch folder;
  QStringList files;
  std::unique_ptr<ViewerWindow> window;
  QTimer tender;  // answers dialogs that wait for an answer
  std::map<std::string, int> done;
};

/// Handles the events that wait, and deletes what is to be deleted.
void settle();

/// Answers what waits for an answer within a step: file dialogs, message boxes, menus, drags.
void answer(Monkey& monkey);

/// Ends the program with a fault if what the window holds does not fit together, or if it shows
/// words of the program's insides.
void check(Monkey& monkey);

}  // namespace penstock::monkey
