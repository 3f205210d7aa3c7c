#include <doctest/doctest.h>

#include <QAbstractButton>
#include <QDialog>
#include <QListWidget>
#include <QMessageBox>
#include <QProgressBar>
#include <QSlider>
#include <QTimer>
#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "experiments/input/scenario/document.hpp"
#include "experiments/run/run.hpp"
#include "gui/models/change/moves.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/base/error.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::Opened;

constexpr const char* layered_text =
    R"({"penstock": 1, "model": {"layers": [
          {"forward_us": 1000, "backward_us": 2000}, {"forward_us": 1000, "backward_us": 2000},
          {"forward_us": 1000, "backward_us": 2000}, {"forward_us": 1000, "backward_us": 2000}]},
        "hardware": {"name": "ideal", "devices": 2, "transfer_us": 0},
        "schedule": {"name": "1f1b", "microbatches": 4}})";

/// A drag with the left button; `at_half` is asked while the hand is still moving.
void drag_slowly(Opened& opened, QPointF from, QPointF to, const std::function<void()>& at_half) {
  TimelineCanvas& canvas = opened.canvas();
  QTest::mousePress(&canvas, Qt::LeftButton, {}, from.toPoint());
  for (int step = 1; step <= 6; ++step) {
    opened.point(from + (to - from) * step / 6, Qt::LeftButton);
    opened.settle();
    if (step == 5) at_half();
  }
  QTest::mouseRelease(&canvas, Qt::LeftButton, {}, to.toPoint());
  opened.settle();
}

/// The order of the forwards and backwards of a rank, as text.
std::string order_of(const ViewedRun& run, std::uint32_t rank) {
  std::string words;
  for (const Action& action : run.layout->schedule.on(Rank{rank})) words += text(action) + " ";
  return words;
}

TEST_CASE("order: an op dragged on its lane moves, the run follows, Ctrl+Z brings it back") {
  Opened opened;
  const std::string before = order_of(opened.run(), 0);
  const Time span = opened.run().span();
  opened.canvas().select(opened.op("0F4"), false);
  const QPointF from = opened.middle_of(opened.op("0F4"));
  const QRectF front = opened.canvas().place_of_task(opened.op("0F3"));
  bool followed = false;
  drag_slowly(opened, from, {front.left() - 2, front.center().y()},
              [&] { followed = order_of(opened.run(), 0) != before; });
  CHECK(followed);
  CHECK(opened.window.message() == "Moved; Ctrl+Z undoes it");
  const std::string moved = order_of(opened.run(), 0);
  CHECK(moved != before);
  CHECK(moved.find("0F4") < moved.find("0F3"));
  CHECK(opened.canvas().selected() == opened.op("0F4"));
  opened.press(QKeySequence("Ctrl+Z"));
  CHECK(order_of(opened.run(), 0) == before);
  CHECK(opened.run().span() == span);
  opened.press(QKeySequence("Ctrl+Shift+Z"));
  CHECK(order_of(opened.run(), 0) == moved);
}

TEST_CASE("order: where an op may not go, the drag says why and changes nothing") {
  Opened opened;
  const std::string before = order_of(opened.run(), 0);
  opened.canvas().select(opened.op("0B0"), false);
  const QPointF from = opened.middle_of(opened.op("0B0"));
  const QRectF first = opened.canvas().place_of_task(opened.op("0F0"));
  drag_slowly(opened, from, {first.left() + 2, first.center().y()}, [] {});
  CHECK(opened.window.message() == "Not moved: in that order 0B0 has no 0F0 before it");
  CHECK(order_of(opened.run(), 0) == before);
  CHECK(opened.canvas().selected() == opened.op("0B0"));
}

