#pragma once

#include <QDialog>
#include <QListWidget>
#include <functional>

namespace penstock {

/// A list that is narrowed by typing.
struct ChoiceDialog {
  QDialog* dialog;
  QListWidget* list;
};

/// Shows an empty list. `on_pick` takes what an item has as `Qt::UserRole`; the dialog is closed
/// then.
ChoiceDialog show_choice(QWidget* parent, const QString& title, const QString& name,
                         const std::function<void(const QVariant&)>& on_pick);

}  // namespace penstock
