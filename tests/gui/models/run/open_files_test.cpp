#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/formats/chrome_trace.hpp"
#include "experiments/program/pages/live_timeline.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "gui/models/drawing/painted_run.hpp"
#include "gui/models/facts/area_facts.hpp"
#include "gui/models/run/figures.hpp"
#include "gui/models/run/remedy.hpp"
#include "gui/models/run/run_pair.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "sim/base/error.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/support/kineto_writer.hpp"
#include "tests/support/nsys_writer.hpp"
#include "tests/support/program.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

const std::string scenario_file =
    std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json";

TEST_CASE("opening: the kind of a file follows from its name and its beginning") {
  CHECK(kind_of_file("a.timeline", "") == ViewedFile::timeline);
  CHECK(kind_of_file("a", "PENSTOCK....") == ViewedFile::timeline);
  CHECK(kind_of_file("order.csv", "0F0,") == ViewedFile::order);
  CHECK(kind_of_file("order.csv.gz", "0F0,") == ViewedFile::order);
  CHECK(kind_of_file("t.json.gz", "\x1f\x8b") == ViewedFile::trace);
  CHECK(kind_of_file("s.json.gz", "{\"penstock\": 1") == ViewedFile::scenario);
  CHECK(kind_of_file("t.json", "{\"schemaVersion\": 1, \"traceEvents\": [") == ViewedFile::trace);
  CHECK(kind_of_file("s.json", "{\"penstock\": 1") == ViewedFile::scenario);
  CHECK(kind_of_file("-", "{\"penstock\": 1") == ViewedFile::scenario);
  CHECK(kind_of_file("-", "0F0,") == ViewedFile::order);
}

TEST_CASE("opening: scenarios, timelines and orders come from standard input, too") {
  const testing::Scratch folder;
  const auto opened = [](const std::string& path) {
    const testing::StandardInput input(path);
    return open_files({"-"}).front();
  };
  const ViewedRunPtr scenario = opened(scenario_file);
  CHECK(scenario->title == "1f1b, 4 ranks, 8 microbatches");
  CHECK(scenario->source == "-");
  const std::string timeline = folder.file(
      "a.timeline", write_timeline(scenario->plan, scenario->timeline, scenario->title));
  CHECK(opened(timeline)->span() == scenario->span());
  CHECK(opened(folder.file("a", gzip(testing::content_of(timeline))))->span() == scenario->span());
  const ViewedRunPtr order = opened(folder.file("o.csv", "0F0,0F1,0B0,0B1\n,1F0,1B0,1F1,1B1\n"));
  CHECK(order->plan.ranks == 2);
  // A change reads the order again.
  CHECK(viewed(changed(*order->scenario, {"/hardware/transfer_us=1"}))->span() > order->span());
  CHECK_THROWS_WITH_AS(opened(folder.file("t.json", "{\"traceEvents\": []}")),
                       "-: traces are opened by name, one file a rank", InputError);
}

TEST_CASE("opening: a scenario is simulated, its timeline is the same run, an order runs") {
  const testing::Scratch folder;
  const ViewedRunPtr simulated = open_files({scenario_file}).front();
  CHECK(simulated->title == "1f1b, 4 ranks, 8 microbatches");
  const std::string timeline = folder.file(
      "a.timeline", write_timeline(simulated->plan, simulated->timeline, simulated->title));
  const std::string order = folder.file("o.csv", "0F0,0F1,0B0,0B1\n,1F0,1B0,1F1,1B1\n");
  CHECK(open_files({folder.file("line\n\t\"break\".csv", read_file(order))}).size() == 1);
  const auto runs = open_files({timeline, order});
  REQUIRE(runs.size() == 2);
  CHECK(runs[0]->span() == simulated->span());
  CHECK(runs[0]->scenario == nullptr);
  CHECK(runs[0]->report.critical_path.size() > 10);
  CHECK(runs[1]->plan.ranks == 2);
}

