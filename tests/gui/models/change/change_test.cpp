#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "experiments/input/scenario/document.hpp"
#include "gui/models/change/knobs.hpp"
#include "gui/models/change/moves.hpp"
#include "gui/models/change/text_place.hpp"
#include "gui/models/run/figures.hpp"
#include "gui/models/run/run_pair.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

Scenario shipped() {
  return read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json");
}

const Knob& knob_of(std::string_view pointer) {
  for (const Knob& knob : knobs()) {
    if (knob.pointer == pointer) return knob;
  }
  throw std::logic_error("no such knob");
}

TEST_CASE("text place: the line of a pointer is that of its key, or of the nearest value above") {
  const std::string text =
      "{\n  \"model\": {\n    \"stages\": [\n      { \"forward_us\": 1 },\n"
      "      { \"forward_us\": 2,\n        \"x\": \"}\" , \"backward_us\": 3 }\n    ]\n  },\n"
      "  \"schedule\": { \"name\": \"1f1b\" }\n}\n";
  CHECK(line_of(text, "/model/stages/0/forward_us") == 3);
  CHECK(line_of(text, "/model/stages/1/backward_us") == 5);
  CHECK(line_of(text, "/schedule/name") == 8);
  CHECK(line_of(text, "/schedule/nothing") == 8);
  CHECK(line_of(text, "") == 0);
  CHECK(line_of(text, "line 4, column 2") == 3);
  CHECK(!line_of(text, "row 2, column 5"));
}

TEST_CASE("text place: a message names its place behind its file") {
  CHECK(place_in("a.json: /schedule/name: unknown name \"x\": y", "a.json") == "/schedule/name");
  CHECK(place_in("line 3, column 5: expected a value", "-") == "line 3, column 5");
  CHECK(place_in("a.json: its run does not finish", "a.json").empty());
}

TEST_CASE("text place: torn documents never lead outside of the text") {
  const std::string text = document_text(shipped());
  for (std::size_t length = 0; length < text.size(); length += 7) {
    const auto line = line_of(std::string_view(text).substr(0, length), "/schedule/microbatches");
    CHECK(line.value_or(0) <= 60);
  }
}

TextPlace behind(std::string_view text) { return place_at_position(text, text.size()); }

TEST_CASE("places: the object around a position is known, however unfinished the text is") {
  CHECK(behind("").pointer.empty());
  CHECK(behind(R"({"a": 1, )").pointer.empty());
  CHECK(behind(R"({"hardware": {"name": "ideal", )").pointer == "/hardware");
  CHECK(behind(R"({"hardware": {"name": "ide)").pointer == "/hardware");
  CHECK(behind(R"({"hardware": {"name": "ide)").key == "name");
  CHECK(behind(R"({"hardware": {"na)").key.empty());
  CHECK(behind(R"({"model": {"stages": [{"f": 1}, {"b": {}, )").pointer == "/model/stages/1");
  CHECK(behind(R"({"a": {"b": [1, 2]}, )").pointer.empty());
  CHECK(behind(R"({"a": "}{", "c": {)").pointer == "/c");
  CHECK(behind("}}]]{{").pointer == "/");
}

TEST_CASE(
    "knobs: each one that applies changes the run or its memory, through the checks of files") {
  const Scenario scenario = shipped();
  const ViewedRunPtr before = viewed(scenario);
  struct Turn {
    const char* pointer;
    const char* value;
  };
  for (const Turn& turn : {Turn{"/schedule/microbatches", "16"}, Turn{"/schedule/name", "gpipe"},
                           Turn{"", "2"}, Turn{"/hardware/bandwidth_bytes_per_s", "1e9"},
                           Turn{"/hardware/latency_us", "500"}, Turn{"/chance/jitter", "0.2"}}) {
    CAPTURE(turn.pointer);
    const Knob& knob = knob_of(turn.pointer);
    REQUIRE(knob_applies(scenario, knob));
    const Scenario turned = changed(scenario, settings_for(scenario, knob, turn.value, 1));
    CHECK(viewed(turned)->span() != before->span());
    if (!knob.of_stage()) CHECK(knob_value(turned, knob).has_value());
  }
  CHECK_THROWS_AS(changed(scenario, settings_for(scenario, knob_of("/chance/jitter"), "-1", 0)),
                  InputError);
}

TEST_CASE("knobs: the factor of a stage takes times with units, and refuses what is no number") {
  const Knob& knob = knob_of("");
  const Scenario scenario =
      changed(shipped(), {"/model/stages/1/forward_us=2ms", "/model/stages/1/backward_us=3000"},
              {"model/stages/1/backward_input_us", "model/stages/1/backward_weight_us"});
  const Scenario turned = changed(scenario, settings_for(scenario, knob, "1.5", 1));
  CHECK(value_at(turned, "/model/stages/1/forward_us") == "3000");
  for (const char* word : {"abc", "", "2x", "nan", "inf", "1e400"}) {
    CAPTURE(word);
    CHECK_THROWS_WITH_AS(settings_for(scenario, knob, word, 1),
                         doctest::Contains("is not a number, for example 1.5"), InputError);
  }
}

/// The scenarios that ship.
std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> paths;
  const std::string folder = std::string(PENSTOCK_ROOT) + "/experiments/scenarios";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".json") paths.push_back(file.path());
  }
  return paths;
}

