#pragma once

#include <QPushButton>
#include <QToolBar>
#include <functional>

#include "gui/views/panels/indicators.hpp"

namespace penstock {

/// A line across the window that says what went wrong, with what helps as a button. Hidden while
/// there is nothing to say.
class Notice : public QToolBar {
 public:
  Notice();
  /// Shows a text; without one, hides. `remedy` is the label of the first button, which hides it and then calls `mend`.
  void show_problem(const QString& text, const QString& remedy, std::function<void()> mend);

  std::function<void()> on_other;  // the second button: open another file
  std::function<void()> on_text;   // the text was clicked: show all of it

 private:
  TextLine* text_;
  QPushButton* remedy_;
  std::function<void()> mend_;
};

}  // namespace penstock
