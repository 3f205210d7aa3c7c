#include "tests/gui/views/monkey/monkey.hpp"

#include <QApplication>
#include <QDir>

#include "tests/gui/views/monkey/strange_files.hpp"

namespace penstock::monkey {
namespace {

constexpr std::uint32_t most_pictured = 20'000;  // tasks

}  // namespace

void settle() {
  QApplication::processEvents();
  QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
}

Monkey::Monkey(std::uint64_t seed)
    : draw(seed),
      files(strange_files(folder)),
      window(std::make_unique<ViewerWindow>(ThemeName::light)) {
  // Dialogs start there, and so does what is written by mistake.
  QDir::setCurrent(QString::fromStdString(folder.path("")));
  QObject::connect(&tender, &QTimer::timeout, &tender, [this] { answer(*this); });
  tender.start(5);
  window->show();
  window->files().open_example();
}

Monkey::~Monkey() {
  window.reset();
  settle();
}

bool Monkey::is_small() {
  return window->now() != nullptr && window->now()->run->plan.tasks() < most_pictured;
}

QString Monkey::written_file(const QStringList& suffixes) {
  const QString name = "out" + suffixes[static_cast<int>(draw.below(suffixes.size()))];
  const std::string in_folder = draw.one_in(5) ? "no_such_folder/" : "";
  return QString::fromStdString(folder.path(in_folder + name.toStdString()));
}

}  // namespace penstock::monkey
