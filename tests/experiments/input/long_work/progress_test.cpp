#include "experiments/input/long_work/progress.hpp"

#include <doctest/doctest.h>

namespace penstock::testing {

TEST_CASE("progress: a line has a bar, the count, the rate and the time left") {
  // 30 of 120 in 2 s: 15 a second, 90 to go take 6 s.
  CHECK(progress_line({"draws", 30, 120, 2}, 70, /*coloured=*/false) ==
        "━━━━━━━───────────────────────  30/120 draws  15 draws/s  6 s left");
  CHECK(progress_line({"draws", 1, 120, 2}, 70, false).ends_with("  0.5 draws/s  3 min 58 s left"));
  CHECK(progress_line({"draws", 1, 36'000, 2}, 80, false).ends_with("19 h 59 min left"));
}

TEST_CASE("progress: a narrow terminal has less, the count last of all") {
  const ProgressState state{"draws", 30, 120, 2};
  CHECK(progress_line(state, 60, false) ==
        "━━━━━━──────────────────  30/120 draws  15 draws/s  6 s left");
  CHECK(progress_line(state, 25, false) == "30/120 draws  6 s left");
  CHECK(progress_line(state, 12, false) == "30/120 draws");
}

TEST_CASE("progress: without a total or a start there is a count alone") {
  CHECK(progress_line({"rows", 30, 0, 2}, 80, false) == "30 rows  15 rows/s");
  CHECK(progress_line({"rows", 0, 120, 0}, 24, false) == "────────────  0/120 rows");
}

TEST_CASE("progress: work that does not count its steps shows how long it has taken") {
  CHECK(waiting_line("simulating", 12.9) == "simulating  12 s");
  CHECK(waiting_line("simulating", 75) == "simulating  1 min 15 s");
  const Waiting unseen("without a terminal");
}

TEST_CASE("progress: colour is there only where it is wanted") {
  const ProgressState state{"draws", 30, 120, 2};
  CHECK(progress_line(state, 70, true).find("\033[32m") != std::string::npos);
  CHECK(progress_line(state, 70, false).find('\033') == std::string::npos);
}

}  // namespace penstock::testing
