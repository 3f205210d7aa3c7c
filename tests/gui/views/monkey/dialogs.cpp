#include <QApplication>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QRegularExpression>
#include <QThread>
#include <QWindow>
#include <QtTest/QTest>

#include "tests/gui/views/monkey/journal.hpp"
#include "tests/gui/views/monkey/monkey.hpp"

namespace penstock::monkey {
namespace {

/// Later, for a dialog may ask back and wait within the call.
void call_later(QDialog* dialog, const char* slot) {
  QMetaObject::invokeMethod(dialog, slot, Qt::QueuedConnection);
}

/// The suffixes that a dialog offers.
QStringList suffixes_of(const QFileDialog& dialog) {
  QStringList all{".png"};
  for (const QString& filter : dialog.nameFilters()) {
    for (const QString& word : filter.split(QRegularExpression("[ ()]"), Qt::SkipEmptyParts)) {
      if (word.startsWith("*.")) all << word.mid(1);
    }
  }
  return all;
}

void answer_file_dialog(Monkey& monkey, QFileDialog& dialog) {
  const bool saves = dialog.acceptMode() == QFileDialog::AcceptSave;
  // A dialog that refuses a name stays open.
  const bool again = dialog.property("answered").toBool();
  if (again || monkey.draw.one_in(4) || (saves && !monkey.is_small())) {
    add_to_step("– rejected");
    return call_later(&dialog, "reject");
  }
  dialog.setProperty("answered", true);
  QString names;
  if (saves) {
    names = monkey.written_file(suffixes_of(dialog));
  } else {
    for (int files = monkey.draw.between(1, 3); files > 0; --files) {
      names += "\"" + monkey.draw.of(monkey.files) + "\" ";
    }
  }
  auto* const field = dialog.findChild<QLineEdit*>("fileNameEdit");
  if (field == nullptr) fail("a file dialog without a field for the name");
  field->setText(names);
  add_to_step("– answered " + names.toStdString());
  call_later(&dialog, "accept");
}

void answer_message_box(Monkey& monkey, QMessageBox& box) {
  const QList<QAbstractButton*> buttons = box.buttons();
  add_to_step("– asked: " + box.text().left(60).toStdString());
  if (buttons.isEmpty()) return call_later(&box, "reject");
  QMetaObject::invokeMethod(buttons[static_cast<int>(monkey.draw.below(buttons.size()))], "click",
                            Qt::QueuedConnection);
}

}  // namespace

void answer(Monkey& monkey) {
  // Only within a loop of its own does something wait.
  if (QThread::currentThread()->loopLevel() == 0) return;
  if (QWidget* const popup = QApplication::activePopupWidget()) {
    popup->close();
    return;
  }
  QWidget* const modal = QApplication::activeModalWidget();
  if (auto* const files = qobject_cast<QFileDialog*>(modal)) {
    answer_file_dialog(monkey, *files);
  } else if (auto* const box = qobject_cast<QMessageBox*>(modal)) {
    answer_message_box(monkey, *box);
  } else if (auto* const dialog = qobject_cast<QDialog*>(modal)) {
    call_later(dialog, "reject");
  } else if (monkey.window->windowHandle() != nullptr) {
    // Text that is dragged.
    QTest::keyClick(monkey.window->windowHandle(), Qt::Key_Escape);
  }
}

}  // namespace penstock::monkey
