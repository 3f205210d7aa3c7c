#include "gui/models/run/open_files.hpp"

#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

const std::string scenario_file =
    std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json";

TEST_CASE("opening: the kind of a file follows from its name and its beginning") {
  CHECK(kind_of_file("a.timeline", "") == ViewedFile::timeline);
  CHECK(kind_of_file("a", "PENSTOCK....") == ViewedFile::timeline);
  CHECK(kind_of_file("order.csv", "0F0,") == ViewedFile::order);
  CHECK(kind_of_file("t.json.gz", "\x1f\x8b") == ViewedFile::trace);
  CHECK(kind_of_file("t.json", "{\"schemaVersion\": 1, \"traceEvents\": [") == ViewedFile::trace);
  CHECK(kind_of_file("s.json", "{\"penstock\": 1") == ViewedFile::scenario);
}

TEST_CASE("opening: a scenario is simulated, its timeline is the same run, an order runs") {
  const testing::Scratch folder;
  const ViewedRunPtr simulated = open_files({scenario_file}).front();
  CHECK(simulated->title == "1f1b, 4 ranks, 8 microbatches");
  const std::string timeline = folder.file(
      "a.timeline", write_timeline(simulated->plan, simulated->timeline, simulated->title));
  const std::string order = folder.file("o.csv", "0F0,0F1,0B0,0B1\n,1F0,1B0,1F1,1B1\n");
  const auto runs = open_files({timeline, order});
  REQUIRE(runs.size() == 2);
  CHECK(runs[0]->span() == simulated->span());
  CHECK(runs[0]->scenario == nullptr);
  CHECK(runs[0]->report.critical_path.size() > 10);
  CHECK(runs[1]->plan.ranks == 2);
}

TEST_CASE("opening: traces of the PyTorch profiler, one per rank, are one measured run") {
  const std::string folder = std::string(PENSTOCK_ROOT) + "/tests/torch/traces/2.14.1-1f1b/";
  const auto runs = open_files({folder + "rank0.json.gz", folder + "rank1.json.gz"});
  REQUIRE(runs.size() == 1);
  const ViewedRun& run = *runs.front();
  CHECK(run.scenario == nullptr);
  CHECK(run.plan.ranks == 2);
  CHECK(run.span() > Time{});
  std::set<std::pair<std::uint32_t, std::uint32_t>> forwards;  // stage and microbatch
  for (TaskId task = 0; task < run.plan.tasks(); ++task) {
    const WorkClass& work = run.plan.class_of(task);
    if (work.pass != Pass::forward) continue;
    forwards.emplace(index(work.stage), index(run.plan.microbatch[task]));
    CHECK(run.timeline.end[task] > run.timeline.begin[task]);
  }
  CHECK(forwards.size() % 16 == 0);  // two stages with eight microbatches in each step
  CHECK(!forwards.empty());
}

TEST_CASE("opening: bad files give the texts of the command line") {
  const testing::Scratch folder;
  CHECK_THROWS_AS(open_files({folder.path("none.json")}), InputError);
  CHECK_THROWS_AS(open_files({folder.file("a.timeline", "PENSTOCK")}), InputError);
  CHECK_THROWS_AS(open_files({folder.file("o.csv", "0F0,0B0,nonsense\n")}), InputError);
  const std::string bad = folder.file("s.json", "{\"penstock\": 1, \"model\": {}}");
  CHECK_THROWS_WITH_AS(open_files({bad}), doctest::Contains("s.json"), InputError);
}

}  // namespace
}  // namespace penstock
