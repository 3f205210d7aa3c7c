#include "sim/timeline/large_timeline.hpp"

#include <doctest/doctest.h>

#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "sim/report/overview.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// A run of some blocks of tasks, and its file with an overview.
struct LargeFile {
  LargeFile()
      : result(run(parse_scenario(
            R"({"penstock": 1, "model": {"stages": [
                {"forward_us": 1000, "backward_us": 2000}, {"forward_us": 1100, "backward_us": 2000},
                {"forward_us": 1000, "backward_us": 2100}, {"forward_us": 900, "backward_us": 2000}]},
                "hardware": {"name": "ideal", "devices": 4, "latency_us": 2,
                             "bandwidth_bytes_per_s": 25e9},
                "schedule": {"name": "1f1b", "microbatches": 12000}})",
            "large"))),
        plan(*result.plan),
        timeline(result.timeline),
        bytes(write_timeline(plan, timeline, "large", overview_of(plan, timeline))) {}
  std::string path() { return folder.file("a.timeline", bytes); }

  RunResult result;
  const Plan& plan;
  const Timeline& timeline;
  std::string bytes;
  Scratch folder;
};

std::string refusal_of(const std::string& path, std::uint64_t first, std::uint64_t end) {
  return refused_with<InputError>([&] { LargeTimeline(path).part(first, end); });
}

}  // namespace

TEST_CASE("large timeline: a file with an overview gives back the whole recording") {
  const LargeFile file;
  CHECK(file.bytes[8] == 3);
  const Recording after = read_timeline(file.bytes);
  CHECK(plan_hash(after.plan) == plan_hash(file.plan));
  CHECK(after.plan.input == file.plan.input);
  CHECK(after.timeline.begin == file.timeline.begin);
  CHECK(after.timeline.end == file.timeline.end);
  CHECK(after.timeline.last_input == file.timeline.last_input);
  CHECK(after.title == "large");
}

TEST_CASE("large timeline: its overview reports what the run reports") {
  LargeFile file;
  const LargeTimeline large(file.path());
  const Report report = report_of(large.overview());
  const Report& whole = *file.result.report;
  CHECK(report.makespan == whole.makespan);
  CHECK(report.bubble.of_makespan == doctest::Approx(whole.bubble.of_makespan));
  REQUIRE(report.ranks.size() == 4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(report.ranks[rank].busy == whole.ranks[rank].busy);
    CHECK(report.ranks[rank].start == whole.ranks[rank].start);
    CHECK(report.ranks[rank].end == whole.ranks[rank].end);
    CHECK(report.ranks[rank].actions == whole.ranks[rank].actions);
    for (std::size_t c = 0; c < idle_cause_count; ++c) {
      const auto cause = static_cast<IdleCause>(c);
      CHECK(time_of(report.ranks[rank].idle_by_cause, cause) ==
            time_of(whole.ranks[rank].idle_by_cause, cause));
    }
  }
  for (const OverviewLane& lane : large.overview().lanes) {
    if (lane.kind != OverviewKind::compute) continue;
    std::int64_t busy = 0;
    for (const std::uint32_t cell : lane.cells) busy += cell * lane.unit;
    // Cells are rounded up.
    const std::int64_t wanted = whole.ranks[lane.rank].busy.picoseconds;
    CHECK(busy >= wanted);
    CHECK(busy <= wanted + lane.unit * static_cast<std::int64_t>(lane.cells.size()));
  }
}

TEST_CASE("large timeline: a part has all tasks of its time, as they are in the whole run") {
  LargeFile file;
  const LargeTimeline large(file.path());
  REQUIRE(large.tasks() == file.plan.tasks());
  REQUIRE(large.tasks() > 2 * tasks_per_block);
  const Time middle{file.result.report->makespan.picoseconds / 2};
  const auto [first, end] = large.tasks_between(middle, middle + Time{50'000'000'000});
  CHECK(end - first <= 2 * tasks_per_block);
  CHECK(first % tasks_per_block == 0);
  const Recording part = large.part(first, end);
  REQUIRE(part.plan.tasks() == end - first);
  const auto moved = [&, from = first](TaskId task) {
    return task == no_task || task < from ? no_task : static_cast<TaskId>(task - from);
  };
  bool same = true;
  for (TaskId task = 0; task < file.plan.tasks(); ++task) {
    const bool here = task >= first && task < end;
    const bool overlaps = file.timeline.end[task] > middle &&
                          file.timeline.begin[task] < middle + Time{50'000'000'000};
    same = same && (here || !overlaps);
    if (!here) continue;
    const auto own = static_cast<TaskId>(task - first);
    same = same && part.plan.work[own] == file.plan.work[task] &&
           part.plan.microbatch[own] == file.plan.microbatch[task] &&
           part.timeline.begin[own] == file.timeline.begin[task] &&
           part.timeline.end[own] == file.timeline.end[task] &&
           part.timeline.last_input[own] == moved(file.timeline.last_input[task]) &&
           part.plan.input[own] == moved(file.plan.input[task]);
  }
  CHECK(same);
}

TEST_CASE("large timeline: what is corrupt is refused where it is read, and other files at once") {
  LargeFile file;
  CHECK(refusal_of(file.path(), 0, 2 * tasks_per_block) == "accepted");
  const std::size_t begins = file.bytes.find(std::string("begin") + std::string(19, '\0') + "i64");
  REQUIRE(begins != std::string::npos);
  const std::string good = file.bytes;
  file.bytes[begins + 40 + 8 * (tasks_per_block + 5)] ^= 1;  // of the second block
  const std::string path = file.folder.file("b.timeline", file.bytes);
  CHECK(refusal_of(path, 0, tasks_per_block) == "accepted");
  CHECK(refusal_of(path, tasks_per_block, 2 * tasks_per_block).find("task 65536: corrupt") == 0);
  file.bytes = good;
  file.bytes[200] ^= 1;
  CHECK(refusal_of(file.folder.file("c.timeline", file.bytes), 0, 0) != "accepted");
  CHECK(refusal_of(file.folder.file("d.timeline", good.substr(0, good.size() / 2)), 0, 0)
            .find("truncated") == 0);
  const std::string whole = write_timeline(file.plan, file.timeline, "whole");
  const std::string plain = file.folder.file("e.timeline", whole);
  CHECK(refusal_of(plain, 0, 0) == "it has no overview");
  CHECK(!is_large_timeline(plain, 10));
  CHECK(is_large_timeline(file.path(), 10));
  CHECK(!is_large_timeline(file.path(), 10 * file.plan.tasks()));
}

TEST_CASE("large timeline: bins of a lane widen until the run fits, and lose nothing") {
  OverviewLaneMaker maker(8);
  for (std::int64_t i = 0; i < 1000; ++i) {
    maker.add(Time{i * 3'000'000}, Time{i * 3'000'000 + 2'000'000},
              static_cast<std::uint8_t>(i % 2));
  }
  const OverviewLane lane = maker.take(3, OverviewKind::send);
  CHECK(lane.rank == 3);
  CHECK(lane.categories == std::vector<std::uint8_t>{0, 1});
  CHECK(lane.cells.size() <= 16);
  CHECK(lane.bin * 8 >= 999 * std::int64_t{3'000'000});
  std::int64_t busy = 0;
  for (const std::uint32_t cell : lane.cells) busy += cell * lane.unit;
  CHECK(busy == 1000 * std::int64_t{2'000'000});
}

}  // namespace penstock::testing
