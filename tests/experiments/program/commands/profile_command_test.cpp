#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/profile_rows.hpp"
#include "tests/support/profile_workplace.hpp"
#include "tests/support/program.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

/// The command lines under "Example:" in a help text, words in quotes as one.
std::vector<std::vector<std::string>> examples_of(const std::string& help) {
  const std::string mark = "Example:\n  penstock ";
  std::vector<std::vector<std::string>> examples;
  for (std::size_t at = help.find(mark); at != std::string::npos; at = help.find(mark, at)) {
    at += mark.size();
    bool quoted = false;
    std::vector<std::string> words(1);
    for (; at < help.size() && help[at] != '\n'; ++at) {
      if (help[at] == '"') {
        quoted = !quoted;
      } else if (help[at] == ' ' && !quoted) {
        words.emplace_back();
      } else {
        words.back() += help[at];
      }
    }
    examples.push_back(std::move(words));
  }
  return examples;
}

}  // namespace

TEST_CASE("profile: the examples of its help run as they stand there") {
  const Workplace workplace;
  std::size_t ran = 0;
  for (const char* action : {"", "list", "show", "check", "snapshot", "retire"}) {
    CAPTURE(action);
    std::vector<std::string> help{"profile"};
    if (*action != 0) help.emplace_back(action);
    help.emplace_back("--help");
    const auto examples = examples_of(workplace.run(help).output);
    REQUIRE(examples.size() == 1);
    const ProgramRun run = workplace.run(examples[0]);
    CHECK(run.code == 0);
    CHECK((!run.output.empty() || !run.errors.empty()));
    ++ran;
  }
  CHECK(ran == 6);
  CHECK(workplace.store().row(RowId{2})->state == RowState::retired);
  CHECK(workplace.store().verdicts(RowId{2}).back().why == "the fan was broken");
  CHECK(workplace.has("machine.json"));
}

TEST_CASE("profile: list counts rows by kernel and by environment") {
  const Workplace workplace;
  workplace.change(1, RowState::suspect);
  const json document = workplace.json_of({"profile", "list", "machine.profile"});
  CHECK(document["rows"] == 6);
  REQUIRE(document["kernels"].size() == 3);
  const json& forward = document["kernels"][2];
  CHECK(forward["kernel"] == "mlp");
  CHECK(forward["pass"] == "forward");
  CHECK(forward["valid"] == 1);
  CHECK(forward["suspect"] == 1);
  CHECK(document["environments"].size() == 1);
  CHECK(document["environments"][0]["of_this_machine"] == true);
  const std::string text = workplace.run({"profile", "list", "machine.profile"}).output;
  CHECK(says(text, "backward_weight"));
}

TEST_CASE("profile: show tells all of a row, and of one that is not there that it is not") {
  const Workplace workplace;
  workplace.change(2, RowState::retired);
  const ProgramRun run = workplace.run({"profile", "show", "machine.profile", "2"});
  CHECK(run.code == 0);
  for (const char* part : {"row 2: retired", "examples=1 hidden=8 intermediate=32 sequence=16",
                           "10: median 8 µs", "retired  by hand", "valid    measured", "|"}) {
    CAPTURE(part);
    CHECK(says(run.output, part));
  }
  const json document = workplace.json_of({"profile", "show", "machine.profile", "2"});
  CHECK(document["row"]["samples_ns"].size() == 10);
  CHECK(document["verdicts"].size() == 2);
  const ProgramRun missing = workplace.run({"profile", "show", "machine.profile", "9"});
  CHECK(missing.code == 2);
  CHECK(missing.errors == "penstock: error: machine.profile: there is no row 9\n");
  CHECK(workplace.run({"profile", "show", "machine.profile", "x"}).code == 2);
}

