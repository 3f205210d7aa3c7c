#include "experiments/plan/sweeps/result_log.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/plan/sweeps/configured.hpp"
#include "sim/base/error.hpp"
#include "tests/support/full_disk.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// The beginning of row `item` of 4.
std::string head(std::uint64_t item, const std::string& sweep = "aa",
                 const std::string& version = "0.1.0") {
  return fmt::format(
      R"({{"item":{},"of":4,"sweep":"{}","hash":"x","version":"{}","configuration":{{"/m":{}}})",
      item, sweep, version, item);
}
std::string row(std::uint64_t item, const std::string& sweep = "aa",
                const std::string& version = "0.1.0") {
  return head(item, sweep, version) + ",\"result\":{\"makespan_us\":1}}\n";
}

/// Rows 0 to 3.
std::string expected_row(std::uint64_t place) { return place < 4 ? head(place) : ""; }

std::string error_of(const std::string& path) {
  ResultLog log(path);
  return refused_with<InputError>([&] { log.resume(expected_row); });
}

std::string merge_error(const std::vector<std::string>& shards, const std::string& output) {
  return refused_with<InputError>([&] { merge_rows(shards, output); });
}

}  // namespace

TEST_CASE("result file: it goes on behind its last whole row, and a torn one is removed") {
  const Scratch scratch;
  const std::string whole = row(0) + row(1);
  for (const std::string& torn :
       {std::string(), head(2), std::string(R"({"it)"), row(2).substr(0, row(2).size() - 1)}) {
    const std::string path = scratch.file("out.jsonl", whole + torn);
    ResultLog log(path);
    const ResumedRows there = log.resume(expected_row);
    CHECK(there.rows == 2);
    CHECK(there.with_result == 2);
    CHECK(there.repaired == !torn.empty());
    log.append(row(2));
    log.append(row(3));
    CHECK(content_of(path) == whole + row(2) + row(3));
  }
}

TEST_CASE("result file: rows there that were refused for lack of memory are counted") {
  const Scratch scratch;
  const auto refused = [](std::uint64_t item, const std::string& why) {
    return head(item) + fmt::format(R"(,"findings":[{{"kind":"refused","text":"{}"}}]}})", why) +
           "\n";
  };
  const std::string path = scratch.file(
      "out.jsonl", row(0) + refused(1, lacks_memory_text) + refused(2, "another reason"));
  const ResumedRows there = ResultLog(path).resume(expected_row);
  CHECK(there.rows == 3);
  CHECK(there.without_memory == 1);
}

TEST_CASE("result file: a last line that is no beginning of a row is kept and refused") {
  const Scratch scratch;
  for (const std::string& other :
       {std::string("my notes"), row(0) + "my notes", std::string("{}")}) {
    const std::string path = scratch.file("notes.txt", other);
    CHECK(says(error_of(path), "is no row of a sweep"));
    CHECK(content_of(path) == other);
  }
}

TEST_CASE("result file: one that may replace any file is empty where no sweep wrote it") {
  const Scratch scratch;
  const std::string notes = scratch.file("notes.txt", "my notes\n"),
                    rows = scratch.file("rows.jsonl", row(0));
  CHECK(ResultLog(notes, Existing::any).resume(expected_row).rows == 0);
  CHECK(content_of(notes).empty());
  CHECK(ResultLog(rows, Existing::any).resume(expected_row).rows == 1);
}

TEST_CASE("result file: another sweep, version or shard is refused with both named") {
  const Scratch scratch;
  CHECK(says(error_of(scratch.file("a", row(0, "bb"))), "the sweep bb, this is aa"));
  CHECK(says(error_of(scratch.file("a", row(0, "aa", "0.0.9"))), "penstock 0.0.9, this is 0.1.0"));
  CHECK(says(error_of(scratch.file("a", row(1))), "configuration 1, expected 0"));
  CHECK(says(error_of(scratch.file("a", "hello\n")), "no row of a sweep"));
  CHECK(says(error_of(scratch.file("a", row(0) + row(1) + row(2) + row(3) + row(3))),
             "line 5 is behind the last"));
  std::string with_crlf = row(0);
  with_crlf.insert(with_crlf.size() - 1, "\r");
  CHECK(says(error_of(scratch.file("a", with_crlf)), "line 1 ends in CRLF"));
}

TEST_CASE("result file: a second one of the same name is refused while the first is open") {
  const Scratch scratch;
  const std::string path = scratch.path("out.jsonl");
  {
    const ResultLog first(path);
    CHECK_THROWS_AS(ResultLog{path}, UsageError);
  }
  CHECK_NOTHROW(ResultLog{path});
}

TEST_CASE("result file: a full disk keeps whole rows alone") {
  const Scratch scratch;
  const std::string path = scratch.path("out.jsonl");
  ResultLog log(path);
  const FullDisk full;
  CHECK_THROWS_AS(log.append(row(0)), std::runtime_error);
  CHECK(content_of(path).empty());
}

TEST_CASE("result file: a pipe and a device are refused, for rows there are read first") {
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    for (const Existing replaced : {Existing::own, Existing::any}) {
      CHECK(refused_with<UsageError>([&] { ResultLog(path, replaced); }) ==
            path + ": it is a pipe or a device, and rows go into a file; -o - prints them");
    }
  }
}

TEST_CASE("merge: the rows of shards are those of the whole, in order") {
  const Scratch scratch;
  const std::string one = scratch.file("1", row(0) + row(2)),
                    two = scratch.file("2", row(1) + row(3));
  const std::string all = scratch.path("all");
  CHECK(merge_rows({two, one}, all).rows == 4);
  CHECK(content_of(all) == row(0) + row(1) + row(2) + row(3));
  // Rows that several files have count once.
  merge_rows({one, all}, scratch.path("again"));
  CHECK(content_of(scratch.path("again")) == content_of(all));
}

TEST_CASE("merge: a missing row, a different one and another sweep are refused") {
  const Scratch scratch;
  const std::string one = scratch.file("1", row(0) + row(2)), output = scratch.path("all");
  CHECK(says(merge_error({one}, output), "configuration 1 of 4 is in none"));
  CHECK(says(merge_error({one, scratch.file("2", row(1, "bb"))}, output), "sweep bb"));
  CHECK(says(merge_error({one, scratch.file("2", row(1, "aa", "9"))}, output), "penstock 9"));
  CHECK(says(merge_error({one, scratch.file("2", head(0) + "}\n")}, output), "differs"));
  CHECK(says(merge_error({scratch.file("2", "")}, output), "no row"));
  CHECK(says(merge_error({scratch.file("2", row(0) + row(1) + row(0))}, output), "behind 1"));
}

}  // namespace penstock::testing
