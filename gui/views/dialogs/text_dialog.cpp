#include "gui/views/dialogs/text_dialog.hpp"

#include <QDialog>
#include <QPlainTextEdit>
#include <QVBoxLayout>

namespace penstock {

void show_text(QWidget* parent, const QString& title, const QString& name, const QString& text) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(title);
  dialog->setObjectName(name);
  auto* column = new QVBoxLayout(dialog);
  auto* field = new QPlainTextEdit(text);
  field->setReadOnly(true);
  field->setAccessibleName(title);
  column->addWidget(field);
  dialog->resize(640, 240);
  dialog->show();
  field->setFocus();
}

}  // namespace penstock
