#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "experiments/show/pictures/palette.hpp"
#include "gui/models/view/time_axis.hpp"
#include "gui/views/canvas/look.hpp"
#include "sim/report/idle.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::named;
using testing::Opened;

TEST_CASE("hands: an op is hit on its first and last pixel, and not on the next one") {
  Opened opened;
  TimelineCanvas& canvas = opened.canvas();
  for (const char* name : {"0F0", "1F2", "2B5", "3B7"}) {
    CAPTURE(name);
    const TaskId op = opened.op(name);
    const QRectF place = canvas.place_of_task(op);
    const double y = place.center().y();
    CHECK(canvas.task_at({std::ceil(place.left()), y}) == op);
    CHECK(canvas.task_at({std::ceil(place.right()) - 1, y}) == op);
    CHECK(canvas.task_at({std::floor(place.left()) - 1, y}) != op);
    CHECK(canvas.task_at({std::ceil(place.right()) + 1, y}) != op);
    const double x = std::round(place.center().x());
    CHECK(canvas.task_at({x, place.top()}) == op);
    CHECK(canvas.task_at({x, place.bottom() - 1}) == op);
    CHECK(canvas.task_at({x, place.top() - 1}) != op);
    CHECK(canvas.task_at({x, place.bottom()}) != op);
  }
}

TEST_CASE("hands: a press on the map of the whole run goes there") {
  Opened opened;
  TimelineCanvas& canvas = opened.canvas();
  canvas.zoom_at(0, 0.1);
  const double x = TimelineCanvas::gutter + canvas.lanes_width() * 0.75;
  QTest::mouseClick(&canvas, Qt::LeftButton, {}, QPoint(static_cast<int>(x), 10));
  const std::int64_t middle = canvas.view().axis.time_at(canvas.lanes_width() / 2);
  const auto span = static_cast<double>(opened.run().span().picoseconds);
  CHECK(static_cast<double>(middle) / span == doctest::Approx(0.75).epsilon(0.01));
}

TEST_CASE("compare: B is a strip of pale colours at the bottom of each lane of A") {
  Opened opened;
  opened.window.comparison().freeze_reference();
  opened.change({"/model/stages/0/forward_us=3000"});
  REQUIRE(opened.canvas().choice().style == PairStyle::ghost);
  const QImage image = opened.canvas().grab().toImage();
  const PaintedRun& b = *opened.canvas().others().front();
  const QRectF lane = opened.canvas().place_of_lane(1);
  const TimeAxis& axis = opened.canvas().view().axis;
  int seen = 0;
  for (TaskId task = 0; task < b.run->plan.tasks(); ++task) {
    if (b.run->plan.class_of(task).resource != 1) continue;
    const Timeline& timeline = b.run->timeline;
    const auto middle = (timeline.begin[task].picoseconds + timeline.end[task].picoseconds) / 2;
    const QPoint at(static_cast<int>(TimelineCanvas::gutter + axis.x_of(middle)),
                    static_cast<int>(lane.bottom()) - 2);
    const Colour pale = mix(b.colouring.colour(task), theme(ThemeName::light).lane, 0.45);
    CHECK(image.pixelColor(at) == qt_colour(pale));
    ++seen;
  }
  CHECK(seen == 16);
}

TEST_CASE("memory: kinds stand one over the other in their order, as high as their bytes") {
  Opened opened;
  opened.press(QKeySequence("N"));
  REQUIRE(opened.canvas().first()->memory != nullptr);
  const RunMemory& memory = *opened.canvas().first()->memory;
  const std::vector<HeldMemory>& held = memory.ranks.front().held;
  const HeldMemory& fullest =
      *std::max_element(held.begin(), held.end() - 1,
                        [](const HeldMemory& a, const HeldMemory& b) { return a.bytes < b.bytes; });
  const std::size_t kinds = memory.kinds.size();
  REQUIRE(kinds > 1);
  const auto middle = (fullest.begin.picoseconds + fullest.end.picoseconds) / 2;
  const int x = static_cast<int>(TimelineCanvas::gutter + opened.canvas().view().axis.x_of(middle));
  const QImage image = opened.canvas().grab().toImage();
  const QRectF lane = opened.canvas().place_of_memory(0);
  REQUIRE(!lane.isNull());
  std::vector<int> heights(kinds);
  std::size_t last = 0;
  for (int y = static_cast<int>(lane.bottom()) - 1; y >= static_cast<int>(lane.top()); --y) {
    for (std::size_t k = 0; k < kinds; ++k) {
      if (image.pixelColor(x, y) != qt_colour(memory_colour(memory.kinds[k]))) continue;
      ++heights[k];
      CHECK(k >= last);
      last = k;
    }
  }
  const auto first_held = std::find_if(heights.begin(), heights.end(), [](int h) { return h > 0; });
  CHECK(image.pixelColor(x, static_cast<int>(lane.bottom()) - 1) ==
        qt_colour(
            memory_colour(memory.kinds[static_cast<std::size_t>(first_held - heights.begin())])));
  const double all = lane.height() - 1;
  for (std::size_t k = 0; k < kinds; ++k) {
    const double bytes =
        static_cast<double>(fullest.by_kind[static_cast<std::size_t>(memory.kinds[k])]);
    const double share = bytes / static_cast<double>(memory.most);
    CHECK(std::abs(heights[k] - share * all) <= 1.5);
  }
}