TEST_CASE(
    "order: the selected op and the followed microbatch stay so when others take their numbers") {
  Opened opened;
  opened.canvas().select(opened.op("0F4"), false);
  opened.press(QKeySequence("G"));
  const auto follows = [&](std::uint32_t microbatch) {
    const std::vector<TaskId>& bright = opened.canvas().bright().tasks;
    return !bright.empty() && std::all_of(bright.begin(), bright.end(), [&](TaskId task) {
      return index(opened.run().plan.microbatch[task]) == microbatch;
    });
  };
  REQUIRE(follows(4));
  for (const char* keys : {"Alt+Up", "Ctrl+Z"}) {
    opened.press(QKeySequence(keys));
    CHECK(follows(4));
    CHECK(opened.canvas().selected() == opened.op("0F4"));
  }
  opened.change({"/schedule/microbatches=4"});
  CHECK(opened.canvas().selected() == no_task);
  CHECK(opened.canvas().bright().empty());
}

TEST_CASE("order: a changed order is saved beside its scenario, and both open again") {
  Opened opened;
  opened.canvas().select(opened.op("0F4"), true);
  opened.press(QKeySequence("Alt+Up"));
  const std::string moved = order_of(opened.run(), 0);
  const Time span = opened.run().span();
  const testing::Scratch folder;
  opened.window.files().save_scenario(folder.path("moved.json"));
  CHECK(!testing::content_of(folder.path("moved.csv")).empty());
  opened.open(folder.path("moved.json"));
  CHECK(order_of(opened.run(), 0) == moved);
  CHECK(opened.run().span() == span);
}

/// Opens a shipped scenario with settings, and moves the first op that may move.
void open_and_move(Opened& opened, const std::string& name,
                   const std::vector<std::string>& settings) {
  const std::string shipped = std::string(PENSTOCK_ROOT) + "/experiments/scenarios/" + name;
  opened.window.changes().set_scenario(read_scenario(shipped, settings));
  opened.settle();
  for (TaskId task = 0; !has_changed_order(opened.run()); ++task) {
    REQUIRE(task < opened.run().plan.tasks());
    opened.canvas().select(task, false);
    opened.window.changes().move_op(/*later=*/true);
    opened.settle();
  }
}

/// Makespan and samples per second.
std::pair<Time, double> figures_of(const Layout& layout) {
  const RunResult result = run(layout);
  return {result.report->makespan, result.throughput.samples_per_s};
}

TEST_CASE("order: a saved scenario runs as it was seen, whatever else its schedule says") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> all{
      {"first_run.json", {"/schedule/samples_per_microbatch=4"}},
      {"first_run.json", {"/schedule/name=gpipe", "/schedule/backward_order=descending"}},
      {"first_run.json", {"/partition/ranks=[[3],[2],[1],[0]]"}},
      {"llama_8b_on_a_dgx_h100.json",
       {"/schedule/name=dualpipe", "/parallel/chunks=2", "/schedule/overlap=fused"}},
      {"qwen3_next_80b_exchanges_apart.json", {"/schedule/microbatches=8"}}};
  for (const auto& one : all) {
    CAPTURE(one.first);
    CAPTURE(one.second.size());
    Opened opened;
    open_and_move(opened, one.first, one.second);
    const testing::Scratch folder;
    opened.window.files().save_scenario(folder.path("saved.json"));
    opened.settle();
    CHECK(figures_of(settle(read_scenario(folder.path("saved.json")))) ==
          figures_of(*opened.run().layout));
  }
}

TEST_CASE("order: one that a file cannot have is not saved") {
  const std::vector<std::vector<std::string>> all{
      {"first_run.json", "/schedule/name=seq-1f1b"},
      {"first_run.json", "/schedule/name=pipedream"},
      {"qwen3_vl_8b_encoder_on_shared_ranks.json", "/schedule/microbatches=16"}};
  for (const auto& one : all) {
    CAPTURE(one.back());
    Opened opened;
    open_and_move(opened, one.front(), {one.back()});
    const testing::Scratch folder;
    opened.window.files().save_scenario(folder.path("saved.json"));
    opened.settle();
    CHECK(opened.window.message().contains("so this order cannot be saved"));
    CHECK(!std::filesystem::exists(folder.path("saved.json")));
  }
}

