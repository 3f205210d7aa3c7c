#include <QDialog>
#include <QListWidget>
#include <QVBoxLayout>
#include <functional>

#include "gui/views/canvas/look.hpp"
#include "gui/views/dialogs/choice_dialog.hpp"
#include "gui/views/dialogs/text_dialog.hpp"
#include "gui/views/panels/tables.hpp"
#include "gui/views/window/viewer_action.hpp"
#include "gui/views/window/viewer_window.hpp"

namespace penstock {
void ViewerWindow::show_actions() {
  const ChoiceDialog choice = show_choice(
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
  const ChoiceDialog choice =
      show_choice(this, "Find a lane", "lanes", [this](const QVariant& picked) {
        if (now() == nullptr) return;
        const OpSteps steps{now()->run->plan, now()->run->timeline, *canvas()->first()->lanes};
        select(steps.on_rank(picked.toUInt(), canvas()->view().axis.origin));
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
  dialog->resize(700, 640);
  dialog->show();
}

/// The status bar in full: what does not fit is cut off there.
void ViewerWindow::show_whole_message() {
  QStringList parts;
  for (const TextLine* line : {hover_, message_, use_}) {
    if (!line->text().isEmpty()) parts << line->text();
  }
  show_text(this, "Message", "message",
            parts.isEmpty() ? "There is no message" : parts.join("\n\n"));
}

}  // namespace penstock
