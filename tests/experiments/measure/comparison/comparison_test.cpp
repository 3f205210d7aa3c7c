#include "experiments/measure/comparison/comparison.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/run/recordings.hpp"
#include "sim/base/error.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

/// 1f1b on two ranks, two microbatches, f = 1 us, b = 2 us, transfers of 3 us. Rank 0: F0 0-1,
/// F1 1-2, B0 10-12, B1 13-15. Rank 1: F0 4-5, B0 5-7, F1 7-8, B1 8-10.
constexpr const char* scenario = R"({
  "penstock": 1,
  "model": { "stages": [ { "forward_us": 1, "backward_us": 2 },
                         { "forward_us": 1, "backward_us": 2 } ] },
  "hardware": { "name": "ideal", "devices": 2, "transfer_us": 3 },
  "schedule": { "name": "1f1b", "microbatches": 2 }
})";

/// Files of the same scenario: as it is, and as a timeline.
struct Files : Desk {
  std::string scenario_path = file("run.json", scenario);
  std::string timeline_path;

  Files() {
    const Recording recording = recording_of(scenario_path);
    timeline_path =
        file("run.timeline", write_timeline(recording.plan, recording.timeline, recording.title));
  }
};

struct Compared {
  ComparedRun a;
  ComparedRun b;
  Comparison comparison;

  std::string text() const { return comparison_text(a, b, comparison); }
  json document() const { return json::parse(comparison_json(a, b, comparison)); }
};

Compared compared(const std::string& a, const std::string& b,
                  const std::vector<std::string>& settings = {},
                  const CompareOptions& options = {}) {
  Compared all{{"a", recording_of(a)}, {"b", recording_of(b, settings)}, {}};
  all.comparison = compare(all.a.recording.plan, all.a.recording.timeline, all.b.recording.plan,
                           all.b.recording.timeline, options);
  return all;
}

