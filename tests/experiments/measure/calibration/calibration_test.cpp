#include "experiments/measure/calibration/calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "experiments/input/files/json_output.hpp"
#include "sim/base/error.hpp"
#include "tests/support/made_up_backend.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

/// Runs up to three ranks, each action for 300 ns and 1.1 times its work.
const BackendEntry three_ranks{
    .name = "three_ranks",
    .summary = "",
    .obstacle = [](const PricedPlan& priced) -> std::optional<Obstacle> {
      if (priced.plan.ranks <= 3) return std::nullopt;
      return Obstacle{true, "more than 3 ranks"};
    },
    .runs_layers = true,
    .make = [](const Job& job) -> std::unique_ptr<Backend> {
      return std::make_unique<MadeUpBackend>(job,
                                             [](Pass, double alone) { return 300 + 1.1 * alone; });
    },
};

const BackendEntry not_here{
    .name = "not_here",
    .summary = "",
    .obstacle =
        [](const PricedPlan&) {
          return std::optional(Obstacle{true, "no such device"});
        },
    .make = nullptr,
};

/// A kernel that takes exactly what it is asked to.
std::vector<KernelCalibration> exact_busy() {
  KernelModel model{.kernel = "busy",
                    .terms = {.names = {"start", "ns"},
                              .coefficients = {0, 1},
                              .intervals = {{0, 0}, {1, 1}},
                              .draws = {{0, 0.9}, {0, 1.1}},
                              .dropped = {}}};
  return {{model, {}, {}}};
}

/// The document of one kernel and two runs.
ordered_json small_document() {
  return ordered_json::parse(R"({"kind": "calibration", "backend": "cpu_logical",
    "kernels": [{"kernel": "gemm", "points": [
      {"part": "training", "measured_ns": 1, "predicted_ns": 1, "low_ns": 1, "high_ns": 1},
      {"part": "interpolation", "measured_ns": 900, "predicted_ns": 1000, "low_ns": 800,
       "high_ns": 1200}]}],
    "pipelines": {"runs": [
      {"part": "training", "measured_us": 900, "predicted_us": 1000, "low_us": 800,
       "high_us": 1200},
      {"part": "transfer", "measured_us": 2000, "predicted_us": 2100, "low_us": 1900,
       "high_us": 2300}]}})");
}

std::string refused(const ordered_json& document) {
  return refused_at([&] { calibration_plot(document); });
}

}  // namespace

// Whoever is held out differs from everybody trained on; other schedules run at settings that 1F1B
// was trained on, so that nothing but the schedule is new.
TEST_CASE("calibration: pipelines are split by the seed, and transfer changes the schedule alone") {
  const std::vector<PipelineCase> cases = pipeline_cases(1, 8, true);
  CHECK(split_hash(cases) == split_hash(pipeline_cases(1, 8, true)));
  CHECK(split_hash(cases) != split_hash(pipeline_cases(2, 8, true)));
  std::set<std::string> trained, all;
  std::map<DataPart, int> count;
  for (const PipelineCase& one : cases) {
    ++count[one.part];
    CHECK(all.insert(one.schedule + " " + text(one.setting)).second);
    CHECK((one.schedule == "1f1b") == (one.part != DataPart::transfer));
    if (one.part == DataPart::training) trained.insert(text(one.setting));
  }
  for (const PipelineCase& one : cases) {
    CAPTURE(text(one.setting));
    if (one.part == DataPart::training) continue;
    CHECK(trained.contains(text(one.setting)) == (one.part == DataPart::transfer));
  }
  CHECK(count[DataPart::training] == 12 + 8);
  CHECK(count[DataPart::interpolation] == 6 + 4);
  CHECK(count[DataPart::extrapolation] == 9);
  CHECK(count[DataPart::transfer] == 21);
}