TEST_CASE("opening: a timeline has the memory of its run, and so has its comparison") {
  const testing::Scratch folder;
  const auto recorded = [&](const ViewedRun& run, const char* name) {
    Timeline timeline = run.timeline;
    memory_peaks(run.plan, run.costs, timeline, &timeline.memory);
    return open_files({folder.file(name, write_timeline(run.plan, timeline, run.title))}).front();
  };
  const ViewedRunPtr a = open_files({scenario_file}).front();
  const ViewedRunPtr b = viewed(parse_scenario(read_file(scenario_file), "b.json",
                                               std::vector<std::string>{"/schedule/name=gpipe"}));
  const ViewedRunPtr recorded_a = recorded(*a, "a.timeline"),
                     recorded_b = recorded(*b, "b.timeline");
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(recorded_a->report.ranks[rank].memory.bytes == a->report.ranks[rank].memory.bytes);
    CHECK(recorded_a->report.ranks[rank].memory.time == a->report.ranks[rank].memory.time);
  }
  const std::string text = headline(*recorded_a, *recorded_b);
  CHECK(text == headline(*a, *b));
  CHECK(text.ends_with(", memory +1.00 GiB"));
  const ViewedRunPtr none = viewed(Recording{a->plan, a->timeline, a->title}, "none");
  CHECK(headline(*none, *recorded_b).find("memory") == std::string::npos);
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

TEST_CASE("opening: a trace that run --trace writes is the run, packed or not") {
  const testing::Scratch folder;
  const ViewedRunPtr simulated = open_files({scenario_file}).front();
  std::string text;
  write_chrome_trace(simulated->plan, simulated->costs, simulated->timeline, simulated->title,
                     [&](std::string_view piece) { text += piece; });
  const auto runs = open_files({folder.file("t.json", text), folder.file("u.json.gz", gzip(text))});
  REQUIRE(runs.size() == 2);
  for (const ViewedRunPtr& run : runs) {
    CHECK(run->title == simulated->title);
    CHECK(plan_hash(run->plan) == plan_hash(simulated->plan));
    CHECK(run->timeline.end == simulated->timeline.end);
  }
  // As older versions wrote it.
  const std::string old = text.substr(0, text.find(",\"penstockTimeline\"")) + "}\n";
  CHECK_THROWS_WITH_AS(open_files({folder.file("old.json", old)}),
                       doctest::Contains("old.json: a trace that Penstock wrote, but without"),
                       InputError);
}

TEST_CASE("opening: traces without a pipeline open as lanes with names, in one colour a name") {
  const testing::Scratch folder;
  const ViewedRunPtr simulated = open_files({scenario_file}).front();
  testing::KinetoStyle style;
  style.format = "step {microbatch}";
  std::vector<std::string> files;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    files.push_back(
        folder.file(fmt::format("rank{}.json", rank),
                    testing::kineto_text(simulated->plan, {simulated->timeline}, rank, style)));
  }
  const ViewedRunPtr run = open_files(files).front();
  const Plan& plan = run->plan;
  REQUIRE(plan.rank_names.size() == plan.ranks);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto is_of = [&](const std::string& name) {
      return name.starts_with(fmt::format("{} · ", rank));
    };
    CHECK(std::count_if(plan.rank_names.begin(), plan.rank_names.end(), is_of) >= 2);
  }
  CHECK(run->text.find("no annotation of it matches") != std::string::npos);
  const PaintedRunPtr painted_run = painted(run, ColourBy::pass);
  // A recording of any number of steps; lanes hold no stages and do not idle as ranks do.
  CHECK(figures_of(*run, nullptr)[0].name == "recording");
  CHECK(figures_of(*run, nullptr)[1].value.empty());
  CHECK(headline(*run, *run).find("bubble") == std::string::npos);
  CHECK(draw_run(PictureFormat::svg, plan, run->timeline, run->title).find("bubble") ==
        std::string::npos);
  for (const RankSummary& lane : *painted_run->facts) {
    CHECK(lane.stages.empty());
    CHECK(lane.holds.empty());
  }
  CHECK(ranks_in({.folded = true}, *painted_run->facts).size() == plan.ranks);
  std::map<std::string, Colour> colours;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Colour colour = painted_run->colouring.colour(task);
    CHECK(colours.try_emplace(task_text(plan, task), colour).first->second == colour);
  }
  CHECK(colours.contains("step 0"));
  // Nothing is known of why nothing ran between two of them.
  std::set<std::string> kinds;
  for (const AreaRow& row :
       rows_of({0, run->span().picoseconds, 0, plan.ranks}, *painted_run->lanes, plan)) {
    kinds.insert(row.name);
  }
  CHECK(kinds.contains("step 0"));
  CHECK(kinds.contains("idle: unexplained"));
  for (const char* absent : {"forward", "stage 0", "idle: launch", "idle: warm-up"}) {
    CHECK(!kinds.contains(absent));
  }
  CHECK(live_timeline(plan, run->timeline, {}).find("\"launch\"") == std::string::npos);
  CHECK(colours.size() > 8);
}

