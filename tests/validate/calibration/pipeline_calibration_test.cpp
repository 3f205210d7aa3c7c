#include "validate/calibration/pipeline_calibration.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/support/jobs.hpp"
#include "tests/support/made_up_backend.hpp"

namespace penstock::testing {
namespace {

/// A pipeline whose stages take so many microseconds for F, I and W each, a rank.
Pipeline pipeline_of(const std::string& schedule, DataPart part, std::uint32_t ranks,
                     std::uint32_t microbatches, double us) {
  System system = system_of(schedule, ranks, microbatches);
  system.hardware = link(1, 1e9);
  const std::size_t stages = system.stages.size();
  for (std::size_t s = 0; s < stages; ++s) {
    const double share =
        us * ranks / static_cast<double>(stages) * (1 + 0.2 * static_cast<double>(s % 2));
    system.stages[s] = stage_of(share, share, share);
    system.stages[s].activation_bytes = 2000;
  }
  Pipeline pipeline{.name = schedule,
                    .family = "made up",
                    .setting = std::to_string(ranks) + " ranks, " + std::to_string(us),
                    .schedule = schedule,
                    .part = part,
                    .job = scaled_job(priced(system))};
  for (const Time time : pipeline.job.priced.costs.duration) {
    pipeline.alone_ns.push_back(static_cast<double>(to_ns(time)));
  }
  return pipeline;
}

PipelineRun ran(Pipeline pipeline, const ActionRule& rule) {
  PipelineRun run{std::move(pipeline), {}};
  MadeUpBackend machine(run.pipeline.job, rule);
  run.measured = measured_by(machine, run.pipeline.job, {.iterations = 4});
  return run;
}

/// 1F1B of several sizes to train on, one beyond, and other schedules of the first size.
std::vector<PipelineRun> runs_under(const ActionRule& rule) {
  std::vector<PipelineRun> runs;
  for (const double us : {5.0, 20.0, 80.0}) {
    for (const std::uint32_t ranks : {2U, 4U}) {
      runs.push_back(ran(pipeline_of("1f1b", DataPart::training, ranks, 8, us), rule));
    }
  }
  runs.push_back(ran(pipeline_of("1f1b", DataPart::extrapolation, 6, 24, 200), rule));
  for (const char* schedule : {"gpipe", "interleaved-1f1b", "zb-h1", "zb-v"}) {
    runs.push_back(ran(pipeline_of(schedule, DataPart::transfer, 4, 8, 20), rule));
  }
  return runs;
}

constexpr BootstrapPlan few_draws{.seed = 3, .draws = 40};

}  // namespace

// 700 ns an action and 1.25 times its work, whatever it is: two constants explain all of it, so
// that every other schedule is predicted to the rounding of nanoseconds.
TEST_CASE("pipelines: a cost of each action and a factor are recovered, and carry over exactly") {
  const auto result = calibrate_pipelines(
      runs_under([](Pass, double alone) { return 700 + 1.25 * alone; }), few_draws);
  const InSitu& in_situ = result.in_situ.at("busy");
  REQUIRE(in_situ.model.names == std::vector<std::string>{"an action", "F", "B"});
  CHECK(in_situ.model.coefficients[0] == doctest::Approx(700).epsilon(1e-3));
  CHECK(in_situ.model.coefficients[1] == doctest::Approx(1.25).epsilon(1e-4));
  CHECK(in_situ.model.coefficients[2] == doctest::Approx(1.25).epsilon(1e-4));
  CHECK(in_situ.at(Pass::backward_input, 1000) == doctest::Approx(1950).epsilon(1e-3));
  REQUIRE(result.parts.size() == 3);
  for (const PartErrors& part : result.parts) {
    CAPTURE(name(part.part));
    CHECK(part.simulated.most < 1e-3);
    CHECK(part.start < 1e-3);
    CHECK(part.bubble < 1e-3);
    // Neither knows of the 700 ns and the 1.25; the plain one does not know of links either.
    CHECK(part.plain.mean > 0.1);
    CHECK(part.plain.bias < 0);
  }
}

// B takes a tenth more than alone, F as long as alone, and an action costs nothing beside.
TEST_CASE("pipelines: backwards that take longer in a run have their own factor") {
  const auto result = calibrate_pipelines(runs_under([](Pass pass, double alone) {
                                            return pass == Pass::forward ? alone : 1.1 * alone;
                                          }),
                                          few_draws);
  const TermModel& model = result.in_situ.at("busy").model;
  CHECK(model.coefficients[0] == doctest::Approx(0).epsilon(1e-9));
  CHECK(model.coefficients[1] == doctest::Approx(1).epsilon(1e-3));
  CHECK(model.coefficients[2] == doctest::Approx(1.1).epsilon(1e-3));
  for (const PartErrors& part : result.parts) CHECK(part.simulated.most < 1e-3);
}

// Layers take 1.5 times as long in a run, busy kernels as long as alone: one fit to both would be
// off for either.
TEST_CASE("pipelines: each kind of work has a fit of its own") {
  auto runs = runs_under([](Pass, double alone) { return 100 + alone; });
  for (PipelineRun& run : runs_under([](Pass, double alone) { return 400 + 1.5 * alone; })) {
    run.pipeline.work = "layers";
    runs.push_back(std::move(run));
  }
  const auto result = calibrate_pipelines(runs, few_draws);
  CHECK(result.in_situ.at("busy").model.coefficients[1] == doctest::Approx(1).epsilon(1e-3));
  CHECK(result.in_situ.at("layers").model.coefficients[0] == doctest::Approx(400).epsilon(1e-3));
  CHECK(result.in_situ.at("layers").model.coefficients[1] == doctest::Approx(1.5).epsilon(1e-3));
  for (const PartErrors& part : result.parts) CHECK(part.simulated.most < 1e-3);
}

// Weight gradients, which 1F1B does not run apart, take twice what they were trained to.
TEST_CASE("pipelines: what other schedules run that nobody trained on shows in their errors") {
  const auto result =
      calibrate_pipelines(runs_under([](Pass pass, double alone) {
                            return pass == Pass::backward_weight ? 2 * alone : alone;
                          }),
                          few_draws);
  for (const PipelinePrediction& one : result.predictions) {
    CAPTURE(one.schedule);
    const bool is_split = one.schedule.starts_with("zb");
    CHECK((std::abs(one.error()) > 0.05) == is_split);
  }
}

// On every setting the order of five schedules is the one that was measured.
TEST_CASE("pipelines: schedules of one setting are ranked, and the fastest is named") {
  const auto result =
      calibrate_pipelines(runs_under([](Pass, double alone) { return 100 + alone; }), few_draws);
  REQUIRE(result.rankings.size() == 1);
  const SettingRanking& ranking = result.rankings.front();
  CHECK(ranking.schedules == 5);
  REQUIRE(ranking.correlation);
  CHECK(*ranking.correlation == 1);
  CHECK(ranking.predicted_best == ranking.measured_best);
  CHECK(ranking.regret == 0);
}

// The machine is up to 5 % slower or faster from run to run, which constants cannot explain.
TEST_CASE("pipelines: intervals hold about as many runs as they say, when runs scatter") {
  std::vector<PipelineRun> runs;
  std::uint32_t number = 0;
  for (const double us : {5.0, 8.0, 12.0, 20.0, 30.0, 50.0, 80.0, 120.0, 200.0, 300.0}) {
    for (const DataPart part : {DataPart::training, DataPart::interpolation}) {
      const double scatter = 0.95 + 0.1 * drawn_number(11, "scatter", 0, number++, 1001) / 1000.0;
      runs.push_back(ran(pipeline_of("1f1b", part, 3, 6, us),
                         [&](Pass, double alone) { return scatter * (300 + alone); }));
    }
  }
  const auto result = calibrate_pipelines(runs, {.seed = 3, .draws = 200});
  REQUIRE(result.parts.size() == 2);
  for (const PartErrors& part : result.parts) {
    CHECK(part.covered >= 0.8);
    CHECK(part.simulated.most > 1e-3);
  }
  for (const PipelinePrediction& one : result.predictions) {
    CHECK(one.interval_us.low < one.interval_us.high);
  }
}

// Alone, each draw has actions take from 10 % less to 10 % more: intervals widen with it.
TEST_CASE("pipelines: what is not known of kernels widens the intervals of pipelines") {
  auto runs = runs_under([](Pass, double alone) { return alone; });
  const auto narrow = calibrate_pipelines(runs, few_draws);
  for (PipelineRun& run : runs) {
    for (std::uint32_t draw = 0; draw < few_draws.draws; ++draw) {
      std::vector<double> alone = run.pipeline.alone_ns;
      for (double& ns : alone) ns *= 0.9 + 0.2 * draw / few_draws.draws;
      run.pipeline.alone_draws_ns.push_back(std::move(alone));
    }
  }
  const auto wide = calibrate_pipelines(runs, few_draws);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto width = [](const PipelinePrediction& one) {
      return (one.interval_us.high - one.interval_us.low) / to_us(one.errors.measured);
    };
    CHECK(width(narrow.predictions[i]) < 0.01);
    CHECK(width(wide.predictions[i]) > 0.1);
  }
}

TEST_CASE("error summary: mean, median, most and bias of shares") {
  const ErrorSummary summary = summarize_errors({0.1, -0.3, 0.05, -0.05});
  CHECK(summary.count == 4);
  CHECK(summary.mean == doctest::Approx(0.125));
  CHECK(summary.median == doctest::Approx(0.075));
  CHECK(summary.most == doctest::Approx(0.3));
  CHECK(summary.bias == doctest::Approx(-0.05));
  CHECK(summarize_errors({}).count == 0);
}

}  // namespace penstock::testing