TEST_CASE("profile: check is a finding where a row is not valid, and writes only when asked to") {
  std::vector<ProfileRow> rows = mlp_rows({1});
  rows[1].measured_at = "2020-01-01T00:00:00Z";
  rows[2].samples_ns.resize(3);
  const Workplace workplace(rows);
  const json document = workplace.json_of({"profile", "check", "machine.profile"}, 1);
  CHECK(ids_of(document["not_valid"]) == std::vector<std::int64_t>{2, 3});
  CHECK(document["not_valid"][0]["state"] == "suspect");
  CHECK(document["not_valid"][1]["reasons"][0] == "it has fewer than 5 samples: 3");
  CHECK(workplace.store().row(RowId{3})->state == RowState::valid);
  CHECK(workplace.run({"profile", "check", "machine.profile", "--record"}).code == 1);
  CHECK(workplace.store().row(RowId{3})->state == RowState::retired);
  CHECK(workplace.store().verdicts(RowId{3}).back().why == "it has fewer than 5 samples: 3");
  // Once it is written, it is what was said last that speaks against it.
  const json again = workplace.json_of({"profile", "check", "machine.profile"}, 1);
  CHECK(again["not_valid"][1]["reasons"][0] == "it has fewer than 5 samples: 3");
  CHECK(Workplace().run({"profile", "check", "machine.profile"}).code == 0);
}

TEST_CASE("profile: check lists doubtful rows before fine ones, and says what to do next") {
  // Rows 1 to 9: 4 is retired, 7 suspect for its age, 8 for its age and a canary that drifted.
  std::vector<ProfileRow> rows = mlp_rows({1, 2, 3});
  rows[3].samples_ns.resize(3);
  rows[6].measured_at = "2020-01-01T00:00:00Z";
  rows[7].measured_at = "2020-01-02T00:00:00Z";
  rows[7].canary_ns *= 1.04;
  const Workplace workplace(rows);
  const json document = workplace.json_of({"profile", "check", "machine.profile"}, 1);
  CHECK(ids_of(document["not_valid"]) == std::vector<std::int64_t>{8, 7, 4});
  CHECK(document["not_valid"][0]["score"] == 2);
  CHECK(ids_of(document["sound"]) == std::vector<std::int64_t>{1, 2, 3, 5, 6, 9});
  const std::string text = workplace.run({"profile", "check", "machine.profile"}).output;
  std::size_t from = 0;
  for (const char* line : {"\n  8  suspect", "\n  7  suspect", "\n  4  retired", "\n  1  valid"}) {
    CAPTURE(line);
    const std::size_t found = text.find(line);
    REQUIRE(found != std::string::npos);
    CHECK(found >= from);
    from = found;
  }
  CHECK(says(text, "measure them again: penstock profile check machine.profile --budget 10"));
  CHECK(says(text, "penstock calibrate -o machine.profile"));
}

TEST_CASE("profile: rows of another build are told as unfit, are not used, and stay as they are") {
  std::vector<ProfileRow> rows = mlp_rows({1});
  for (ProfileRow& row : rows) row.build = "of another build";
  const Workplace workplace(rows);
  const ProgramRun check = workplace.run({"profile", "check", "machine.profile", "--record"});
  CHECK(check.code == 1);
  CHECK(says(check.output, "3 rows: 0 valid, 0 suspect, 0 retired, 3 unfit, 0 past"));
  CHECK(says(check.output, "the kernels, or the flags that they are built with, have changed"));
  const json document = workplace.json_of({"profile", "list", "machine.profile"});
  CHECK(document["kernels"][0]["unfit"] == 1);
  CHECK(document["kernels"][0]["retired"] == 0);
  CHECK(workplace.run({"run", "s.json", "--allow-stale"}).code == 3);
  CHECK(workplace.store().row(RowId{1})->state == RowState::valid);
}

TEST_CASE("profile: check with a budget measures what it can, and names what it cannot") {
  // The busy loop of 1000 ns took 1 ns, so it is told; of a layer nothing here can measure a pass
  // of that kind of kernel.
  std::vector<ProfileRow> rows = mlp_rows({1});
  rows.resize(1);
  rows[0].point.kernel = "no such kernel";
  rows[0].measured_at = "2020-01-01T00:00:00Z";
  const Workplace workplace(rows);
  const json spot =
      workplace.json_of({"profile", "check", "machine.profile", "--budget", "5"}, 1)["spot_check"];
  CHECK(spot["cannot_be_measured"] == std::vector<int>{1});
  CHECK(spot["measured"].empty());
  CHECK(workplace.store().verdicts(RowId{1}).size() == 1);
  CHECK(workplace.run({"profile", "check", "machine.profile", "--budget", "0"}).code == 2);
}

