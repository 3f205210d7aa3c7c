#include "gui/views/panels/change_panels.hpp"

#include <QAbstractItemView>
#include <QKeyEvent>
#include <QScrollBar>
#include <QStringListModel>
#include <QTextBlock>
#include <QVBoxLayout>
#include <cmath>

#include "experiments/input/scenario/document.hpp"
#include "gui/models/change/text_place.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

constexpr int slider_steps = 1000;

/// For a setting; `knob_text` is for a person.
QString knob_number(double value) { return QString::number(value, 'g', 15); }

}  // namespace

WhatIfPanel::WhatIfPanel(QWidget* parent) : QWidget(parent) {
  setAccessibleName("What if");
  auto* grid = new QGridLayout(this);
  int line = 0;
  for (const Knob& knob : knobs()) add_row(knob, *grid, line++);
  problem_ = new QLabel;
  problem_->setWordWrap(true);
  problem_->setAccessibleName("Why a change is not possible");
  grid->addWidget(problem_, line, 0, 1, 4);
  grid->setRowStretch(line + 1, 1);
  grid->setColumnStretch(2, 1);
  show_scenario(nullptr);
}

void WhatIfPanel::add_row(const Knob& knob, QGridLayout& grid, int line) {
  auto* label = new QLabel(qt_text(knob.slider().label));
  grid.addWidget(label, line, 0);
  if (knob.of_stage()) add_stage(grid, line);
  rows_.push_back({.knob = &knob});
  Row& row = rows_.back();
  if (knob.words.empty()) {
    add_slider(row, label->text());
    label->setBuddy(row.slider);
    grid.addWidget(row.slider, line, 2);
    grid.addWidget(row.field, line, 3);
  } else {
    add_choice(row, label->text());
    label->setBuddy(row.choice);
    grid.addWidget(row.choice, line, 2, 1, 2);
  }
}

/// The number of the stage whose cost is turned.
void WhatIfPanel::add_stage(QGridLayout& grid, int line) {
  stage_ = new QSpinBox;
  stage_->setAccessibleName("Stage whose cost changes");
  grid.addWidget(stage_, line, 1);
  connect(stage_, &QSpinBox::valueChanged, this, [this](int stage) {
    const auto factor = stage_factors_.find(static_cast<std::uint32_t>(stage));
    turn("", factor == stage_factors_.end() ? "1" : QString::fromStdString(factor->second));
  });
}

void WhatIfPanel::add_choice(Row& row, const QString& name) {
  row.choice = new QComboBox;
  for (const std::string& word : row.knob->words) row.choice->addItem(QString::fromStdString(word));
  row.choice->setAccessibleName(name);
  connect(row.choice, &QComboBox::textActivated, this,
          [this, knob = row.knob](const QString& word) { changed_by_hand(*knob, word); });
}

void WhatIfPanel::add_slider(Row& row, const QString& name) {
  const Knob& knob = *row.knob;
  row.slider = new QSlider(Qt::Horizontal);
  row.slider->setRange(0, slider_steps);
  row.slider->setAccessibleName(name);
  row.slider->setMinimumWidth(120);
  connect(row.slider, &QSlider::valueChanged, this, [this, &knob](int at) {
    if (quiet_) return;
    changed_by_hand(knob, knob_number(knob_at(knob, static_cast<double>(at) / slider_steps)));
  });
  QLineEdit* const field = new QLineEdit;
  row.field = field;
  field->setFixedWidth(field->fontMetrics().horizontalAdvance("000.0000GB/s") + 16);
  field->setAccessibleName(name + " " + qt_text(knob.unit()));
  field->setToolTip(qt_text(knob.unit()));
  connect(field, &QLineEdit::editingFinished, this, [this, &knob, field] {
    if (!quiet_ && field->isModified()) changed_by_hand(knob, field->text());
    field->setModified(false);
  });
}

void WhatIfPanel::turn(const std::string& pointer, const QString& value, bool stated) {
  quiet_ = true;
  for (const Row& row : rows_) {
    if (row.knob->pointer == pointer) show_in(row, value, stated);
  }
  quiet_ = false;
}