TEST_CASE("opening: an export of Nsight Systems is a run, or lanes, and a folder is its files") {
  const testing::Scratch folder;
  const ViewedRunPtr simulated = open_files({scenario_file}).front();
  testing::write_nsys(folder.path("a.sqlite"), simulated->plan, simulated->timeline);
  const ViewedRunPtr run = open_files({folder.path("")}).front();
  CHECK(run->title.starts_with("1f1b, 4 ranks, 8 microbatches"));
  CHECK(run->plan.class_names.empty());
  CHECK(run->source.ends_with("a.sqlite"));
  testing::write_nsys(folder.path("b.sqlite"), simulated->plan, simulated->timeline, false);
  CHECK(open_files({folder.path("b.sqlite")}).front()->plan.ranks == 9);
  CHECK_THROWS_WITH_AS(open_files({folder.file("c.nsys-rep", "NVIDIA")}),
                       doctest::Contains("nsys export --type sqlite"), InputError);
}

TEST_CASE("opening: what helps depends on what was wrong") {
  const testing::Scratch folder;
  CHECK(remedy_of({folder.file("a.json", "{")}).kind == RemedyKind::again);
  CHECK(remedy_of({folder.path("none.json")}).kind == RemedyKind::forget);
  const Remedy copy = remedy_of({folder.file("it's.nsys-rep", "")});
  CHECK(copy.kind == RemedyKind::copy);
  CHECK(copy.command.find("'\\''s.nsys-rep'") != std::string::npos);
}

TEST_CASE(
    "opening: the steps of a trace are iterations of one run, and B can follow A through them") {
  const std::string folder = std::string(PENSTOCK_ROOT) + "/tests/torch/traces/2.14.1-1f1b/";
  const ViewedRunPtr run = open_files({folder + "rank0.json.gz", folder + "rank1.json.gz"}).front();
  REQUIRE(run->iterations != nullptr);
  const std::vector<std::uint32_t>& numbers = run->iterations->numbers;
  REQUIRE(numbers.size() > 1);
  CHECK(run->timeline.iteration == numbers.back());
  const ViewedRunPtr other = at_iteration(*run, numbers.front());
  CHECK(other->timeline.iteration == numbers.front());
  CHECK(other->title != run->title);
  CHECK(other->span() != run->span());
  const RunPair apart = pair_of(other, run, PairAlignment::start);
  CHECK(apart.first);
  const RunPair together = pair_of(other, run, PairAlignment::iteration);
  CHECK(!together.first);
  CHECK(together.second->timeline.iteration == numbers.front());
  CHECK_THROWS_WITH_AS(at_iteration(*run, 4711), doctest::Contains("has no iteration 4711; it has"),
                       InputError);
}

TEST_CASE("opening: traces say how far they are, and what that throws ends their reading") {
  const std::string folder = std::string(PENSTOCK_ROOT) + "/tests/torch/traces/2.14.1-1f1b/";
  const std::vector<std::string> files{folder + "rank0.json.gz", folder + "rank1.json.gz"};
  std::vector<double> shares;
  open_files(files, [&](double share) { shares.push_back(share); });
  REQUIRE(shares.size() >= 2);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.front() >= 0);
  CHECK(shares.back() > 0.5);
  CHECK(shares.back() <= 1);
  struct Enough {};
  int calls = 0;
  CHECK_THROWS_AS(open_files(files,
                             [&](double) {
                               ++calls;
                               throw Enough();
                             }),
                  Enough);
  CHECK(calls == 1);
}

TEST_CASE("opening: bad files give the texts of the command line") {
  const testing::Scratch folder;
  CHECK_THROWS_AS(open_files({folder.path("none.json")}), InputError);
  CHECK_THROWS_WITH_AS(open_files({folder.file("a.pdf", "%PDF-1.4\n")}),
                       doctest::Contains("a.pdf: unrecognised file; the viewer opens scenarios"),
                       InputError);
  CHECK_THROWS_AS(open_files({folder.file("a.timeline", "PENSTOCK")}), InputError);
  CHECK_THROWS_AS(open_files({folder.file("o.csv", "0F0,0B0,nonsense\n")}), InputError);
  const std::string bad = folder.file("s.json", "{\"penstock\": 1, \"model\": {}}");
  CHECK_THROWS_WITH_AS(open_files({bad}), doctest::Contains("s.json"), InputError);
}

}  // namespace
}  // namespace penstock
