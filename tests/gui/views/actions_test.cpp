#include <doctest/doctest.h>

#include <QComboBox>
#include <QDialog>
#include <QFileDialog>
#include <QPointer>
#include <QTimer>
#include <QTreeWidget>
#include <set>

#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::Opened;

/// Everything that an action can change, as text.
QString fingerprint(Opened& opened) {
  ViewerWindow& window = opened.window;
  QStringList facts{window.isVisible() ? "shown" : "closed", QString::number(window.count()),
                    window.message(), QString::number(static_cast<int>(window.theme_name()))};
  if (QApplication::focusWidget() != nullptr) {
    facts << QApplication::focusWidget()->accessibleName();
  }
  for (const QDialog* dialog : window.findChildren<QDialog*>()) {
    if (dialog->isVisible()) facts << dialog->objectName();
  }
  for (const QDockWidget* dock : window.findChildren<QDockWidget*>()) {
    facts << (dock->isHidden() ? "0" : "1");
  }
  if (window.now() == nullptr) return facts.join("|");
  TimelineCanvas& canvas = opened.canvas();
  const CanvasView& view = canvas.view();
  facts << QString::number(view.axis.origin) << QString::number(view.axis.picoseconds_per_pixel)
        << QString::number(view.top) << QString::number(view.lane_height)
        << QString::number(canvas.selected().task) << QString::number(canvas.marks().size())
        << QString::number(canvas.path().size()) << QString::number(canvas.bright().size())
        << QString::number(canvas.choice().transfers) << QString::number(canvas.choice().receives)
        << QString::number(canvas.choice().memory) << QString::number(canvas.choice().links)
        << QString::number(static_cast<int>(canvas.choice().style))
        << QString::number(static_cast<int>(canvas.first()->by))
        << QString::number(opened.run().span().picoseconds)
        << QString::number(window.now()->pairs.size())
        << QString::number(static_cast<int>(window.now()->alignment));
  if (canvas.area()) facts << QString::number(canvas.area()->begin);
  return facts.join("|");
}

/// A state in which every action has something to do.
void get_ready(Opened& opened) {
  ViewerWindow& window = opened.window;
  window.comparison().freeze_reference();
  window.changes().what_if().turn("/schedule/microbatches", "8");
  window.changes().set_scenario(
      changed(*opened.run().scenario, {"/model/stages/1/forward_us=1300"}));
  opened.settle();
  window.steps().search_field().setText("kind:F mb:3");
  window.steps().run_search();
  opened.canvas().set_choice({.transfers = true, .runs = 2, .style = PairStyle::mirrored});
  opened.canvas().scale_lanes(4);
  opened.canvas().zoom_at(300, 0.5);
  opened.canvas().scroll(60);
  opened.canvas().pan(0.05);
  opened.canvas().history().back();
  opened.canvas().select(opened.op("2F3"), false);
  opened.canvas().setFocus();
  window.runs().say("ready");
  opened.settle();
}

/// Closes a file dialog as soon as one is open; whether there was one.
struct DialogCloser {
  DialogCloser() {
    timer.setInterval(20);
    QObject::connect(&timer, &QTimer::timeout, [this] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (dialog == nullptr) return;
      seen = true;
      dialog->reject();
    });
    timer.start();
  }
  QTimer timer;
  bool seen = false;
};

