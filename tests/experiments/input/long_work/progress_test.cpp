#include "experiments/input/long_work/progress.hpp"

#include <doctest/doctest.h>

#include <string>

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

TEST_CASE("messages: control characters are shown, not obeyed; other text stays as it is") {
  CHECK(printable("a\tb\n") == "a\tb\n");
  CHECK(printable("µs × 2 日本 \xf0\x9f\x98\x80") == "µs × 2 日本 \xf0\x9f\x98\x80");
  CHECK(printable("\x1b[31mred\x1b[0m") == "\\u001b[31mred\\u001b[0m");
  CHECK(printable("\x07\r\x7f") == "\\u0007\\u000d\\u007f");
  CHECK(printable(std::string("\0", 1)) == "\\u0000");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u009b31m");  // the same command in one character
}

TEST_CASE("messages: bytes that are no UTF-8 are no commands either") {
  CHECK(printable("a\x9b") == "a\\u009b");
  CHECK(printable("\x9b\x9b") == "\\u009b\\u009b");
  CHECK(printable("\xe6\x97\xa5\x9b") == "\xe6\x97\xa5\\u009b");
  CHECK(printable("\xff\x1b") == "\xff\\u001b");
}

}  // namespace penstock::testing