TEST_CASE("calibration: pipelines have no more ranks than a backend runs") {
  const std::vector<PipelineCase> cases = pipeline_cases(1, 2, true);
  CHECK(std::all_of(cases.begin(), cases.end(),
                    [](const PipelineCase& one) { return one.setting.ranks == 2; }));
  CHECK(std::count_if(cases.begin(), cases.end(), [](const PipelineCase& one) {
          return one.part == DataPart::training;
        }) == 6 + 6);
}

// 30 us for F of a rank and microbatch: 15 of each chunk where it has two. Whatever the schedule,
// the rank works 90 us a microbatch.
TEST_CASE("calibration: all schedules of a setting have the same work") {
  for (const char* schedule : {"1f1b", "gpipe", "interleaved-1f1b", "zb-h1", "zb-v"}) {
    CAPTURE(schedule);
    const PipelineCase other{{"even", 2, 4, 30}, schedule, DataPart::transfer};
    const auto pipeline = pipeline_of(other, {exact_busy()});
    REQUIRE(pipeline);
    const Plan& plan = pipeline->job.priced.plan;
    double work_ns = 0;
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      if (plan.is_link(plan.class_of(task).resource)) continue;
      work_ns += pipeline->alone_ns[plan.work[task]];
    }
    CHECK(work_ns == doctest::Approx(2 * 4 * 90e3));
    REQUIRE(pipeline->alone_draws_ns.size() == 2);
    CHECK(pipeline->alone_draws_ns[1][0] == doctest::Approx(1.1 * pipeline->alone_ns[0]));
  }
}

TEST_CASE("calibration: what a rule does not allow is no case") {
  CHECK_FALSE(pipeline_of({{"even", 4, 6, 30}, "dualpipe", DataPart::transfer}, {exact_busy()}));
}

// The machine has at most three ranks. Its kernels are those of this machine, so that nothing can
// be said of errors here; of what is there, and of what was left out, it can.
TEST_CASE("calibration: a backend is measured with what it can run, and the report has all of it") {
  const CalibrationRequest request{.budget_s = 1, .bootstrap = {.seed = 4, .draws = 30}};
  std::vector<std::size_t> kept;
  std::set<std::string> units;
  const CalibrationWatch watch{
      .on_progress =
          [&](std::string_view unit, std::uint64_t done, std::uint64_t total) {
            CHECK(done <= total);
            units.insert(std::string(unit));
          },
      .on_kernels =
          [&](const Calibration& so_far) {
            // All that a store needs is there, and most of the pipelines are to come.
            CHECK(so_far.environment.at("made") == "up");
            CHECK(so_far.pipelines.predictions.empty());
            CHECK_FALSE(so_far.swept.points.front().samples_ns.empty());
            kept.push_back(so_far.swept.points.size());
          }};
  const Calibration calibration = calibrate(three_ranks, request, watch);
  CHECK(kept == std::vector<std::size_t>{calibration.swept.points.size()});
  CHECK(units == std::set<std::string>{"kernel samples", "pipelines"});
  CHECK(calibration.backend == "three_ranks");
  CHECK(calibration.environment.at("made") == "up");
  CHECK(calibration.kernels.size() == 14);
  CHECK(calibration.left_out.empty());
  REQUIRE(calibration.pipelines.parts.size() == 4);
  for (const PipelinePrediction& one : calibration.pipelines.predictions) {
    CAPTURE(one.name);
    CHECK(one.errors.structure < 1e-6);
    CHECK(one.errors.retest == 0);
    CHECK(one.interval_us.low <= one.interval_us.high);
  }
  const ordered_json document = calibration_json(calibration);
  CHECK(document["pipelines"]["runs"].size() == calibration.pipelines.predictions.size());
  CHECK(document["split"]["pipelines"].get<std::string>().size() == 16);
  CHECK(document["seed"] == 4);
  CHECK(document["verdict"] == (calibration.noise ? "inconclusive" : "judged"));
  const std::string report = calibration_text(calibration);
  for (const char* part :
       {"gemm", "handover", "in a run", "transfer", "closed formula", "verdict"}) {
    CAPTURE(part);
    CHECK(says(report, part));
  }
  // And it can be drawn.
  const CalibrationPlot plot = calibration_plot(document);
  REQUIRE(plot.panels.size() == 2);
  CHECK(plot.panels[1].series.size() == 4);
}