void WhatIfPanel::show_in(const Row& row, const QString& value, bool stated) {
  const QString about = stated ? "" : "In force; the scenario does not set it";
  if (row.choice != nullptr) {
    row.choice->setPlaceholderText(value);  // first: it may choose the first word
    row.choice->setCurrentIndex(stated ? row.choice->findText(value) : -1);
    row.choice->setToolTip(about);
    return;
  }
  const std::optional<double> number = knob_number(*row.knob, value.toStdString());
  const QString text = number ? QString::fromStdString(knob_text(*row.knob, *number)) : value;
  row.field->setText(stated ? text : QString());
  row.field->setPlaceholderText(stated ? QString() : text);
  row.field->setToolTip(stated ? qt_text(row.knob->unit()) : about);
  row.field->setCursorPosition(0);
  if (!number && !value.isEmpty()) return;
  const double at = number ? position_of(*row.knob, *number) : 0;
  row.slider->setValue(static_cast<int>(std::lround(at * slider_steps)));
}

void WhatIfPanel::changed_by_hand(const Knob& knob, const QString& value) {
  turn(knob.pointer, value);
  if (knob.of_stage()) {
    stage_factors_[static_cast<std::uint32_t>(stage_->value())] = value.toStdString();
  } else {
    turned_[knob.pointer] = value.toStdString();
  }
  if (on_turn) on_turn();
}

void WhatIfPanel::show_scenario(std::shared_ptr<const Scenario> scenario) {
  scenario_ = std::move(scenario);
  turned_.clear();
  stage_factors_.clear();
  quiet_ = true;
  const std::uint32_t stages = scenario_ ? numbered_stages(*scenario_) : 0;
  stage_->setRange(0, std::max(0, static_cast<int>(stages) - 1));
  stage_->setValue(0);
  stage_->setEnabled(stages > 0);
  quiet_ = false;
  for (const Row& row : rows_) {
    const bool applies = scenario_ && knob_applies(*scenario_, *row.knob);
    for (QWidget* widget : std::initializer_list<QWidget*>{row.slider, row.field, row.choice}) {
      if (widget != nullptr) widget->setEnabled(applies);
    }
    const auto value = scenario_ ? knob_value(*scenario_, *row.knob) : std::nullopt;
    turn(row.knob->pointer, QString::fromStdString(value.value_or("")));
  }
  show_problem(scenario_ ? ""
                         : "Open a scenario to change it here; recorded runs are as they are.");
}

void WhatIfPanel::show_in_force(std::shared_ptr<const Layout> layout) {
  layout_ = std::move(layout);
  if (scenario_ == nullptr || layout_ == nullptr) return;
  for (const Row& row : rows_) {
    const Knob& knob = *row.knob;
    if (turned_.contains(knob.pointer) || knob_value(*scenario_, knob)) continue;
    turn(knob.pointer, QString::fromStdString(value_in_force(*layout_, knob).value_or("")), false);
  }
}

void WhatIfPanel::show_problem(const QString& text) {
  problem_->setText(text);
  problem_->setVisible(!text.isEmpty());
}

std::vector<std::string> WhatIfPanel::settings() const {
  std::vector<std::string> all;
  if (scenario_ == nullptr) return all;
  const auto add = [&](const Knob& knob, const std::string& value, std::uint32_t stage) {
    for (std::string& setting : settings_for(*scenario_, knob, value, stage)) {
      all.push_back(std::move(setting));
    }
  };
  for (const Knob& knob : knobs()) {
    const auto value = turned_.find(knob.pointer);
    if (value != turned_.end()) add(knob, value->second, 0);
    if (!knob.of_stage()) continue;
    for (const auto& [stage, factor] : stage_factors_) add(knob, factor, stage);
  }
  return layout_ == nullptr ? all : with_schedule_of(*layout_, *scenario_, std::move(all));
}

