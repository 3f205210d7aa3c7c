#include "gui/views/panels/scenario_panel.hpp"

#include <QAbstractItemView>
#include <QKeyEvent>
#include <QScrollBar>
#include <QStringListModel>
#include <QTextBlock>
#include <QVBoxLayout>

#include "experiments/input/scenario/document.hpp"
#include "gui/models/change/text_place.hpp"
#include "gui/views/canvas/look.hpp"

namespace penstock {
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
