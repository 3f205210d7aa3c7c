#include "experiments/show/results/result_table.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/short_text.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

/// As many stages of f = 1, b = 2 as ranks, each keeping 1 GiB of an activation.
std::string table_with(std::size_t ranks, const std::vector<std::string>& settings = {},
                       const ReportOptions& options = {}) {
  std::string stages;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    stages += rank == 0 ? "" : ",";
    stages += R"({"forward_us": 1, "backward_us": 2, "stash_bytes": "1GiB"})";
  }
  const std::string text = R"({"model": {"stages": [)" + stages +
                           R"(]}, "schedule": {"name": "1f1b", "microbatches": 16}})";
  return result_table(run(parse_scenario(text, "s.json", settings)), options);
}

bool has_line(const std::string& text, const std::string& line) {
  return says("\n" + text, "\n" + line + "\n");
}

bool has_rank(const std::string& text, const std::string& rank) {
  return says(text, "\n" + std::string(4 - rank.size(), ' ') + rank + "  ");
}

}  // namespace

TEST_CASE("a report begins with what a person acts on, then the layout") {
  // (16 + 3) * 3 us; rank 0 holds 4 activations. 16 microbatches in 57 us on each of two replicas.
  const std::string text =
      table_with(4, {"/parallel/data=2", "/parallel/tensor=2", "/memory/capacity_bytes=5GiB"});
  CHECK(text.starts_with("1f1b, 4 ranks, 16 microbatches\n\nstep time    57 µs\n"));
  CHECK(has_line(text, "throughput   561404 samples/s"));
  CHECK(has_line(text, "memory       4 GiB of 5 GiB, 1 GiB left (worst rank: 0)"));
  CHECK(has_line(text, "layout       16 devices: 4 pipeline × 2 tensor × 2 data × 1 context"));
  CHECK(has_line(text, "batch        16 microbatches, global batch 32"));
}

TEST_CASE("a report says how many stages there are where ranks hold unequal numbers") {
  const Scratch scratch;
  const std::string order = scratch.file("o.csv", "0F0,3F0,3B0,0B0\n1F0,4F0,4B0,1B0\n2F0,2B0\n");
  const std::string text =
      table_with(5, {fmt::format(R"(/schedule={{"file": "{}"}})", order), "/hardware/devices=3",
                     R"(/partition={"stages": [[0], [1], [2], [3], [4]]})"});
  CHECK(has_line(text,
                 "layout       3 devices: 3 pipeline (5 stages) × 1 tensor × 1 data × 1 context"));
}

TEST_CASE("a run without flushes has no steps: its report and its picture have a makespan") {
  for (const auto& [schedule, name] :
       {std::pair{"1f1b", "step time"}, {"pipedream", "makespan"}, {"pipedream-2bw", "makespan"}}) {
    CAPTURE(schedule);
    const RunResult result =
        run(parse_scenario(scenario_plain, "s.json", {std::string("/schedule/name=") + schedule}));
    CHECK(makespan_name(*result.plan) == std::string(name));
    CHECK(says(result_table(result), fmt::format("\n{:<12} ", name)));
    const std::string picture =
        draw_run(PictureFormat::svg, *result.plan, result.timeline, result.title);
    CHECK(says(picture, fmt::format(">{} 15 µs, bubble ", name)));
  }
}

TEST_CASE("the bubble of a picture holds for idle time beyond the clock") {
  const RunResult result = run(parse_scenario(scenario_idle_beyond_clock(), "s.json"));
  // 11 of 12 ranks idle all the time.
  CHECK(says(draw_run(PictureFormat::svg, *result.plan, result.timeline, result.title),
             ", bubble 91.7 %"));
}

TEST_CASE("assumptions are numbered notes") {
  const std::string text = table_with(2, {"/parallel/data=2", "/model/stages/0/parameter_bytes=8"});
  CHECK(says(text, "\nnotes\n 1. gradient reduction overlaps with compute; "));
  CHECK(!says(table_with(2, {"/parallel/data=2"}), "notes"));
  CHECK(!says(table_with(2, {"/parallel/data=2", "/model/stages/0/parameter_bytes=8",
                             "/parallel/overlap_sums=true"}),
              "notes"));
  CHECK(!says(table_with(2), "notes"));
}