TEST_CASE("legend: each text stands beside the colour that the lanes have for it") {
  Opened opened;
  opened.window.comparison().freeze_reference();
  auto* const legend = &named<QWidget>(opened.window, "Legend");
  legend->resize(legend->sizeHint());
  const QImage image = legend->grab().toImage();
  const QStringList words = legend->accessibleDescription().split(", ");
  const Theme& light = theme(ThemeName::light);
  const auto idle = [&](IdleCause cause) { return light.idle[static_cast<std::size_t>(cause)]; };
  const std::vector<std::pair<QString, Colour>> wanted{
      {"forward", pass_colour(Pass::forward)},
      {"backward", pass_colour(Pass::backward)},
      {"idle: dependency", idle(IdleCause::dependency)},
      {"idle: drain", idle(IdleCause::drain)},
      {"later than in A", later_colour},
      {"earlier than in A", earlier_colour}};
  for (const auto& [word, colour] : wanted) {
    CAPTURE(word.toStdString());
    const qsizetype line = words.indexOf(word);
    REQUIRE(line >= 0);
    int pixels = 0;
    for (int x = 8; x < 27; ++x) {
      const int y = 4 + 20 * static_cast<int>(line) + 10;
      pixels += image.pixelColor(x, y) == qt_colour(colour) ? 1 : 0;
    }
    CHECK(pixels > 9);
  }
  CHECK(!words.contains("backward, weight gradient"));
  opened.change({"/schedule/name=zb-h1"});
  CHECK(legend->accessibleDescription().contains("weight gradient"));
  opened.window.comparison().swap_runs();
  // B has them now.
  CHECK(legend->accessibleDescription().contains("weight gradient"));
  opened.window.comparison().drop_reference();
  CHECK(!legend->accessibleDescription().contains("weight gradient"));
  CHECK(!legend->accessibleDescription().contains("later"));
}

TEST_CASE("memory: the pointer on its lane says what the rank holds; hidden, the legend drops it") {
  Opened opened;
  opened.press(QKeySequence("N"));
  const auto& legend = named<QWidget>(opened.window, "Legend");
  CHECK(legend.accessibleDescription().contains("memory: stash"));
  const QString text = opened.canvas().text_at(opened.canvas().place_of_memory(1).center());
  CHECK(text.startsWith("rank 1 at "));
  CHECK(text.contains("MiB: "));
  CHECK(text.contains("stash"));
  opened.press(QKeySequence("N"));
  CHECK(!legend.accessibleDescription().contains("memory"));
}

TEST_CASE("bubbles: the longest one is fitted with what is around it, but no time before the run") {
  Opened opened;
  opened.press(QKeySequence("B"));
  const TimeAxis& axis = opened.canvas().view().axis;
  REQUIRE(opened.canvas().area());
  const auto length = opened.canvas().area()->end - opened.canvas().area()->begin;
  CHECK(axis.origin >= -length);
  CHECK(axis.time_at(opened.canvas().lanes_width()) <= opened.run().span().picoseconds + length);
}