TEST_CASE("profile: check measures a kernel of this program again, and retires what is far off") {
  ProfileRow row = mlp_rows({1})[0];
  row.point = {.kernel = "gemm", .pass = "", .shape = "k=16 m=16 n=16", .condition = "solo"};
  row.samples_ns.assign(10, 1e9);  // a second for a product of 16 by 16
  row.canary_ns = 0;               // unknown, so that no noise keeps it from being judged
  row.measured_at = "2020-01-01T00:00:00Z";
  const Workplace workplace({row});
  const json measured = workplace.json_of({"profile", "check", "machine.profile", "--budget", "20"},
                                          1)["spot_check"]["measured"];
  REQUIRE(measured.size() == 1);
  CHECK(measured[0]["holds"] == false);
  CHECK(workplace.store().row(RowId{1})->state == RowState::retired);
}

TEST_CASE("profile: check changes nothing of what was measured when the machine was another") {
  // The canary is 100 000 steps one after the other, so it takes more than 1000 ns anywhere.
  ProfileRow row = mlp_rows({1})[0];
  row.point = {.kernel = "gemm", .pass = "", .shape = "k=16 m=16 n=16", .condition = "solo"};
  row.samples_ns.assign(10, 1e9);
  row.canary_ns = 1000;
  row.measured_at = "2020-01-01T00:00:00Z";
  const Workplace workplace({row});
  const json spot =
      workplace.json_of({"profile", "check", "machine.profile", "--budget", "20"}, 1)["spot_check"];
  CHECK(spot["not_quiet"] == std::vector<int>{1});
  CHECK(spot["measured"].empty());
  CHECK(workplace.store().verdicts(RowId{1}).size() == 1);
}

TEST_CASE("profile: a damaged store is refused with what is left of it, which can be recovered") {
  Workplace workplace(mlp_rows({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  const std::string path = workplace.path("machine.profile");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * 3 / 4);
  const ProgramRun check = workplace.run({"profile", "check", "machine.profile"});
  CHECK(check.code == 3);
  CHECK(says(check.errors, "the file is damaged"));
  CHECK(says(check.errors, " rows can be read; "));
  const ProgramRun run = workplace.run({"run", "s.json"});
  CHECK(run.code == 3);
  CHECK(says(run.errors, "--recover"));
  const ProgramRun saved =
      workplace.run({"profile", "check", "machine.profile", "--recover", "saved.profile"});
  CHECK(saved.code == 1);
  const ProfileStore store(workplace.path("saved.profile"));
  CHECK(saved.output.starts_with(fmt::format("{} rows can be read; ", store.rows().rows.size())));
  CHECK(workplace.run({"profile", "list", "saved.profile"}).code == 0);
}

TEST_CASE("profile: wrong calls are wrong usage") {
  const Workplace workplace;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"profile"},
           {"profile", "burn"},
           {"profile", "list"},
           {"profile", "retire", "machine.profile", "1"},
           {"profile", "retire", "machine.profile", "--why", "x"},
           {"profile", "retire", "machine.profile", "77", "--why", "x"},
           {"profile", "snapshot", "machine.profile"},
           {"profile", "check", "machine.profile", "--recover", "x", "--record"}}) {
    CAPTURE(fmt::format("{}", fmt::join(words, " ")));
    CHECK(workplace.run(words).code == 2);
  }
  CHECK(workplace.store().row(RowId{1})->state == RowState::valid);
  CHECK(workplace.run({"profile", "list", "absent.profile"}).code == 3);
  const ProgramRun nowhere = workplace.run({"calibrate", "-o", "absent/machine.profile"});
  CHECK(nowhere.code == 2);
  CHECK(says(nowhere.errors, "absent/machine.profile: cannot write: "));
}

}  // namespace penstock::testing
