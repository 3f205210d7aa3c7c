#pragma once

#include <QWidget>

namespace penstock {

/// Shows a text to read and copy.
void show_text(QWidget* parent, const QString& title, const QString& name, const QString& text);

}  // namespace penstock