TEST_CASE("path: C draws the ops of the critical path otherwise, once more as before") {
  Opened opened;
  const QImage before = opened.canvas().grab().toImage();
  opened.press(QKeySequence("C"));
  const QImage with = opened.canvas().grab().toImage();
  int ops = 0;
  for (const TaskId task : opened.canvas().path().tasks) {
    if (opened.run().plan.is_link(opened.run().plan.class_of(task).resource)) continue;
    const QRect place = opened.canvas().place_of_task(task).toRect();
    CHECK(with.copy(place) != before.copy(place));
    ++ops;
  }
  CHECK(ops > 5);
  opened.press(QKeySequence("C"));
  CHECK(opened.canvas().grab().toImage() == before);
}

TEST_CASE("selection: an arrow leads from the transfer that an op waited for to the op") {
  Opened opened;
  const TaskId op = opened.op("2F1");
  const QRectF place = opened.canvas().place_of_task(op);
  const QPoint ahead(static_cast<int>(place.left()) - 3, static_cast<int>(place.center().y()));
  const QColor without = opened.canvas().grab().toImage().pixelColor(ahead);
  opened.canvas().select(op, false);
  const QColor with = opened.canvas().grab().toImage().pixelColor(ahead);
  CHECK(with != without);
  CHECK(with.blue() > with.red() + 60);  // that of the selection
}

TEST_CASE("idle time: the list has each cause of each rank under its heading") {
  Opened opened;
  QTreeWidget* const idle = &opened.list("Idle time");
  REQUIRE(idle->topLevelItemCount() == 5);
  for (int column = 0; column < idle->columnCount(); ++column) {
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      const auto cause = static_cast<IdleCause>(c);
      if (!idle->headerItem()->text(column).startsWith(QString(name(cause)) + ", ")) continue;
      const QString unit = idle->headerItem()->text(column).section(", ", 1);
      for (int r = 0; r < 5; ++r) {
        const QTreeWidgetItem& row = *idle->topLevelItem(r);
        if (row.text(0) == "all") continue;
        const auto& report = opened.run().report.ranks[row.text(0).toUInt()];
        const Time time = time_of(report.idle_by_cause, cause);
        const double size = unit == "ms" ? 1e9 : 1e6;
        CHECK(row.text(column).toDouble() ==
              doctest::Approx(static_cast<double>(time.picoseconds) / size).epsilon(0.001));
      }
    }
  }
}

TEST_CASE("undo: a new change ends what could be done again") {
  Opened opened;
  opened.change({"/hardware/latency_us=500"});
  opened.press(QKeySequence("Ctrl+Z"));
  opened.change({"/hardware/latency_us=700"});
  const Time span = opened.run().span();
  opened.press(QKeySequence("Ctrl+Shift+Z"));
  CHECK(opened.window.message() == "Nothing was undone");
  CHECK(opened.run().span() == span);
}

/// Bytes that this process has read so far.
std::uint64_t bytes_read() {
  std::ifstream facts("/proc/self/io");
  std::string word;
  std::uint64_t bytes = 0;
  facts >> word >> bytes;  // rchar: …
  return bytes;
}

TEST_CASE("opening: what is cancelled is read no further") {
  Opened opened;
  const testing::Scratch folder;
  const std::string path = folder.path("long.json");
  {
    std::ofstream file(path);
    file << R"({"schemaVersion": 1, "traceEvents": [{"ph": "M"})";
    for (int i = 0; i < 150'000; ++i) {
      file << R"(, {"ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 1, "tid": 1, )"
           << R"("ts": 5, "dur": 1.5, "args": {"External id": 4711, "Ev Idx": 4711}})";
    }
    file << "]}";
  }
  const std::uint64_t size = std::filesystem::file_size(path);
  const std::uint64_t before = bytes_read();
  opened.window.files().open_files_later({QString::fromStdString(path)});
  opened.window.files().cancel_opening();
  opened.settle();
  CHECK(bytes_read() - before < size / 2);
  CHECK(opened.window.count() == 1);
  const std::uint64_t again = bytes_read();
  opened.open_later({QString::fromStdString(path)});
  CHECK(bytes_read() - again > size * 9 / 10);
}

TEST_CASE("compare: a bad file gives its message, and what was compared stays") {
  Opened opened;
  const testing::Scratch folder;
  const QString bad = QString::fromStdString(folder.file("bad.json", "{\"penstock\": 1}"));
  opened.compare_with({testing::first_scenario});
  opened.compare_with({bad});
  CHECK(opened.window.message().contains("bad.json"));
  CHECK(opened.canvas().others().size() == 1);
  CHECK(opened.window.now()->others.size() == 1);
}

}  // namespace
}  // namespace penstock
