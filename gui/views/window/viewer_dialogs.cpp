// The dialogs and menus of the window that are made from its table of actions, and the lists of
// lanes, keys and messages.

#include <QDialog>
#include <QListWidget>
#include <QVBoxLayout>

#include "gui/views/canvas/look.hpp"
#include "gui/views/panels/tables.hpp"
#include "gui/views/window/viewer_window.hpp"

namespace penstock {
namespace {

QStringList keys_of(const QAction& action) {
  QStringList keys;
  for (const QKeySequence& key : action.shortcuts()) {
    keys << key.toString(QKeySequence::NativeText);
  }
  return keys;
}

/// An empty dialog that goes when it is closed.
QDialog* new_dialog(QWidget* parent, const QString& title, const QString& name) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(title);
  dialog->setObjectName(name);
  return dialog;
}

/// Shows an empty list that is narrowed by typing. `on_pick` takes what an item has as
/// `Qt::UserRole`; the dialog is closed then.
QListWidget* show_choice(QWidget* parent, const QString& title, const QString& name,
                         const std::function<void(const QVariant&)>& on_pick) {
  QDialog* const dialog = new_dialog(parent, title, name);
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
  return list;
}

/// Shows a text to read and copy.
void show_text(QWidget* parent, const QString& title, const QString& name, const QString& text) {
  QDialog* const dialog = new_dialog(parent, title, name);
  auto* column = new QVBoxLayout(dialog);
  auto* field = new QPlainTextEdit(text);
  field->setReadOnly(true);
  field->setAccessibleName(title);
  column->addWidget(field);
  dialog->resize(640, 240);
  dialog->show();
  field->setFocus();
}

}  // namespace

void ViewerWindow::show_actions() {
  QListWidget* const choice = show_choice(
      this, "Find an action", "actions",
      [this](const QVariant& picked) { action(picked.toString().toStdString())->trigger(); });
  for (const ViewerAction& entry : viewer_actions()) {
    auto* item = new QListWidgetItem(
        qt_text(entry.text) + "\t" + keys_of(*action(entry.id)).join(", "), choice);
    item->setData(Qt::UserRole, qt_text(entry.id));
    item->setFlags(action(entry.id)->isEnabled() ? item->flags() : Qt::NoItemFlags);
  }
}

void ViewerWindow::show_lanes() {
  OpenRun& open = *now();
  QListWidget* const choice =
      show_choice(this, "Find a lane", "lanes", [this](const QVariant& picked) {
        if (now() == nullptr) return;
        const OpSteps steps{*now()->run, *canvas()->first()->lanes};
        runs_.select(steps.on_rank(picked.toUInt(), canvas()->view().axis.origin));
        canvas()->setFocus();
      });
  const std::vector<RankSummary>& facts = *canvas()->first()->facts;
  for (std::uint32_t rank = 0; rank < open.run->plan.ranks; ++rank) {
    QString text = qt_text(place_text(open.run->plan, rank));
    if (!facts[rank].stages.empty()) text += "\t" + qt_text(stages_text(facts[rank].stages));
    (new QListWidgetItem(text, choice))->setData(Qt::UserRole, rank);
  }
}

void ViewerWindow::show_menu(QPoint at) {
  const Facts facts = canvas()->facts_of_selection();
  const std::uint8_t on = !canvas()->selected().is_none() ? on_op
                          : canvas()->selected_memory()   ? on_memory
                          : canvas()->selected_gap()      ? on_gap
                          : canvas()->area()              ? on_area
                                                          : on_empty;
  auto* menu = new QMenu(this);
  menu->setObjectName("on the timeline");
  menu->setAttribute(Qt::WA_DeleteOnClose);
  if (!facts.title.empty()) menu->addSection(qt_text(facts.title));
  std::string_view group;
  for (const ViewerAction& entry : viewer_actions()) {
    if ((entry.menu_on & on) == 0) continue;
    if (entry.menu != group && !group.empty()) menu->addSeparator();
    group = entry.menu;
    menu->addAction(action(entry.id));
  }
  menu->popup(at);
}

void ViewerWindow::show_help() {
  QDialog* const dialog = new_dialog(this, "Keys", "help");
  auto* column = new QVBoxLayout(dialog);
  auto* table = make_table({"", "what it does", "keys"}, "Keys");
  for (const ViewerAction& entry : viewer_actions()) {
    new QTreeWidgetItem(
        table, {qt_text(entry.menu), qt_text(entry.text), keys_of(*action(entry.id)).join("   ")});
  }
  const QList<QStringList> hand{
      {"Hand", "Zoom at the pointer", "Ctrl+wheel, pinch"},
      {"Hand", "Scroll ranks; zoom where all fit", "wheel"},
      {"Hand", "Pan", "Shift+wheel, Shift+drag, middle button"},
      {"Hand", "Height of the lanes", "Alt+wheel"},
      {"Hand", "Scroll to other ranks", "drag the bar at the right"},
      {"Hand", "Order, filter or fold the ranks", "click on their number"},
      {"Hand", "Pin a rank on top, or back", "double click on its name"},
      {"Hand", "Select a time on all ranks", "drag along the ruler"},
      {"Hand", "Select an area; its ends snap to ops", "drag (Alt: no snapping)"},
      {"Hand", "Move the selected op in its order", "drag it along its lane"},
      {"Hand", "Move layers between ranks", "drag the line between two names of ranks"},
      {"Hand", "Select an op, a gap or a step of memory", "click"},
      {"Hand", "Zoom to an op, a gap or a step of memory", "double click"},
      {"Hand", "What can be done with it", "right button, Menu key"}};
  for (const QStringList& row : hand) new QTreeWidgetItem(table, row);
  for (int c = 0; c < 3; ++c) table->resizeColumnToContents(c);
  column->addWidget(table);
  dialog->resize(700, 640);
  dialog->show();
}

void ViewerWindow::show_rank_menu() {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const ViewerAction& entry : viewer_actions()) {
    if (entry.menu == "Ranks") menu->addAction(action(entry.id));
  }
  menu->popup(QCursor::pos());
}

void ViewerWindow::show_whole_message() {
  QStringList parts;
  for (const TextLine* line : {hover_, message_, &panels_.selection_line()}) {
    if (!line->text().isEmpty()) parts << line->text();
  }
  show_text(this, "Message", "message",
            parts.isEmpty() ? "There is no message" : parts.join("\n\n"));
}

}  // namespace penstock
