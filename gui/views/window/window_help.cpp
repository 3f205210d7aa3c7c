#include <QDialog>
#include <QListWidget>
#include <QVBoxLayout>
#include <functional>

#include "gui/views/canvas/look.hpp"
#include "gui/views/panels/tables.hpp"
#include "gui/views/window/viewer_action.hpp"
#include "gui/views/window/viewer_window.hpp"

namespace penstock {
namespace {

/// A list that is narrowed by typing.
struct Choice {
  QDialog* dialog;
  QListWidget* list;
};
/// `on_pick` takes what an item has as `Qt::UserRole`; the dialog is closed then.
Choice make_choice(QWidget* parent, const QString& title, const QString& name,
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
    dialog->close();
    on_pick(picked);
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

}  // namespace

void ViewerWindow::show_actions() {
  const Choice choice = make_choice(
      this, "Find an action", "actions",
      [this](const QVariant& picked) { action(picked.toString().toStdString())->trigger(); });
  for (const ViewerAction& entry : viewer_actions()) {
    QStringList keys;
    for (const QKeySequence& key : action(entry.id)->shortcuts()) {
      keys << key.toString(QKeySequence::NativeText);
    }
    auto* item = new QListWidgetItem(qt_text(entry.text) + "\t" + keys.join(", "), choice.list);
    item->setData(Qt::UserRole, qt_text(entry.id));
    item->setFlags(action(entry.id)->isEnabled() ? item->flags() : Qt::NoItemFlags);
  }
}

void ViewerWindow::show_lanes() {
  OpenRun& open = *now();
  const Choice choice = make_choice(this, "Find a lane", "lanes", [this](const QVariant& picked) {
    if (now() == nullptr) return;
    const OpSteps steps{now()->run->plan, now()->run->timeline, *canvas()->first()->lanes};
    const std::int64_t left = canvas()->view().axis.origin;
    canvas()->scroll_to(picked.toUInt());
    select(steps.on_rank(picked.toUInt(), left));
    canvas()->setFocus();
  });
  std::vector<QStringList> stages(open.run->plan.ranks);
  for (const WorkClass& work : open.run->plan.classes) {
    if (open.run->plan.is_link(work.resource)) continue;
    const QString stage = QString::number(index(work.stage));
    if (!stages[work.resource].contains(stage)) stages[work.resource] << stage;
  }
  for (std::uint32_t rank = 0; rank < open.run->plan.ranks; ++rank) {
    auto* item = new QListWidgetItem(
        QString("rank %1\tstage %2").arg(rank).arg(stages[rank].join(", ")), choice.list);
    item->setData(Qt::UserRole, rank);
  }
}

void ViewerWindow::show_help() {
  auto* dialog = new QDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle("Keys");
  dialog->setObjectName("help");
  auto* column = new QVBoxLayout(dialog);
  auto* table = make_table({"", "what it does", "keys"}, "Keys", {});
  for (const ViewerAction& entry : viewer_actions()) {
    QStringList keys;
    for (const QKeySequence& key : action(entry.id)->shortcuts()) {
      keys << key.toString(QKeySequence::NativeText);
    }
    new QTreeWidgetItem(table, {qt_text(entry.menu), qt_text(entry.text), keys.join("   ")});
  }
  const QList<QStringList> hand{
      {"Hand", "Zoom at the pointer", "Ctrl+wheel, pinch"},
      {"Hand", "Scroll ranks; zoom where all fit", "wheel"},
      {"Hand", "Pan", "Shift+wheel, Shift+drag, middle button"},
      {"Hand", "Height of the lanes", "Alt+wheel"},
      {"Hand", "Select an area; its ends snap to ops", "drag (Alt: no snapping)"},
      {"Hand", "Move the selected op in its order", "drag it along its lane"},
      {"Hand", "Move layers between ranks", "drag the line between two names of ranks"},
      {"Hand", "Zoom to an op", "double click"}};
  for (const QStringList& row : hand) new QTreeWidgetItem(table, row);
  for (int c = 0; c < 3; ++c) table->resizeColumnToContents(c);
  column->addWidget(table);
  dialog->resize(620, 640);
  dialog->show();
}

}  // namespace penstock