// Eight times a millisecond are over when the first one is there.
TEST_CASE("calibration: pipelines are left out once their share of the budget is long over") {
  BackendEntry slow = three_ranks;
  slow.make = [](const Job& job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return three_ranks.make(job);
  };
  PipelineRuns runs(slow, 1e-3);
  for (std::size_t left = 5; left > 0; --left) {
    const PipelineCase one{{"even", 2, 4, 30}, "1f1b", DataPart::training};
    runs.run(*pipeline_of(one, {exact_busy()}), left);
  }
  CHECK(runs.runs.size() == 1);
  REQUIRE(runs.left_out.size() == 4);
  CHECK(runs.left_out[0].why == "pipelines had taken 8 times their share of --budget");
  const Calibration calibration{.left_out = runs.left_out};
  CHECK(says(calibration_text(calibration),
             "left out: 4 pipelines: pipelines had taken 8 times their share of --budget\n"));
}

TEST_CASE("calibration: a backend that runs nothing here says why before anything is measured") {
  CHECK_THROWS_WITH_AS(calibrate(not_here, {.budget_s = 1e6}), "not_here: no such device",
                       std::runtime_error);
}

// Of the kernel only what was held out is drawn; times become microseconds and milliseconds.
TEST_CASE("calibration plot: it follows from the document alone, byte by byte") {
  const CalibrationPlot plot = calibration_plot(small_document());
  REQUIRE(plot.panels.size() == 2);
  REQUIRE(plot.panels[0].series.size() == 1);
  REQUIRE(plot.panels[0].series[0].points.size() == 1);
  CHECK(plot.panels[0].series[0].points[0].measured == doctest::Approx(0.9));
  REQUIRE(plot.panels[1].series.size() == 2);
  CHECK(plot.panels[1].series[1].name == "other schedules");
  CHECK(plot.panels[1].series[1].points[0].high == doctest::Approx(2.3));
  const std::string once = draw_calibration_plot(PictureFormat::svg, plot);
  CHECK(once == draw_calibration_plot(PictureFormat::svg, calibration_plot(small_document())));
  CHECK(says(once, "<svg"));
}

TEST_CASE("calibration plot: any other document is refused with its place") {
  CHECK(refused(ordered_json::array()) == "/kind: this is no report of penstock calibrate --json");
  ordered_json document = small_document();
  document["kind"] = "run";
  CHECK(refused(document) == "/kind: this is no report of penstock calibrate --json");
  document = small_document();
  document["pipelines"]["runs"] = 3;
  CHECK(refused(document) == "/pipelines/runs: 3 is not a list");
  document = small_document();
  document["pipelines"]["runs"][1]["low_us"] = -1;
  CHECK(refused(document) == "/pipelines/runs/1/low_us: -1 is not a number from 0 to 1e+30");
  document = small_document();
  document["kernels"][0]["kernel"] = 1;
  CHECK(refused(document) == "/kernels/0/kernel: 1 is not a text");
  document = small_document();
  document["kernels"][0]["points"][1].erase("high_ns");
  CHECK(refused(document).starts_with("/kernels/0/points/1/high_ns: \"high_ns\" is missing"));
}

TEST_CASE("calibration plot: times that no logarithm has, and plots too small, are refused") {
  CalibrationPlot plot{.panels = {{"", "ms", {{"one", {{1, 1, 0, 1}}}}}}};
  CHECK_THROWS_WITH_AS(draw_calibration_plot(PictureFormat::svg, plot),
                       "series \"one\" has the time 0; times must be above 0, and finite",
                       InputError);
  plot.panels.clear();
  CHECK_FALSE(draw_calibration_plot(PictureFormat::svg, plot).empty());
  plot.options.height = 100;
  CHECK_THROWS_AS(draw_calibration_plot(PictureFormat::svg, plot), UsageError);
}

}  // namespace penstock::testing
