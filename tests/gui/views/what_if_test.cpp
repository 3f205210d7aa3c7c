#include <doctest/doctest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>

#include "gui/models/change/knobs.hpp"
#include "tests/gui/views/opened.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using testing::named;
using testing::Opened;

QString refusal(Opened& opened) {
  return named<QLabel>(opened.window, "Why a change is not possible").text();
}

QSlider& slider(Opened& opened, const char* name) { return named<QSlider>(opened.window, name); }

/// Waits until the hand counts as resting and the run is whole.
void rest(Opened& opened) {
  QTest::qWait(300);
  opened.settle();
  REQUIRE(!opened.run().brief);
}

TEST_CASE("what if: a refusal stays for as long as the knobs say what was refused") {
  Opened opened;
  // A drag passes what can be run, which is whole once the hand rests.
  slider(opened, "Link latency").setValue(700);
  QSlider& chunks = slider(opened, "Chunks per rank");
  const int usual = chunks.value();
  chunks.setValue(1000);
  opened.settle();
  rest(opened);
  CHECK(refusal(opened).contains("1f1b"));
  CHECK(opened.run().layout->placement.stage_count() == 4);
  slider(opened, "Link latency").setValue(710);
  rest(opened);
  CHECK(refusal(opened).contains("1f1b"));
  chunks.setValue(usual);
  rest(opened);
  CHECK(refusal(opened).isEmpty());
}

TEST_CASE("what if: undoing brings knobs back to the run that it brings back") {
  Opened opened;
  auto& field = named<QLineEdit>(opened.window, "Link latency µs");
  QString first;
  for (const int place : {500, 700}) {
    slider(opened, "Link latency").setValue(place);
    rest(opened);
    if (first.isEmpty()) first = field.text();
  }
  REQUIRE(field.text() != first);
  opened.window.changes().undo(/*forward=*/false);
  opened.settle();
  CHECK(field.text() == first);
}

TEST_CASE("what if: what is in force is shown faintly, and stated once it is turned") {
  Opened opened;
  opened.open(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/gpt_175b_on_dgx_a100.json");
  auto& microbatches = named<QLineEdit>(opened.window, "Microbatches ");
  auto& schedule = named<QComboBox>(opened.window, "Schedule");
  CHECK(microbatches.text().isEmpty());
  CHECK(microbatches.placeholderText() == "64");
  CHECK(microbatches.toolTip().contains("does not set it"));
  CHECK(slider(opened, "Microbatches").value() == 500);
  CHECK(schedule.currentIndex() == -1);
  CHECK(schedule.placeholderText() == "interleaved-1f1b");
  CHECK(named<QLineEdit>(opened.window, "Chunks per rank ").placeholderText() == "3");
  CHECK(named<QComboBox>(opened.window, "Recomputation").placeholderText() == "selective");
  slider(opened, "Microbatches").setValue(417);  // 2^5
  rest(opened);
  CHECK(refusal(opened).isEmpty());
  CHECK(microbatches.text() == "32");
  CHECK(opened.run().layout->microbatches == 32);
  CHECK(opened.run().layout->rule->name == "interleaved-1f1b");
}

TEST_CASE("what if: what follows from a turned knob is shown too") {
  Opened opened;
  auto& chunks = named<QLineEdit>(opened.window, "Chunks per rank ");
  CHECK(chunks.placeholderText() == "1");
  auto& schedule = named<QComboBox>(opened.window, "Schedule");
  REQUIRE(schedule.currentText() == "1f1b");
  opened.change({"/model/stages/4={\"forward_us\": 1000, \"backward_us\": 2000}",
                 "/model/stages/5={\"forward_us\": 1000, \"backward_us\": 2000}",
                 "/model/stages/6={\"forward_us\": 1000, \"backward_us\": 2000}",
                 "/model/stages/7={\"forward_us\": 1000, \"backward_us\": 2000}",
                 "/schedule/name=interleaved-1f1b"});
  CHECK(chunks.placeholderText() == "2");
}

TEST_CASE("what if: a scenario whose run does not finish opens, says why, and can be changed") {
  Opened opened;
  const testing::Scratch folder;
  const std::string stalls = folder.file("stalls.json",
                                         R"({"penstock": 1, "model": {"stages": [
            {"forward_us": 1, "backward_us": 2, "stash_bytes": 1000},
            {"forward_us": 1, "backward_us": 2, "stash_bytes": 1000}]},
          "hardware": {"name": "ideal", "devices": 2}, "schedule": {"name": "gpipe",
          "microbatches": 8}, "memory": {"capacity_bytes": 4000, "policy": "stall"}})");
  CHECK_THROWS_WITH(opened.open(stalls), doctest::Contains("does not finish"));
  opened.open_later({QString::fromStdString(stalls)});
  REQUIRE(opened.run().source == stalls);
  CHECK(refusal(opened).contains("does not finish"));
  CHECK(opened.window.message().contains("does not finish"));
  CHECK(opened.window.panels().figures().accessibleDescription().isEmpty());
  CHECK(named<QComboBox>(opened.window, "Schedule").isEnabled());
  auto& microbatches = named<QLineEdit>(opened.window, "Microbatches ");
  microbatches.setText("4");
  microbatches.setModified(true);
  microbatches.editingFinished();
  rest(opened);
  CHECK(opened.run().plan.tasks() > 0);
  CHECK(refusal(opened).isEmpty());
  opened.window.changes().undo(/*forward=*/false);
  opened.settle();
  CHECK(refusal(opened).contains("does not finish"));
}

TEST_CASE("what if: a size stays in the unit that it was typed in") {
  Opened opened;
  auto& capacity = named<QLineEdit>(opened.window, "Memory capacity B");
  capacity.setText("1.9GiB");
  capacity.setModified(true);
  capacity.editingFinished();
  rest(opened);
  CHECK(capacity.text() == "1.9GiB");
  CHECK(opened.run().capacity_bytes == 2040109466);
  CHECK(document_text(*opened.run().scenario).find("2040109466") != std::string::npos);
  CHECK(document_text(*opened.run().scenario).find("2040109465.6") == std::string::npos);
}

}  // namespace
}  // namespace penstock
