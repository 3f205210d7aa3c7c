#include <doctest/doctest.h>

#include <QImage>
#include <QProcess>
#include <filesystem>

#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::file_with;

/// What a program ends with.
struct Ended {
  int code = 0;
  QString said;  // on stderr
};

/// Runs a built program. `without_display`: as where there is none.
Ended run_built(const QString& program, const QStringList& arguments, bool without_display = false,
                const QString& input = QProcess::nullDevice()) {
  QProcess process;
  if (without_display) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"}) {
      environment.remove(name);
    }
    process.setProcessEnvironment(environment);
  }
  process.setStandardInputFile(input);
  process.start(QApplication::applicationDirPath() + "/../" + program, arguments);
  process.waitForFinished(60000);
  return {process.exitCode(), QString::fromUtf8(process.readAllStandardError())};
}
Ended run_viewer(const QStringList& arguments) {
  return run_built("gui/penstock-viewer", arguments);
}
Ended run_view(QStringList arguments) {
  arguments.prepend("view");
  return run_built("experiments/penstock", arguments);
}

TEST_CASE("program: --screenshot with --compare A B writes a picture of both") {
  const testing::Scratch folder;
  const QString a = testing::first_scenario;
  const QString b = file_with(folder, "b.json", "/model/stages/2/forward_us=1500");
  const QString one = QString::fromStdString(folder.path("one.png"));
  const QString both = QString::fromStdString(folder.path("both.png"));
  REQUIRE(run_viewer({"--screenshot", one, "--size", "800x600", a}).code == 0);
  REQUIRE(run_viewer({"--screenshot", both, "--size", "800x600", "--compare", a, b}).code == 0);
  CHECK(QImage(both).size() == QSize(800, 600));
  CHECK(QImage(both) != QImage(one));
  const auto [code, said] = run_viewer({"--screenshot", one, "--compare", a});
  CHECK(code == 2);
  CHECK(said.contains("penstock: error: --compare: two or more runs are needed, got 1"));
}

TEST_CASE("program: a run that needs more memory than it may is refused with what it needs") {
  const testing::Scratch folder;
  const QString large = file_with(folder, "l.json", "/schedule/microbatches=100000");
  const QString picture = QString::fromStdString(folder.path("p.png"));
  const auto [code, said] = run_viewer({"--screenshot", picture, "--max-memory", "50MB", large});
  CHECK(code == 3);
  CHECK(said.contains("of memory, more than 50 MB (--max-memory); use fewer microbatches"));
  CHECK_FALSE(std::filesystem::exists(picture.toStdString()));
  CHECK(run_viewer({"--screenshot", picture, "--max-memory", "none", large}).code == 2);
}

TEST_CASE("program: a run that does not finish has no picture, and is a finding") {
  const testing::Scratch folder;
  const QString stalled =
      file_with(folder, "s.json", R"(/memory={"capacity_bytes": 300000000, "policy": "stall"})");
  const QString picture = QString::fromStdString(folder.path("p.png"));
  const auto [code, said] = run_viewer({"--screenshot", picture, stalled});
  CHECK(code == 1);
  CHECK(said.contains("s.json: its run does not finish and has no timeline: deadlock: at "));
  CHECK_FALSE(said.contains("error"));
  CHECK_FALSE(std::filesystem::exists(picture.toStdString()));
}

TEST_CASE("program: view hands its bounds over, and the viewer keeps to them") {
  const testing::Scratch folder, elsewhere;
  const QString picture = QString::fromStdString(folder.path("p.png"));
  const std::string order = elsewhere.file("order.csv", "0F0,0B0\n1F0,1B0\n2F0,2B0\n3F0,3B0\n");
  const QString named = file_with(folder, "n.json", R"(/schedule={"file": ")" + order + "\"}");
  const QString bound = QString::fromStdString(folder.path(""));
  REQUIRE(run_view({named, "--screenshot", picture}).code == 0);
  const Ended confined = run_view({named, "--screenshot", picture, "--confine", bound});
  CHECK(confined.code == 3);
  CHECK(confined.said.contains("(--confine)"));
  const QString own = QString::fromStdString(order);
  CHECK(run_view({own, "--screenshot", picture, "--confine", bound}).code == 0);
  const Ended late = run_view({testing::first_scenario, "--timeout", "0.5"});
  CHECK(late.code == 4);
  CHECK(late.said.contains("penstock: error: penstock-viewer --timeout=0.5 "));
  CHECK(late.said.contains(": not finished after 0.5 s"));
  const Ended small = run_view({named, "--screenshot", picture, "--max-memory", "1MB"});
  CHECK(small.said.contains("more than 1 MB (--max-memory)"));
  CHECK(run_viewer({named, "--screenshot", picture, "--confine", ""}).code == 2);
}

TEST_CASE("program: without a display it ends with one line that names --screenshot") {
  for (const char* program : {"gui/penstock-viewer", "experiments/penstock"}) {
    QStringList arguments{testing::first_scenario};
    if (program == std::string("experiments/penstock")) arguments.prepend("view");
    const auto [code, said] = run_built(program, arguments, true);
    CHECK(code == 4);
    CHECK(said.startsWith("penstock: error: no display "));
    CHECK(said.contains("--screenshot"));
    CHECK(said.count('\n') == 1);
  }
}

TEST_CASE("program: a picture needs no display, whatever platform the environment names") {
  const testing::Scratch folder;
  const QString picture = QString::fromStdString(folder.path("p.png"));
  const QByteArray before = qgetenv("QT_QPA_PLATFORM");
  for (const char* platform : {"xcb", "wayland", ""}) {
    CAPTURE(platform);
    qputenv("QT_QPA_PLATFORM", platform);
    CHECK(run_view({testing::first_scenario, "--screenshot", picture}).code == 0);
  }
  qputenv("QT_QPA_PLATFORM", before);
}

TEST_CASE("program: a picture whose op to select is not there is refused") {
  const testing::Scratch folder;
  const std::string picture = folder.path("p.png");
  const auto [code, said] = run_view({testing::first_scenario, "--select", "stage:9",
                                      "--screenshot", QString::fromStdString(picture)});
  CHECK(code == 2);
  CHECK(said == "penstock: error: --select stage:9: no op fits\n");
  CHECK_FALSE(std::filesystem::exists(picture));
}

TEST_CASE("program: standard input is shown as its file is") {
  const testing::Scratch folder;
  const QString named = QString::fromStdString(folder.path("named.png"));
  const QString read = QString::fromStdString(folder.path("read.png"));
  REQUIRE(run_viewer({"--screenshot", named, testing::first_scenario}).code == 0);
  const Ended view = run_built("experiments/penstock", {"view", "-", "--screenshot", read}, false,
                               testing::first_scenario);
  CHECK(view.code == 0);
  CHECK(QImage(read) == QImage(named));
}

}  // namespace
}  // namespace penstock