TEST_CASE("knobs: turned to what is in force, a run stays as it is; what is stated is in force") {
  std::map<std::string, int> known;
  for (const std::string& path : shipped_scenarios()) {
    CAPTURE(path);
    const Scenario scenario = read_scenario(path);
    Chain chain;
    const ViewedRunPtr run = viewed_after(chain, scenario);
    for (const Knob& knob : knobs()) {
      CAPTURE(knob.pointer);
      const auto in_force = value_in_force(*run->layout, knob);
      if (const auto stated = knob_value(scenario, knob); stated && !knob.of_stage()) {
        REQUIRE(in_force);
        CHECK(knob_number(knob, *in_force) == knob_number(knob, *stated));
        if (knob.slider().is_choice()) CHECK(*in_force == *stated);
      }
      if (!in_force || !knob_applies(scenario, knob)) continue;
      ++known[knob.pointer];
      const auto settings =
          with_schedule_of(*run->layout, scenario, settings_for(scenario, knob, *in_force, 0));
      const ViewedRunPtr again = viewed_after(chain, chain.changed(scenario, settings));
      CHECK(again->timeline == run->timeline);
      CHECK(again->costs.bytes == run->costs.bytes);
      CHECK(again->capacity_bytes == run->capacity_bytes);
    }
  }
  for (const Knob& knob : knobs()) {
    CAPTURE(knob.pointer);
    CHECK((knob.of_stage() || known[knob.pointer] > 0));
  }
}

TEST_CASE("knobs: the position of a slider goes to a value and back") {
  for (const Knob& knob : knobs()) {
    if (knob.slider().is_choice()) continue;
    CAPTURE(knob.pointer);
    CHECK(knob_at(knob, 0) == doctest::Approx(knob.slider().low));
    CHECK(knob_at(knob, 1) == doctest::Approx(knob.slider().high));
    const double middle = knob_at(knob, 0.5);
    CHECK(position_of(knob, middle) ==
          doctest::Approx(0.5).epsilon(knob.field->takes.only_whole() ? 0.2 : 0.02));
  }
}

TEST_CASE("knobs: follow the tables; a slider stays within what its key takes") {
  CHECK(knob_of("/schedule/microbatches").slider().label == "Microbatches");
  CHECK(knob_of("/hardware/latency_us").unit() == "µs");
  CHECK(knob_of("/recompute/mode").words ==
        std::vector<std::string>{"none", "full", "selective", "except_last"});
  for (const Knob& knob : knobs()) {
    CAPTURE(knob.pointer);
    if (knob.slider().is_choice()) {
      CHECK(!knob.words.empty());
      continue;
    }
    const auto [least, most] = knob.field->takes.bounds();
    CHECK(knob.slider().low >= least);
    CHECK(knob.slider().high <= most);
  }
}

TEST_CASE("knobs: numbers are shown with the units that scenarios read, and read back") {
  CHECK(knob_text(knob_of("/hardware/bandwidth_bytes_per_s"), 1e10) == "10GB/s");
  CHECK(knob_text(knob_of("/hardware/latency_us"), 2) == "2µs");
  CHECK(knob_text(knob_of("/hardware/latency_us"), 0.25) == "250ns");
  CHECK(knob_text(knob_of("/memory/capacity_bytes"), 8e10) == "80GB");
  CHECK(knob_text(knob_of("/memory/capacity_bytes"), 2040109466) == "1.9GiB");
  CHECK(knob_text(knob_of("/memory/capacity_bytes"), 79.25 * (1 << 30)) == "79.25GiB");
  CHECK(knob_number(knob_of("/memory/capacity_bytes"), "1.9GiB") == 2040109466);
  CHECK(knob_text(knob_of("/schedule/microbatches"), 4096) == "4096");
  CHECK(knob_number(knob_of("/hardware/bandwidth_bytes_per_s"), "400Gb/s") == 5e10);
  CHECK(!knob_number(knob_of("/hardware/bandwidth_bytes_per_s"), "fast"));
  CHECK(!knob_number(knob_of("/chance/jitter"), "0.1x"));
  for (const Knob& knob : knobs()) {
    if (knob.slider().is_choice()) continue;
    CAPTURE(knob.pointer);
    for (const double position : {0.0, 0.3, 0.77, 1.0}) {
      const double value = knob_at(knob, position);
      const auto again = knob_number(knob, knob_text(knob, value));
      REQUIRE(again);
      CHECK(*again == doctest::Approx(value).epsilon(1e-5));
    }
  }
}

