#include "experiments/measure/measured_runs/rank_traces.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/scratch.hpp"
#include "tests/support/traced_runs.hpp"

// Which trace is of which rank.

namespace penstock::testing {

// The last stage is in the first file, as on rank 0 of the job.
TEST_CASE("ranks: files that do not say their rank are the job's ranks in the order given") {
  Traces traces({run_of(three_stages(steady_order))}, {.rank_known = false});
  std::swap(traces.reading.files[0], traces.reading.files[2]);
  traces.reading.pipeline_ranks = {2, 1, 0};
  const MeasuredRun run = traces.read();
  CHECK(run.schedule == "1f1b");
  CHECK(run.ranks[0].source == traces.reading.files[2]);
  CHECK(run.ranks[0].job_rank == 2);
  CHECK(run.ranks[2].job_rank == 0);
  REQUIRE(traces.notes.size() == 1);
  CHECK(traces.notes[0] ==
        "the files do not say of which rank they are: taken in the order given; rank 0 rank2.json, "
        "rank 1 rank1.json, rank 2 rank0.json");
  traces.reading.pipeline_ranks = {16, 8, 0};
  const MeasuredRun wide = traces.read();
  CHECK(wide.ranks[0].source == traces.reading.files[2]);
  CHECK(wide.ranks[0].job_rank == 16);
  CHECK(wide.ranks[2].job_rank == 0);
  REQUIRE(traces.notes.size() == 1);
  CHECK(traces.notes[0].ends_with("; rank 0 rank2.json, rank 8 rank1.json, rank 16 rank0.json"));
}

TEST_CASE("ranks: a note names files of one name by their folders, from the first that differs") {
  Traces traces({run_of(three_stages(steady_order))}, {.rank_known = false});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::string& file = traces.reading.files[rank];
    const auto moved = std::filesystem::path(file).parent_path() / fmt::format("h{}/t.json", rank);
    std::filesystem::create_directories(moved.parent_path());
    std::filesystem::rename(file, moved);
    file = moved.string();
  }
  traces.read();
  REQUIRE(traces.notes.size() == 1);
  CHECK(traces.notes[0].ends_with("; rank 0 h0/t.json, rank 1 h1/t.json, rank 2 h2/t.json"));
}

TEST_CASE("ranks: the traces of a folder are in the order of the numbers in their names") {
  const Scratch scratch;
  std::vector<std::string> files;
  for (const char* name : {"rank0.json", "rank1.json", "rank2.json", "rank10.json", "rank11.json"})
    files.push_back(scratch.file(name, "{}"));
  const std::string folder = std::filesystem::path(files[0]).parent_path().string();
  CHECK(trace_files({folder}) == files);
}

}  // namespace penstock::testing