TEST_CASE("links that are used alike share a row") {
  RunResult result = run(parse_scenario(scenario_plain, "s.json"));
  result.report->network = {{"spine", 4, 1 << 30, 0.5},
                            {"rail 0", 2, 1 << 20, 0.25},
                            {"rail 1", 2, 1 << 20, 0.25},
                            {"rail 2", 2, 1 << 20, 0.25},
                            {"rail 3", 1, 1 << 20, 0.25}};
  const std::string table = result_table(result);
  CHECK_MESSAGE(says(table,
                     "\nlink                  transfers  carried    used\n"
                     "spine                         4    1 GiB  50.0 %\n"
                     "rail 0 and 2 like it          2    1 MiB  25.0 %\n"
                     "rail 3                        1    1 MiB  25.0 %\n"),
                table);
}

TEST_CASE("a report has no guessed first step, and notes a stated one") {
  CHECK(!says(table_with(2), "first step"));
  const std::string stated = table_with(2, {"/overheads/warm_up_us=5s"});
  CHECK(says(stated, "\n 1. the first step takes 5000 ms longer (/overheads/warm_up_us)\n"));
  CHECK(!has_line(stated, "first step   5.051 s with its warm-up"));
}

TEST_CASE("out of memory is one line a rank, worst first, in GiB") {
  const std::string text = table_with(4, {"/memory/capacity_bytes=2.5GiB"});
  CHECK(has_line(text, "finding: out of memory: 2 of 4 ranks, with a capacity of 2.5 GiB each"));
  CHECK(has_line(text, "rank 0  4 GiB  1.5 GiB over  from 2 µs on"));
  CHECK(has_line(text, "rank 1  3 GiB  0.5 GiB over  from 3 µs on"));
  CHECK(text.find("rank 0  4 GiB") < text.find("rank 1  3 GiB"));
  CHECK(!says(text, "peak at"));
  CHECK(says(table_with(4, {"/memory/capacity_bytes=2.5GiB"}, {.verbose = true}),
             "peak at 3 µs in 0F3: stash 4 GiB"));
}

TEST_CASE("out of memory: the finding has the peak of the summary, also where less may be needed") {
  // Communication libraries may take less than the context that the peak counts.
  const RunResult result = run(parse_scenario(
      R"({"model": {"stages": [{"forward_us": 1, "backward_us": 2, "parameter_bytes": 100e9}]},
          "hardware": {"name": "dgx-h100"},
          "schedule": {"name": "1f1b", "microbatches": 1}})",
      "s.json"));
  const JudgedMemory& rank = result.memory.front();
  REQUIRE(rank.interval.least < result.report->ranks.front().memory.bytes);
  CHECK(rank.peak_bytes == result.report->ranks.front().memory.bytes);
  const std::uint64_t over = rank.peak_bytes - *result.layout.memory.usable_bytes();
  const std::string needed = bytes_text(rank.peak_bytes);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].text.starts_with("rank 0 needs " + needed + " of "));
  CHECK(says(result.findings[0].text, ": " + bytes_text(over) + " over from "));
  const std::string text = result_table(result);
  CHECK(says(text, "\nmemory       " + needed + " of "));
  CHECK(says(text, "\nrank 0  " + needed + "  " + bytes_text(over) + " over  from "));
}

TEST_CASE("of more than ten ranks the first, the worst and the last are shown") {
  CHECK(has_rank(table_with(10), "5"));
  const std::string text = table_with(12, {"/model/stages/6/forward_us=2"});
  CHECK(has_rank(text, "0"));
  CHECK(has_rank(text, "6"));
  CHECK(has_rank(text, "11"));
  CHECK_FALSE(has_rank(text, "5"));
  CHECK(has_line(text,
                 "(9 ranks left out; rank 6 is the busiest, rank 0 holds the most memory; --all "
                 "shows all)"));
  CHECK(has_rank(table_with(12, {}, {.all = true}), "5"));
}

TEST_CASE("ten of many ranks without memory are shown, unless all are asked for") {
  const std::string text = table_with(12, {"/memory/capacity_bytes=0"});
  CHECK(has_line(text, "(2 more; --all shows them)"));
  CHECK(!says(text, "rank 11 "));
  CHECK(says(table_with(12, {"/memory/capacity_bytes=0"}, {.all = true}), "rank 11 "));
}

}  // namespace penstock::testing