TEST_CASE("knobs: a changed scenario, written and read again, gives the same run") {
  const Scenario turned =
      changed(shipped(), {"/schedule/microbatches=12", "/hardware/latency_us=7"});
  const Scenario again = parse_scenario(document_text(turned), turned.source);
  CHECK(viewed(again)->timeline == viewed(turned)->timeline);
}

TEST_CASE("order: an op moves where that is legal, and the refusal says why where not") {
  const ViewedRunPtr run = viewed(shipped());
  TaskId last_forward = no_task;
  TaskId first_forward = no_task;
  for (TaskId task = 0; task < run->plan.tasks(); ++task) {
    const WorkClass& work = run->plan.class_of(task);
    if (work.resource != 0 || work.pass != Pass::forward) continue;
    if (first_forward == no_task) first_forward = task;
    last_forward = task;
  }
  const auto earlier = with_moved_op(*run, last_forward, false);
  REQUIRE(std::holds_alternative<ViewedRunPtr>(earlier));
  const ViewedRunPtr moved = std::get<ViewedRunPtr>(earlier);
  CHECK(moved->plan.tasks() == run->plan.tasks());
  CHECK(!(moved->timeline == run->timeline));
  const auto refused = with_moved_op(*run, first_forward, false);
  REQUIRE(std::holds_alternative<MoveRefused>(refused));
  CHECK(std::get<MoveRefused>(refused).text == "it is the first action of its rank");
}

TEST_CASE(
    "pair: a run against itself has no difference; against a slower one, its first is found") {
  const ViewedRunPtr run = viewed(shipped());
  const RunPair same = pair_of(run, run, PairAlignment::start);
  CHECK(!same.first);
  for (const double difference : same.against_a->differences) CHECK(difference == 0);
  const ViewedRunPtr slow = viewed(changed(shipped(), {"/model/stages/2/forward_us=1500"}));
  const RunPair pair = pair_of(run, slow, PairAlignment::start);
  REQUIRE(pair.first);
  CHECK(task_text(run->plan, *pair.first) == "2F0");
  CHECK(pair.residuals.at(2).at(3) == doctest::Approx(0.5));
  CHECK(pair.residuals.at(1).at(3) == doctest::Approx(0));
  const RunPair scaled = pair_of(run, slow, PairAlignment::makespan);
  CHECK(makespan(scaled.second->plan, scaled.second->timeline) == run->span());
}

ViewedRun briefly(ViewedRun run) {
  run.brief = true;
  return run;
}

TEST_CASE("pair: the headline has the change of the comparison's text, sign and unit") {
  const ViewedRunPtr run = viewed(shipped());
  for (const char* setting : {"/model/stages/2/forward_us=1500", "/model/stages/2/forward_us=1007",
                              "/model/stages/2/forward_us=400"}) {
    CAPTURE(setting);
    const ViewedRunPtr other = viewed(changed(shipped(), {setting}));
    const std::string text = pair_of(run, other, PairAlignment::start).text;
    const auto part = [&](const char* from, const char* to) {
      const std::size_t begin = text.find(from) + std::string_view(from).size();
      return text.substr(begin, text.find(to, begin) - begin);
    };
    const std::string unit = part("times in ", ";");
    const std::string change = part(" in B: ", " (");
    const std::string share = part((" in B: " + change + " ").c_str(), "\n");
    const std::string headed = headline(*run, *other);
    CHECK(headed.starts_with("time " + change + " " + unit + " " + share + ", bubble "));
    CHECK(headline(*run, briefly(*other)) == "time " + change + " " + unit + " " + share);
  }
  CHECK(headline(*run, briefly(*run)).starts_with("time 0 "));
}

TEST_CASE("pair: runs without a common op have no field of differences") {
  const ViewedRunPtr run = viewed(shipped());
  auto other = std::make_shared<ViewedRun>(*run);
  for (WorkClass& work : other->plan.classes) work.stage = Stage{index(work.stage) + 10};
  CHECK(pair_of(run, other, PairAlignment::start).residuals.empty());
}

}  // namespace
}  // namespace penstock