std::string recording_refusal(const std::string& path,
                              const std::vector<std::string>& settings = {}) {
  try {
    recording_of(path, settings);
  } catch (const InputError& error) {
    return error.what();
  } catch (const UsageError& error) {
    return std::string("usage: ") + error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("comparison: a share has three digits, and never an exponent") {
  CHECK(signed_percent(0) == "0 %");
  CHECK(signed_percent(-0.00781) == "-0.781 %");
  CHECK(signed_percent(9.99) == "+999 %");
  CHECK(signed_percent(9.996) == "+999.6 %");
  CHECK(signed_percent(330.591) == "+33059.1 %");
}

TEST_CASE("a scenario is the same as the timeline that its run wrote") {
  const Files files;
  const Compared same = compared(files.timeline_path, files.scenario_path);
  CHECK(same.comparison.same());
  CHECK(says(same.text(), "12 ops, same plan"));
  CHECK(same.text().ends_with("the runs are equal\n"));
  CHECK(same.document().at("same") == true);
  CHECK(same.document().at("first") == nullptr);
}

TEST_CASE("a comparison tells where runs part, in words and as JSON") {
  // F of stage 1 takes 2 us rather than 1. Each F of rank 1 takes 1 us longer: F0 4-6, B0 6-8,
  // F1 8-10, B1 10-12, and the last B1 ends 2 us later, at 17.
  const Files files;
  const Compared runs =
      compared(files.scenario_path, files.scenario_path, {"/model/stages/1/forward_us=2"});
  const std::string text = runs.text();
  CHECK(says(text, "makespan    15 in A, 17 in B: +2 (+13.3 %)"));
  CHECK(says(text, "\nfirst difference\n"));
  CHECK(says(text, "at 5: 1F0 on rank 1 takes 1 in A, 2 in B (its own duration)\n"));
  CHECK(says(text, "2 actions with another duration, +2 in all\n"));
  CHECK(says(text, "its input 1SEND_B0 came later"));
  CHECK(text.ends_with("finding: the runs differ\n"));

  const json document = runs.document();
  CHECK(document.at("same") == false);
  CHECK(document.at("makespan_difference_us") == 2);
  CHECK(document.at("makespan_error").get<double>() == doctest::Approx(2.0 / 15));
  CHECK(document.at("first").at("op") == "1F0");
  CHECK(document.at("first").at("time_us") == 5);
  CHECK(document.at("first").at("reason") == "duration");
  CHECK(document.at("first").at("duration_us") == 1);
  CHECK(document.at("actions").at("durations") == 2);
  CHECK(document.at("ranks").at(1).at("a").at("busy_us") == 6);
  CHECK(document.at("ranks").at(1).at("difference").at("busy_us") == 2);
  CHECK(document.at("ranks").at(1).at("difference").at("idle_us") == 0);
  // Rank 0 waits for 1B0, which ends at 7 and at 8, then for its gradient; behind B0, which ends
  // at 12 and at 13, for the gradient of 1B1, which is on its way until 13 and until 15.
  const json& causes = document.at("ranks").at(0).at("difference").at("idle_by_cause_us");
  CHECK(causes.at("dependency") == 1);
  CHECK(causes.at("transfer") == 1);
  // The last op waits for 1SEND_B1, 1B1, 1F1, 1B0, 1F0: both forwards are on the path.
  const json& change = document.at("makespan_change");
  REQUIRE(change.at("durations").size() == 1);
  CHECK(change.at("durations").at(0).at("pass") == "F");
  CHECK(change.at("durations").at(0).at("ops") == 2);
  CHECK(change.at("durations").at(0).at("change_us") == 2);
  CHECK(change.at("rest_us") == 0);
  REQUIRE(document.at("ops").size() == 12);
  for (const json& op : document.at("ops")) {
    if (op.at("op") != "1B1") continue;
    CHECK(op == json({{"op", "1B1"},
                      {"where", "rank 1"},
                      {"start_a_us", 8},
                      {"start_b_us", 10},
                      {"end_a_us", 10},
                      {"end_b_us", 12},
                      {"start_us", 2},
                      {"end_us", 2},
                      {"duration_us", 0},
                      {"wait_us", 0},
                      {"reason", "before"}}));
  }
}

TEST_CASE("runs that do different work are compared by their rates, too") {
  const Files files;
  const auto notes = [&](const std::vector<std::string>& settings) {
    const std::string& path = files.scenario_path;
    const auto run = [&](const std::vector<std::string>& changes) {
      RecordedRun one = recording_in(path, read_file(path), changes);
      return ComparedRun{path, one, step_work_of(*one.layout, one)};
    };
    const ComparedRun a = run({}), b = run(settings);
    return comparison_notes(
        a, b,
        compare(a.recording.plan, a.recording.timeline, b.recording.plan, b.recording.timeline));
  };
  using Notes = std::vector<std::string>;
  CHECK(notes({"/model/stages/1/forward_us=2"}).empty());
  // Two samples in 15 us, and six in as long.
  CHECK(notes({"/schedule/samples_per_microbatch=3"}) ==
        Notes{"global batch: 2 in A, 6 in B",
              "samples per second: 133333 in A, 400000 in B (+200 %)"});
  CHECK(notes({"/parallel/data=2", "/hardware/devices=4"}) ==
        Notes{"devices: 2 in A, 4 in B", "global batch: 2 in A, 4 in B",
              "samples per second: 133333 in A, 266667 in B (+100 %)"});
}

TEST_CASE("what plans do not share is said and listed") {
  const Files files;
  const Compared runs =
      compared(files.scenario_path, files.scenario_path, {"/schedule/microbatches=3"});
  CHECK(says(runs.text(), "0 only in A, 6 only in B"));
  CHECK(says(runs.text(), "note: microbatches: 2 in A, 3 in B"));
  CHECK(says(runs.text(), "note: different plans are compared on their common ops"));
  CHECK(runs.document().at("only_in_b").size() == 6);
  CHECK(runs.document().at("only_in_b").at(0).contains("op"));
}

TEST_CASE("ranks of one run alone have no difference") {
  const Files files;
  const Compared runs =
      compared(files.scenario_path, files.scenario_path,
               {R"(/model/stages=[{"forward_us": 1, "backward_us": 2}])", "/hardware/devices=1"});
  const json ranks = runs.document().at("ranks");
  REQUIRE(ranks.size() == 2);
  CHECK(ranks.at(1).at("b") == nullptr);
  CHECK(ranks.at(1).at("difference") == nullptr);
  CHECK(says(runs.text(), "note: stages: 2 in A, 1 in B"));
}

TEST_CASE("what cannot be compared is refused with the file at fault") {
  const Files files;
  const std::string timeline = content_of(files.timeline_path);
  const std::string cut = files.file("cut.timeline", timeline.substr(0, 900));
  CHECK(says(recording_refusal(cut), cut + ": truncated"));
  const std::string unnamed = files.file("cut", timeline.substr(0, 900));
  CHECK(says(recording_refusal(unnamed), unnamed + ": truncated"));
  const std::string garbage = files.file("x.timeline", "\xff\x00garbage");
  CHECK(recording_refusal(garbage) == garbage + ": not a timeline file");
  const std::string binary = files.file("x.bin", std::string("\x7f"
                                                             "ELF\0\0\1",
                                                             7));
  CHECK(says(recording_refusal(binary), binary + ": "));
  const std::string empty = files.file("empty", "");
  CHECK(says(recording_refusal(empty), empty + ": the file is empty"));
  const std::string deep = files.file("deep.json", std::string(100'000, '['));
  CHECK(says(recording_refusal(deep), deep + ": "));
  CHECK(says(recording_refusal(files.path("none")), "cannot open"));
  CHECK(says(recording_refusal(files.timeline_path, {"/hardware/devices=2"}),
             "usage: --set /hardware/devices=2: "));
}

TEST_CASE("a scenario whose run does not finish has nothing to compare") {
  // Each rank waits for what the other does second.
  const Files files;
  files.file("order.csv", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n");
  CHECK(says(recording_refusal(files.scenario_path, {R"(/schedule={"file": "order.csv"})"}),
             "its run does not finish and has no timeline"));
}

TEST_CASE("times at the end of the clock are compared without running over it") {
  // Half a year of transfers a piece would not fit; they end at the clock's end, sums stay there.
  const Files files;
  Recording late = recording_of(files.timeline_path);
  for (TaskId task = 0; task < late.plan.tasks(); ++task) {
    if (!is_transfer(late.plan.class_of(task).pass)) continue;
    late.timeline.begin[task] = {};
    late.timeline.end[task] = Time{9'200'000'000'000'000'000};
  }
  const std::string path =
      files.file("late.timeline", write_timeline(late.plan, late.timeline, late.title));
  for (const Alignment alignment : {Alignment::start, Alignment::first_op, Alignment::makespan}) {
    const Compared one = compared(files.timeline_path, path, {}, {.alignment = alignment});
    const Compared other = compared(path, files.timeline_path, {}, {.alignment = alignment});
    CHECK(!one.comparison.same());
    CHECK(one.document().at("ops").size() == 12);
    CHECK(other.document().at("ops").size() == 12);
    CHECK(says(other.text(), "finding: the runs differ"));
  }
}

TEST_CASE("times of a trace are equal within their rounding, and differ beyond it") {
  const Files files;
  Recording measured = recording_of(files.scenario_path);
  const auto shifted = [&](std::int64_t ns, const char* resolution) {
    Recording trace = measured;
    if (*resolution != 0) trace.timeline.environment["resolution"] = resolution;
    for (Time& begin : trace.timeline.begin) begin += from_ns(ns);
    for (Time& end : trace.timeline.end) end += from_ns(ns);
    const std::string path =
        files.file("trace.timeline", write_timeline(trace.plan, trace.timeline, trace.title));
    ComparedRun a{"a", recording_of(path)};
    ComparedRun b{"b", recording_of(files.scenario_path)};
    return compare(a.recording.plan, a.recording.timeline, b.recording.plan, b.recording.timeline,
                   {.resolution = resolution_of(a.recording.timeline)});
  };
  // The longest chain: F0, F0 sent, F0, B0, F1, B1, its gradient, B1.
  CHECK(shifted(6, "1ns").same());
  CHECK(shifted(6, "1ns").tolerance == from_ns(8));
  CHECK_FALSE(shifted(9, "1ns").same());
  CHECK_FALSE(shifted(6, "").same());
  CHECK_FALSE(shifted(6, "rubbish").same());
}

TEST_CASE("a run with scaled times is compared as its scenario's, and a note names the scale") {
  const Files files;
  Recording measured = recording_of(files.scenario_path);
  measured.timeline.environment["time_scale"] = "0.25";
  for (std::vector<Time>* times : {&measured.timeline.begin, &measured.timeline.end}) {
    for (Time& time : *times) time = {time.picoseconds / 4};
  }
  files.file("m.timeline", write_timeline(measured.plan, measured.timeline, measured.title));
  const ProgramRun first = files.run({"compare", "m.timeline", "run.json"});
  CHECK(first.code == 0);
  CHECK(says(first.output,
             "note: times of A are divided by its time_scale 0.25, so that they "
             "are those of the scenario"));
  const json second = files.json_of({"compare", "run.json", "m.timeline"});
  CHECK(second["same"] == true);
  CHECK(second["b"]["makespan_us"] == 15);
  CHECK(says(second["notes"].dump(), "times of B are divided by its time_scale 0.25"));
}

TEST_CASE("idle time of all ranks beyond the clock is compared in full") {
  const Scratch scratch;
  const Compared one = compared(scratch.file("run.json", scenario_idle_beyond_clock()),
                                scratch.path("run.json"), {"/model/stages/0/forward_us=5e11"});
  // 11 of 12 ranks for 1e6 s, then for 5e5.
  CHECK(says(one.text(), "idle       11000000  5500000  -5500000\n"));
  CHECK(says(one.text(), "  warm-up  11000000  5500000  -5500000\n"));
}

}  // namespace penstock::testing
