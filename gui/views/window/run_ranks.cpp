#include "gui/views/window/run_ranks.hpp"

#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>

#include "gui/views/canvas/look.hpp"
#include "sim/base/error.hpp"

namespace penstock {

void RunRanks::set_order(const RankOrder& order) {
  if (!canvas()->set_rank_order(order)) throw UsageError("No rank fits");
}

void RunRanks::show_all() {
  set_order({});
  show_message("All ranks, by number");
}

void RunRanks::cycle_sort() {
  RankOrder order = canvas()->rank_order();
  order.sort = static_cast<RankSort>((static_cast<std::size_t>(order.sort) + 1) % rank_sort_count);
  set_order(order);
  show_message("Ranks " + qt_text(name(order.sort)));
}

void RunRanks::filter(const QString& text) {
  RankOrder order = canvas()->rank_order();
  order.filter = read_rank_filter(text.toStdString());
  set_order(order);
}

void RunRanks::toggle_folded() {
  RankOrder order = canvas()->rank_order();
  order.folded = !order.folded;
  set_order(order);
  const std::size_t shown = shown_ranks(canvas()->choice()).size();
  const std::size_t all = canvas()->choice().ranks;
  show_message(!order.folded ? QString("All replicas are shown")
               : shown == all
                   ? QString("No rank has replicas")
                   : QString("%1 of %2 ranks: one of each set of replicas").arg(shown).arg(all));
}

void RunRanks::toggle_heat() {
  const bool was_heat = canvas()->rows().front().heat;
  canvas()->change_choice([&](LaneChoice& choice) {
    choice.heat = !was_heat;
    choice.stripes = was_heat;
  });
  const bool is_heat = canvas()->rows().front().heat;
  show_message(is_heat && was_heat ? too_low_for_ops
               : is_heat           ? "Idle time as heat: the stronger, the more of it"
                                   : "Ops and idle time");
}

void RunRanks::ask_filter() {
  auto* dialog = new QDialog(&window_);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle("Show only some ranks");
  dialog->setObjectName("filter_ranks");
  auto* column = new QVBoxLayout(dialog);
  auto* field = new QLineEdit;
  field->setPlaceholderText("idle>30% mem>40GiB stage:3 0-7; empty: all");
  field->setAccessibleName("Which ranks");
  auto* answer = new QLabel;
  answer->setWordWrap(true);
  column->addWidget(field);
  column->addWidget(answer);
  QObject::connect(field, &QLineEdit::textChanged, dialog, [this, answer](const QString& text) {
    if (now() == nullptr) return;
    try {
      filter(text);
      answer->setText(QString("%1 of %2 ranks")
                          .arg(shown_ranks(canvas()->choice()).size())
                          .arg(canvas()->choice().ranks));
    } catch (const std::exception& error) {
      answer->setText(QString::fromUtf8(error.what()));
    }
  });
  QObject::connect(field, &QLineEdit::returnPressed, dialog, &QDialog::accept);
  dialog->resize(420, 90);
  dialog->show();
  field->setFocus();
}

}  // namespace penstock