TEST_CASE("a scenario saved in another folder finds its files") {
  const testing::Scratch folder;
  std::filesystem::create_directory(folder.path("other"));
  const std::string models = std::string(PENSTOCK_ROOT) + "/experiments/models/";
  folder.file("model.json", testing::content_of(models + "llama-3.1-8b.json"));
  const std::string text =
      R"({"penstock": 1, "model": {"file": "model.json", "sequence": 512},
          "hardware": {"name": "dgx-h100", "devices": 2}, "parallel": {"pipeline": 2},
          "schedule": {"name": "1f1b", "microbatches": 4}})";
  Opened opened;
  opened.open(folder.file("a.json", text));
  for (const char* name : {"b.json", "other/c.json"}) {
    opened.window.files().save_scenario(folder.path(name));
    CHECK(read_scenario(folder.path(name)).model.spec == opened.run().scenario->model.spec);
  }
  CHECK(testing::content_of(folder.path("b.json")).find("\"model.json\"") != std::string::npos);
}

TEST_CASE("order: an existing file beside the scenario is replaced only if the user agrees") {
  Opened opened;
  opened.canvas().select(opened.op("0F4"), true);
  opened.press(QKeySequence("Alt+Up"));
  const testing::Scratch folder;
  const std::string csv = folder.file("moved.csv", "another"), json = folder.path("moved.json");
  for (const auto button : {QMessageBox::No, QMessageBox::Yes}) {
    QTimer timer;
    QObject::connect(&timer, &QTimer::timeout, [button] {
      if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
        box->button(button)->click();
      }
    });
    timer.start(20);
    opened.window.files().save_scenario(json);
    CHECK((testing::content_of(csv) == "another") == (button == QMessageBox::No));
    CHECK(std::filesystem::exists(json) == (button == QMessageBox::Yes));
  }
}

TEST_CASE("layers: the line between two ranks, dragged, moves layers; Ctrl+Z brings them back") {
  Opened opened;
  const testing::Scratch folder;
  opened.open(folder.file("layers.json", layered_text));
  const auto layers_of = [&](std::size_t stage) {
    return opened.run().layout->partition.stages[stage].size();
  };
  REQUIRE(layers_of(0) == 2);
  const QRectF below = opened.canvas().place_of_task(opened.op("1F0"));
  const QPointF line(30, below.top());
  REQUIRE(opened.canvas().boundary_at(line) == std::optional<std::uint32_t>(0));
  std::size_t during = 0;
  drag_slowly(opened, line, line + QPointF(0, TimelineCanvas::pixels_per_layer),
              [&] { during = layers_of(0); });
  CHECK(during == 3);
  CHECK(layers_of(0) == 3);
  CHECK(layers_of(1) == 1);
  CHECK(opened.window.message().startsWith("1 layer moved to rank 0"));
  CHECK(document_text(*opened.run().scenario).find("\"stages\"") != std::string::npos);
  opened.press(QKeySequence("Ctrl+Z"));
  CHECK(layers_of(0) == 2);
}

TEST_CASE("layers: the message counts those that moved, for each stage keeps one") {
  Opened opened;
  const testing::Scratch folder;
  opened.open(folder.file("l.json", layered_text));
  const auto drag_far = [&] {
    const QPointF line(30, opened.canvas().place_of_task(opened.op("1F0")).top());
    drag_slowly(opened, line, line + QPointF(0, 4 * TimelineCanvas::pixels_per_layer), [] {});
  };
  drag_far();
  CHECK(opened.window.message() == "1 layer moved to rank 0; Ctrl+Z undoes it");
  drag_far();
  CHECK(opened.window.message() == "Not moved: each stage keeps a layer");
}

TEST_CASE("layers: stages given by numbers have none to move, and the drag says so") {
  Opened opened;
  const QPointF line(30, opened.canvas().place_of_task(opened.op("1F0")).top());
  drag_slowly(opened, line, line + QPointF(0, 30), [] {});
  CHECK(opened.window.message().contains("no layers to move"));
}

TEST_CASE("undo: knobs that were turned go back in one step") {
  Opened opened;
  const Time before = opened.run().span();
  opened.window.changes().what_if().turn("/hardware/latency_us", "9000");
  for (const char* value : {"500", "900"}) {
    opened.change({std::string("/hardware/latency_us=") + value});
  }
  CHECK(opened.run().span() > before);
  opened.press(QKeySequence("Ctrl+Z"));
  opened.press(QKeySequence("Ctrl+Z"));
  CHECK(opened.run().span() == before);
  opened.press(QKeySequence("Ctrl+Z"));
  CHECK(opened.window.message() == "Nothing was changed");
}

