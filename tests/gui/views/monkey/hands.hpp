#pragma once

#include <QWidget>
#include <string>

#include "tests/gui/views/monkey/monkey.hpp"

namespace penstock::monkey {

/// A visible widget of the window or of its dialogs; every second time the timeline.
QWidget* any_widget(Monkey& monkey);
/// The kind and the name of a widget.
std::string words_of(const QWidget* widget);

// Each is a step, done to a random widget.
void press_key_of_table(Monkey& monkey);
void press_other_key(Monkey& monkey);
void click(Monkey& monkey);
void drag(Monkey& monkey);
void turn_wheel(Monkey& monkey);
void hover(Monkey& monkey);
void ask_for_menu(Monkey& monkey);
void pinch(Monkey& monkey);

}  // namespace penstock::monkey