TEST_CASE("actions: every key of the table does something") {
  for (const ViewerAction& entry : viewer_actions()) {
    CAPTURE(std::string(entry.id));
    Opened opened;
    get_ready(opened);
    if (entry.id == "export_area") {
      opened.canvas().set_area(Area{0, 1'000'000'000, 0, 2});
    }
    if (entry.id == "by_pass") opened.window.runs().colour_by(ColourBy::stage);
    const QString before = fingerprint(opened);
    DialogCloser closer;
    QAction* const action = opened.window.action(entry.id);
    REQUIRE(action->isEnabled());
    if (action->shortcuts().isEmpty()) {
      action->trigger();
    } else {
      opened.press(action->shortcuts().front());
    }
    opened.settle();
    const bool changed = closer.seen || fingerprint(opened) != before;
    CHECK(changed);
  }
}

TEST_CASE("actions: every further key of an action does the same as its first") {
  for (const ViewerAction& entry : viewer_actions()) {
    if (entry.keys.find(' ') == std::string_view::npos) continue;
    CAPTURE(std::string(entry.id));
    const auto keys = Opened().window.action(entry.id)->shortcuts();
    for (qsizetype k = 1; k < keys.size(); ++k) {
      Opened opened;
      get_ready(opened);
      const QString before = fingerprint(opened);
      opened.press(keys[k]);
      CHECK_MESSAGE(fingerprint(opened) != before, keys[k].toString().toStdString());
    }
  }
}

/// The keys that users know from other viewers, or that the guide names.
constexpr const char* promised_keys =
    "W zoom_in; S zoom_out; A pan_left; D pan_right; Shift+W zoom_in_fast; "
    "Shift+D pan_right_fast; 0 fit; Home fit; F fit_selection; Z back; Shift+Z forward; "
    ". next_op; , previous_op; [ cause; ] effect; Up rank_up; Down rank_down; B next_idle; "
    "Shift+B previous_idle; G follow; C path; Shift+C slack; R area; M mark; Esc clear; "
    "Q docks; ? help; / search; P pin; X swap; 1 only_a; 2 only_b; 3 both; T theme; "
    "Ctrl+E export_view; Ctrl+D freeze; Ctrl+P find_lane; Ctrl+Shift+P actions; Ctrl+O open; "
    "Ctrl+Shift+O compare; Ctrl+Shift+T stack; Ctrl+Shift+D drop; Ctrl+S save_scenario; "
    "Ctrl+Shift+S save_order; Ctrl+Z undo; Ctrl+Shift+Z redo; Alt+Up op_earlier; "
    "Alt+Down op_later; V style; L align; Shift+L align_op; K blink; J difference; "
    "I next_iteration; U links; N memory; Y transfers";

TEST_CASE("actions: each has all keys of its row, and each promised key is the one of its action") {
  Opened opened;
  for (const ViewerAction& entry : viewer_actions()) {
    CAPTURE(std::string(entry.id));
    QStringList keys;
    for (const QKeySequence& key : opened.window.action(entry.id)->shortcuts()) {
      keys << key.toString(QKeySequence::PortableText);
    }
    CHECK(keys.join(' ').toStdString() == entry.keys);
  }
  for (const QString& promised : QString(promised_keys).split("; ")) {
    CAPTURE(promised.toStdString());
    const QAction* const action = opened.window.action(promised.section(' ', 1).toStdString());
    CHECK(action->shortcuts().contains(QKeySequence(promised.section(' ', 0, 0))));
  }
}

TEST_CASE("actions: no key and no name belongs to two of them") {
  Opened opened;
  std::set<QString> keys;
  std::set<std::string_view> ids;
  for (const ViewerAction& entry : viewer_actions()) {
    CHECK(ids.insert(entry.id).second);
    for (const QKeySequence& key : opened.window.action(entry.id)->shortcuts()) {
      CHECK(!key.isEmpty());
      CHECK_MESSAGE(keys.insert(key.toString()).second, key.toString().toStdString());
    }
  }
  CHECK(ids.size() > 55);
}

TEST_CASE("actions: without a run, those that need one are disabled and nothing breaks") {
  ViewerWindow window(ThemeName::light);
  window.show();
  for (const ViewerAction& entry : viewer_actions()) {
    CHECK(window.action(entry.id)->isEnabled() == !entry.needs_run);
  }
  window.steps().run_search();
  window.action("theme")->trigger();
  CHECK(window.theme_name() == ThemeName::dark);
  window.set_theme(ThemeName::light);
}

TEST_CASE("actions: the help sheet and the palette list every action") {
  Opened opened;
  opened.window.show_help();
  opened.window.show_actions();
  const auto* help = opened.window.findChild<QDialog*>("help")->findChild<QTreeWidget*>();
  CHECK(help->topLevelItemCount() >= static_cast<int>(viewer_actions().size()));
  auto* palette = opened.window.findChild<QDialog*>("actions");
  auto* field = palette->findChild<QLineEdit*>();
  QTest::keyClicks(field, "critical");
  QTest::keyClick(field, Qt::Key_Return);
  opened.settle();
  CHECK(!opened.canvas().path().empty());
}

/// Takes the kind of file with this text and this name in the next file dialog.
void save_in_next_dialog(const QString& kind, const QString& name) {
  QTimer::singleShot(50, [kind, name] {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    if (dialog == nullptr) return save_in_next_dialog(kind, name);
    auto* kinds = dialog->findChild<QComboBox*>("fileTypeCombo");
    kinds->setCurrentText(kind);
    kinds->textActivated(kind);
    dialog->findChild<QLineEdit*>("fileNameEdit")->setText(name);
    static_cast<QDialog*>(dialog)->accept();
  });
}

TEST_CASE(
    "export: the chosen kind of file gives the suffix, and the message says what was written") {
  Opened opened;
  const testing::Scratch folder;
  save_in_next_dialog("PDF (*.pdf)", QString::fromStdString(folder.path("view")));
  opened.window.files().export_dialog();
  CHECK(opened.window.message().toStdString() == "Written: " + folder.path("view.pdf"));
  CHECK(testing::content_of(folder.path("view.pdf")).starts_with("%PDF"));
}

TEST_CASE("actions: one that waits for events can be picked by Enter in the palette") {
  Opened opened;
  opened.window.show_actions();
  QPointer<QDialog> palette = opened.window.findChild<QDialog*>("actions");
  auto* field = palette->findChild<QLineEdit*>();
  QTest::keyClicks(field, "the example");
  QApplication::postEvent(field, new QKeyEvent(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier));
  QApplication::processEvents();
  CHECK(opened.window.count() == 2);
  // Qt reads the field again once the action has run, so it must outlive the key.
  CHECK(palette != nullptr);
  opened.settle();
  QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  CHECK(palette == nullptr);
}

}  // namespace
}  // namespace penstock