/// Moves a slider, after which the run is brief until the hand rests.
void turn_latency(Opened& opened) {
  const Time before = opened.run().span();
  for (auto* slider : opened.window.changes().what_if().findChildren<QSlider*>()) {
    if (slider->accessibleName() == "Link latency") slider->setValue(700);
  }
  while (opened.run().span() == before) QTest::qWait(1);
}

TEST_CASE("knobs: a run turned just before another tab came in front is completed in its own") {
  Opened opened;
  turn_latency(opened);
  opened.window.files().open_files_now({testing::first_scenario});
  QTest::qWait(400);
  auto* tabs = opened.window.findChild<QTabWidget*>();
  tabs->setCurrentIndex(0);
  CHECK(QTest::qWaitFor([&] { return !opened.run().brief && !opened.run().text.empty(); }, 60000));
}

TEST_CASE("freeze: a file that opens meanwhile takes no part") {
  Opened opened;
  turn_latency(opened);
  opened.window.files().open_files_later({testing::first_scenario});
  opened.window.comparison().freeze_reference();
  opened.settle();
  REQUIRE(opened.window.count() == 2);
  CHECK(opened.window.now()->others.empty());
  opened.window.findChild<QTabWidget*>()->setCurrentIndex(0);
  REQUIRE(opened.window.now()->others.size() == 1);
  CHECK(!opened.window.now()->others.front()->brief);
  CHECK(opened.canvas().others().size() == 1);
}

TEST_CASE("lanes: Ctrl+P finds one by name and goes there") {
  Opened opened;
  opened.canvas().scale_lanes(8);
  opened.press(QKeySequence("Ctrl+P"));
  auto* dialog = opened.window.findChild<QDialog*>("lanes");
  REQUIRE(dialog != nullptr);
  CHECK(dialog->findChild<QListWidget*>()->count() == 4);
  auto* field = dialog->findChild<QLineEdit*>();
  QTest::keyClicks(field, "rank 3");
  QTest::keyClick(field, Qt::Key_Return);
  opened.settle();
  const TaskId task = opened.canvas().selected().task;
  REQUIRE(task != no_task);
  CHECK(opened.run().plan.class_of(task).resource == 3);
  CHECK(opened.canvas().rect().contains(opened.middle_of(task)));
}

TEST_CASE("lanes: P pins the lane of the selection above the others, and puts it back") {
  Opened opened;
  opened.canvas().select(opened.op("2F0"), false);
  opened.press(QKeySequence("P"));
  CHECK(opened.canvas().place_of_task(opened.op("2F0")).top() <
        opened.canvas().place_of_task(opened.op("0F0")).top());
  CHECK(opened.canvas().task_at(opened.middle_of(opened.op("2F0"))) == opened.op("2F0"));
  opened.press(QKeySequence("P"));
  CHECK(opened.canvas().place_of_task(opened.op("2F0")).top() >
        opened.canvas().place_of_task(opened.op("1F0")).top());
}

TEST_CASE("lanes: a pinned one stays where it is while the others scroll beneath it") {
  Opened opened;
  opened.canvas().scale_lanes(2);
  opened.canvas().select(opened.op("2F0"), false);
  opened.press(QKeySequence("P"));
  opened.canvas().scroll(-1e6);
  const auto colour_at = [&](const char* op) {
    const QRectF place = opened.canvas().place_of_task(opened.op(op));
    return opened.canvas().grab().toImage().pixelColor(static_cast<int>(place.left()) + 4,
                                                       static_cast<int>(place.top()) + 4);
  };
  const QRectF pinned = opened.canvas().place_of_task(opened.op("2F0"));
  const QColor colour = colour_at("2F0");
  const double before = opened.canvas().place_of_task(opened.op("3F0")).top();
  opened.canvas().scroll(opened.canvas().place_of_task(opened.op("0F0")).top() - pinned.top());
  opened.settle();
  CHECK(opened.canvas().place_of_task(opened.op("2F0")) == pinned);
  CHECK(colour_at("2F0") == colour);
  CHECK(opened.canvas().place_of_task(opened.op("3F0")).top() < before);
  CHECK(opened.canvas().task_at(pinned.center()) == opened.op("2F0"));
  CHECK(opened.canvas().text_at(pinned.center()).startsWith("2F0"));
  // What has scrolled beneath it cannot be pointed at.
  const QRectF first = opened.canvas().place_of_task(opened.op("0F0"));
  REQUIRE(first.center().y() < pinned.bottom());
  CHECK(opened.canvas().task_at(first.center()) != opened.op("0F0"));
}

