#include "gui/views/dialogs/choice_dialog.hpp"

#include <QLineEdit>
#include <QVBoxLayout>

namespace penstock {

ChoiceDialog show_choice(QWidget* parent, const QString& title, const QString& name,
                         const std::function<void(const QVariant&)>& on_pick) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(title);
  dialog->setObjectName(name);
  auto* column = new QVBoxLayout(dialog);
  auto* field = new QLineEdit;
  field->setPlaceholderText("Type a part of its name");
  field->setAccessibleName("Part of the name");
  auto* list = new QListWidget;
  list->setAccessibleName(title);
  column->addWidget(field);
  column->addWidget(list);
  const auto take = [dialog, list, on_pick] {
    QListWidgetItem* const item = list->currentItem();
    if (item == nullptr || item->isHidden()) return;
    const QVariant picked = item->data(Qt::UserRole);
    // What is picked may wait for events, which would delete a closed dialog within its own key.
    dialog->hide();
    on_pick(picked);
    dialog->deleteLater();
  };
  QObject::connect(field, &QLineEdit::textChanged, list, [list](const QString& text) {
    QListWidgetItem* first = nullptr;
    for (int row = 0; row < list->count(); ++row) {
      QListWidgetItem* const item = list->item(row);
      item->setHidden(!item->text().contains(text, Qt::CaseInsensitive));
      if (first == nullptr && !item->isHidden()) first = item;
    }
    list->setCurrentItem(first);
  });
  QObject::connect(field, &QLineEdit::returnPressed, dialog, take);
  QObject::connect(list, &QListWidget::itemActivated, dialog, take);
  dialog->resize(460, 480);
  dialog->show();
  field->setFocus();
  return {dialog, list};
}

}  // namespace penstock
