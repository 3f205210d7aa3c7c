#include "gui/views/panels/scenario_panel.hpp"

#include <QAbstractItemView>
#include <QFontDatabase>
#include <QKeyEvent>
#include <QScrollBar>
#include <QTextBlock>
#include <QVBoxLayout>
#include <set>

#include "experiments/commands/line/suggestions.hpp"
#include "experiments/scenario/document.hpp"
#include "gui/models/change/text_place.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
namespace {

/// The last steps of all pointers into a scenario.
QStringList scenario_keys() {
  std::set<QString> keys;
  for (const std::string& setting : suggested_settings("/")) {
    const QString pointer = QString::fromStdString(setting).section('=', 0, 0);
    for (const QString& step : pointer.split('/', Qt::SkipEmptyParts)) {
      bool is_number = false;
      step.toInt(&is_number);
      if (!is_number) keys.insert(step);
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace

ScenarioPanel::ScenarioPanel(QWidget* parent)
    : QWidget(parent),
      editor_(new QPlainTextEdit),
      problem_(new QLabel),
      completer_(new QCompleter(scenario_keys(), this)) {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setFamilies({"DejaVu Sans Mono", font.family()});
  font.setPointSizeF(9.5);
  editor_->setFont(font);
  editor_->setLineWrapMode(QPlainTextEdit::NoWrap);
  editor_->setAccessibleName("Text of the scenario");
  editor_->setPlaceholderText("Open a scenario to change its text.");
  problem_->setWordWrap(true);
  problem_->setAccessibleName("What is wrong with the scenario");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  column->addWidget(editor_);
  column->addWidget(problem_);
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

void ScenarioPanel::show_scenario(const Scenario* scenario) {
  if (editor_->hasFocus() && scenario != nullptr) return;
  quiet_ = true;
  editor_->setReadOnly(scenario == nullptr);
  editor_->setPlainText(scenario == nullptr ? QString()
                                            : QString::fromStdString(document_text(*scenario)));
  quiet_ = false;
  if (scenario != nullptr) source_ = scenario->source;
  show_problem({}, std::nullopt);
}

void ScenarioPanel::check() {
  const std::string text = editor_->toPlainText().toStdString();
  try {
    const Scenario scenario = parse_scenario(text, source_);
    show_problem({}, std::nullopt);
    if (on_scenario) on_scenario(scenario);
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
      QTextCursor cursor = editor_->textCursor();
      cursor.select(QTextCursor::WordUnderCursor);
      completer_->setCompletionPrefix(cursor.selectedText());
      QRect place = editor_->cursorRect();
      place.setWidth(220);
      completer_->complete(place);
      return true;
    }
  }
  return QWidget::eventFilter(object, event);
}

void ScenarioPanel::complete(const QString& key) {
  QTextCursor cursor = editor_->textCursor();
  cursor.select(QTextCursor::WordUnderCursor);
  cursor.insertText(key);
  editor_->setTextCursor(cursor);
}

}  // namespace penstock