TEST_CASE("links: U shows a lane for each below the ranks, with its transfers") {
  Opened opened;
  opened.press(QKeySequence("U"));
  const Plan& plan = opened.run().plan;
  REQUIRE(opened.canvas().first()->links != nullptr);
  TaskId transfer = no_task;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.is_link(plan.class_of(task).resource)) transfer = task;
  }
  REQUIRE(transfer != no_task);
  const std::uint32_t link = plan.class_of(transfer).resource - plan.ranks;
  const QRectF lane = opened.canvas().place_of_link(link);
  REQUIRE(!lane.isNull());
  CHECK(lane.top() > opened.canvas().place_of_lane(3).bottom());
  const TimeAxis& axis = opened.canvas().view().axis;
  const Time begin = opened.run().timeline.begin[transfer];
  const Time left = left_link_at(opened.run(), transfer);
  const double middle =
      TimelineCanvas::gutter + axis.x_of((begin.picoseconds + left.picoseconds) / 2);
  const QPointF at(middle, lane.center().y());
  CHECK(opened.canvas().task_at(at) == transfer);
  opened.canvas().finish();
  const QImage image = opened.canvas().grab().toImage();
  CHECK(image.pixelColor(static_cast<int>(at.x()), static_cast<int>(lane.top()) + 1) ==
        qt_colour(opened.canvas().first()->colouring.colour(transfer)));
  const double idle = TimelineCanvas::gutter + axis.x_of(0) + 1;
  CHECK(opened.canvas().text_at({idle, lane.center().y()}).startsWith("link "));
  opened.press(QKeySequence("U"));
  CHECK(opened.canvas().place_of_link(link).isNull());
}

TEST_CASE("slack: ops off the critical path are pale, those on it keep their colour") {
  Opened opened;
  const auto colour_at = [&](const char* op) {
    const QRectF place = opened.canvas().place_of_task(opened.op(op));
    opened.canvas().finish();
    return opened.canvas().grab().toImage().pixelColor(static_cast<int>(place.left()) + 2,
                                                       static_cast<int>(place.top()) + 2);
  };
  const QColor first = colour_at("0F0");
  const QColor waits = colour_at("0F3");
  opened.press(QKeySequence("Shift+C"));
  CHECK(colour_at("0F0") == first);
  CHECK(colour_at("0F3") != waits);
  CHECK(opened.window.message().startsWith("Pale ops have slack"));
  opened.press(QKeySequence("Shift+C"));
  CHECK(colour_at("0F3") == waits);
  CHECK(opened.window.message().isEmpty());
}

TEST_CASE("opening: a bar and a button to cancel are there as long as it takes") {
  Opened opened;
  const QProgressBar* const bar = &opened.window.files().progress();
  CHECK(!bar->isVisible());
  opened.window.files().open_files_later({testing::first_scenario});
  CHECK(bar->isVisible());
  QPushButton* cancel = nullptr;
  for (auto* button : opened.window.findChildren<QPushButton*>()) {
    if (button->text() == "Cancel") cancel = button;
  }
  REQUIRE(cancel != nullptr);
  QTest::mouseClick(cancel, Qt::LeftButton);
  CHECK(!bar->isVisible());
  opened.settle();
  CHECK(opened.window.count() == 1);
  CHECK(opened.window.message() == "Opening was cancelled");
  opened.open_later({testing::first_scenario});
  CHECK(!bar->isVisible());
  CHECK(opened.window.count() == 2);
}

}  // namespace
}  // namespace penstock
