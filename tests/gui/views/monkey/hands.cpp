#include "tests/gui/views/monkey/hands.hpp"

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QLineEdit>
#include <QNativeGestureEvent>
#include <QPointingDevice>
#include <QWheelEvent>
#include <QtTest/QTest>
#include <array>

#include "gui/views/window/viewer_window.hpp"
#include "tests/gui/views/monkey/journal.hpp"

namespace penstock::monkey {
namespace {

constexpr std::array other_keys{
    Qt::Key_Tab,    Qt::Key_Backtab,  Qt::Key_Return,    Qt::Key_Escape,     Qt::Key_Backspace,
    Qt::Key_Delete, Qt::Key_Space,    Qt::Key_Up,        Qt::Key_Down,       Qt::Key_Left,
    Qt::Key_Right,  Qt::Key_Home,     Qt::Key_End,       Qt::Key_PageUp,     Qt::Key_PageDown,
    Qt::Key_F4,     Qt::Key_F10,      Qt::Key_Alt,       Qt::Key_Menu,       Qt::Key_A,
    Qt::Key_E,      Qt::Key_H,        Qt::Key_O,         Qt::Key_5,          Qt::Key_9,
    Qt::Key_Colon,  Qt::Key_QuoteDbl, Qt::Key_BraceLeft, Qt::Key_BraceRight, Qt::Key_Comma,
    Qt::Key_Minus};
constexpr std::array<Qt::KeyboardModifiers, 6> modifiers{
    Qt::NoModifier,      Qt::NoModifier,  Qt::ShiftModifier,
    Qt::ControlModifier, Qt::AltModifier, Qt::ControlModifier | Qt::ShiftModifier};

QPoint point_in(Monkey& monkey, const QWidget& widget) {
  return {monkey.draw.between(0, widget.width() - 1), monkey.draw.between(0, widget.height() - 1)};
}

std::string text_of(QPoint at) {
  return std::to_string(at.x()) + "," + std::to_string(at.y()) + " ";
}

Qt::MouseButton any_button(Monkey& monkey) {
  if (monkey.draw.one_in(8)) return Qt::MiddleButton;
  return monkey.draw.one_in(8) ? Qt::RightButton : Qt::LeftButton;
}

QWidget* reader_of_keys(Monkey& monkey) {
  if (QWidget* const popup = QApplication::activePopupWidget()) return popup;
  QWidget* const focus = QApplication::focusWidget();
  QWidget* const widget = focus != nullptr ? focus : monkey.window.get();
  // What is typed at random must not grow into a run that fills the memory.
  auto* const field = qobject_cast<QLineEdit*>(widget);
  if (field != nullptr && field->text().size() > 4) field->selectAll();
  return widget;
}

void move(QWidget& widget, QPoint to, Qt::MouseButton held, Qt::KeyboardModifiers keys) {
  QMouseEvent event(QEvent::MouseMove, to, widget.mapToGlobal(to), Qt::NoButton, held, keys);
  QApplication::sendEvent(&widget, &event);
}

}  // namespace

QWidget* any_widget(Monkey& monkey) {
  if (monkey.draw.one_in(2)) return monkey.window->canvas();
  QList<QWidget*> all;
  for (QWidget* const widget : monkey.window->findChildren<QWidget*>()) {
    if (widget->isVisible() && widget->width() > 0 && widget->height() > 0) all << widget;
  }
  return all.isEmpty() ? monkey.window.get() : monkey.draw.of(all);
}

std::string words_of(const QWidget* widget) {
  const QString name =
      widget->accessibleName().isEmpty() ? widget->objectName() : widget->accessibleName();
  return std::string(widget->metaObject()->className()) + " '" + name.toStdString() + "'";
}

void press_key_of_table(Monkey& monkey) {
  const ViewerAction& entry = monkey.draw.of(viewer_actions());
  QAction* const action = monkey.window->action(entry.id);
  const QList<QKeySequence> keys = action->shortcuts();
  if (keys.isEmpty() || monkey.draw.one_in(3)) {
    add_to_step("by menu: " + std::string(entry.id));
    action->trigger();
    return;
  }
  const QKeySequence& key = monkey.draw.of(keys);
  QWidget* const widget = monkey.draw.one_in(3) ? reader_of_keys(monkey) : monkey.window->canvas();
  add_to_step(key.toString().toStdString() + " (" + std::string(entry.id) + ") to " +
              words_of(widget));
  QTest::keySequence(widget, key);
}

void press_other_key(Monkey& monkey) {
  QWidget* const widget = reader_of_keys(monkey);
  const Qt::Key key = monkey.draw.of(other_keys);
  const Qt::KeyboardModifiers with = monkey.draw.of(modifiers);
  add_to_step(QKeySequence(key | with).toString().toStdString() + " to " + words_of(widget));
  QTest::keyClick(widget, key, with);
}

void click(Monkey& monkey) {
  const QPointer<QWidget> widget = any_widget(monkey);
  const QPoint at = point_in(monkey, *widget);
  const bool twice = monkey.draw.one_in(4);
  const Qt::KeyboardModifiers keys = monkey.draw.of(modifiers);
  const Qt::MouseButton button = any_button(monkey);
  add_to_step((twice ? "twice " : "") + text_of(at) + words_of(widget));
  QTest::mouseClick(widget, button, keys, at);
  if (twice && widget) QTest::mouseDClick(widget, button, keys, at);
}

void drag(Monkey& monkey) {
  const QPointer<QWidget> widget = any_widget(monkey);
  const Qt::MouseButton button = any_button(monkey);
  const Qt::KeyboardModifiers keys = monkey.draw.of(modifiers);
  QPoint at = point_in(monkey, *widget);
  add_to_step(text_of(at) + words_of(widget) + " to");
  QTest::mousePress(widget, button, keys, at);
  for (int moves = monkey.draw.between(1, 8); moves > 0 && widget; --moves) {
    const bool near = monkey.draw.one_in(2);
    at = near ? at + QPoint(monkey.draw.between(-40, 40), monkey.draw.between(-40, 40))
              : point_in(monkey, *widget);
    add_to_step(text_of(at));
    move(*widget, at, button, keys);
    if (monkey.draw.one_in(3)) QApplication::processEvents();
    if (monkey.draw.one_in(20)) press_key_of_table(monkey);
  }
  if (!widget) return;
  at = {std::clamp(at.x(), 0, widget->width() - 1), std::clamp(at.y(), 0, widget->height() - 1)};
  QTest::mouseRelease(widget, button, keys, at);
}

void turn_wheel(Monkey& monkey) {
  QWidget* const widget = any_widget(monkey);
  const QPointF at = point_in(monkey, *widget);
  const int turn = monkey.draw.between(-5, 5) * 120;
  const bool aside = monkey.draw.one_in(5);
  const Qt::KeyboardModifiers keys = monkey.draw.of(modifiers);
  add_to_step(std::to_string(turn) + " at " + text_of(at.toPoint()) + words_of(widget));
  QWheelEvent event(at, widget->mapToGlobal(at), {}, aside ? QPoint(turn, 0) : QPoint(0, turn),
                    Qt::NoButton, keys, Qt::NoScrollPhase, false);
  QApplication::sendEvent(widget, &event);
}

void hover(Monkey& monkey) {
  const QPointer<QWidget> widget = any_widget(monkey);
  const QPoint at = point_in(monkey, *widget);
  add_to_step(text_of(at) + words_of(widget));
  move(*widget, at, Qt::NoButton, {});
  if (!widget || !monkey.draw.one_in(4)) return;
  QHelpEvent help(QEvent::ToolTip, at, widget->mapToGlobal(at));
  QApplication::sendEvent(widget, &help);
}

void ask_for_menu(Monkey& monkey) {
  QWidget* const widget = any_widget(monkey);
  const QPoint at = point_in(monkey, *widget);
  add_to_step(text_of(at) + words_of(widget));
  QContextMenuEvent event(QContextMenuEvent::Mouse, at, widget->mapToGlobal(at));
  QApplication::sendEvent(widget, &event);
}

void pinch(Monkey& monkey) {
  QWidget* const canvas = monkey.window->canvas();
  const QPointF at = point_in(monkey, *canvas);
  const double value = 0.1 * monkey.draw.between(-9, 9);
  QNativeGestureEvent event(Qt::ZoomNativeGesture, QPointingDevice::primaryPointingDevice(), 2, at,
                            at, canvas->mapToGlobal(at), value, {});
  QApplication::sendEvent(canvas, &event);
}

}  // namespace penstock::monkey