ScenarioPanel::ScenarioPanel(QWidget* parent)
    : QWidget(parent),
      editor_(new QPlainTextEdit),
      problem_(new QLabel),
      completer_(new QCompleter(this)) {
  editor_->setFont(fixed_font());
  editor_->setLineWrapMode(QPlainTextEdit::NoWrap);
  editor_->setAccessibleName("Text of the scenario");
  editor_->setPlaceholderText("Open a scenario to change its text.");
  problem_->setWordWrap(true);
  problem_->setAccessibleName("What is wrong with the scenario");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  column->addWidget(editor_);
  column->addWidget(problem_);
  completer_->setModel(new QStringListModel(completer_));
  completer_->setWidget(editor_);
  completer_->setCaseSensitivity(Qt::CaseInsensitive);
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this,
          [this](const QString& key) { complete(key); });
  editor_->installEventFilter(this);
  wait_.setSingleShot(true);
  wait_.setInterval(250);
  connect(&wait_, &QTimer::timeout, this, [this] { check(); });
  connect(editor_, &QPlainTextEdit::textChanged, this, [this] {
    if (!quiet_) wait_.start();
  });
  show_scenario(nullptr);
}

void ScenarioPanel::show_scenario(std::shared_ptr<const Scenario> scenario) {
  if (scenario != nullptr && scenario == shown_) return;
  forget_text();
  quiet_ = true;
  editor_->setReadOnly(scenario == nullptr);
  editor_->setPlainText(scenario == nullptr ? QString()
                                            : QString::fromStdString(document_text(*scenario)));
  quiet_ = false;
  if (scenario != nullptr) source_ = scenario->source;
  shown_ = std::move(scenario);
  show_problem({}, std::nullopt);
}

void ScenarioPanel::forget_text() {
  wait_.stop();
  shown_ = nullptr;
}

void ScenarioPanel::check() {
  const std::string text = editor_->toPlainText().toStdString();
  try {
    shown_ = std::make_shared<const Scenario>(parse_scenario(text, source_));
    show_problem({}, std::nullopt);
    if (on_scenario) on_scenario(shown_);
  } catch (const std::exception& error) {
    show_fault(QString::fromUtf8(error.what()));
  }
}

void ScenarioPanel::show_fault(const QString& message) {
  const std::string place = place_in(message.toStdString(), source_);
  if (place.empty()) return show_problem(message, std::nullopt);
  show_problem(message, line_of(editor_->toPlainText().toStdString(), place));
}

void ScenarioPanel::show_problem(const QString& text, std::optional<std::size_t> line) {
  problem_->setText(text);
  problem_->setVisible(!text.isEmpty());
  // The text takes room from the editor.
  layout()->activate();
  editor_->ensureCursorVisible();
  QList<QTextEdit::ExtraSelection> marks;
  if (line) {
    QTextEdit::ExtraSelection mark;
    mark.cursor = QTextCursor(editor_->document()->findBlockByNumber(static_cast<int>(*line)));
    mark.format.setProperty(QTextFormat::FullWidthSelection, true);
    QColor shade(213, 94, 0);
    shade.setAlpha(70);
    mark.format.setBackground(shade);
    mark.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    marks << mark;
  }
  editor_->setExtraSelections(marks);
}

bool ScenarioPanel::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool shown = completer_->popup()->isVisible();
    if (shown && (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter ||
                  key->key() == Qt::Key_Escape || key->key() == Qt::Key_Tab)) {
      event->ignore();
      return true;
    }
    if (key->key() == Qt::Key_Space && key->modifiers() & Qt::ControlModifier) {
      offer_words();
      return true;
    }
  }
  return QWidget::eventFilter(object, event);
}

/// Offers what the schema knows for the place of the cursor.
void ScenarioPanel::offer_words() {
  QTextCursor cursor = editor_->textCursor();
  const QString before = editor_->toPlainText().left(cursor.position());
  const std::string text = before.toStdString();
  QStringList words;
  for (const std::string& word : words_at(place_at_position(text, text.size()))) {
    words << QString::fromStdString(word);
  }
  static_cast<QStringListModel*>(completer_->model())->setStringList(words);
  cursor.select(QTextCursor::WordUnderCursor);
  const QString typed = cursor.selectedText();
  const bool is_word = !typed.isEmpty() && (typed[0].isLetterOrNumber() || typed[0] == '_');
  completer_->setCompletionPrefix(is_word ? typed : QString());
  QRect place = editor_->cursorRect();
  place.setWidth(220);
  completer_->complete(place);
}

void ScenarioPanel::complete(const QString& key) {
  QTextCursor cursor = editor_->textCursor();
  if (!completer_->completionPrefix().isEmpty()) cursor.select(QTextCursor::WordUnderCursor);
  cursor.insertText(key);
  editor_->setTextCursor(cursor);
}

}  // namespace penstock
