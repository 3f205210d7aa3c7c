#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"

// Orders from files, sound ones and those that cannot be.

namespace penstock::testing {

TEST_CASE("an order from a file lies beside its scenario, and its faults name that file") {
  const Scratch scratch;
  const std::string path = scratch.file("s.json", R"({
    "model": { "stages": [ {"forward_us": 1, "backward_us": 2}, {"forward_us": 1, "backward_us": 2} ] },
    "schedule": { "file": "order.csv" } })");
  const auto outcome = [&](const std::string& csv, const std::vector<std::string>& settings = {}) {
    scratch.file("order.csv", csv);
    try {
      const RunResult result = run(read_scenario(path, settings));
      return "makespan " + (result.report ? text_us(result.report->makespan) : "none");
    } catch (const InputError& error) {
      // Without the folder, which is another one every time.
      return std::string(error.what()).substr(scratch.path("").size());
    }
  };
  const std::string good = "0F0,0B0\n1F0,1B0\n";
  CHECK(outcome(good) == "makespan 6");
  CHECK(outcome("0F0,,0B0,0B0\n1F0,1B0\n") == "order.csv: row 0, column 3: 0B0 occurs twice");
  CHECK(outcome("hello").starts_with("order.csv: row 0, column 0: \"hello\" is no cell"));
  CHECK(outcome("") == "order.csv: the file is empty; an order has one row per rank");
  CHECK(outcome("0F0,0B0\n") ==
        "s.json: /model/stages: it has 2 stages, but the schedule has 1 model stage on 1 rank");
  CHECK(outcome(good, {"/parallel/pipeline=3"}) ==
        "s.json: /parallel/pipeline: it is 3, but the order has 2 rows");
  CHECK(outcome(good, {"/hardware/devices=3"}) ==
        "s.json: /hardware/devices: it is 3, but 2 pipeline ranks times the other "
        "degrees of /parallel take 2");
  CHECK(outcome(good, {"/schedule/microbatches=2"}) ==
        "s.json: /schedule/microbatches: it is 2, but the order has 1 microbatch");
  CHECK(outcome(good, {"/parallel/chunks=2"}) ==
        "s.json: /parallel/chunks: it is 2, but the order has 2 stages on 2 ranks");
  CHECK(outcome(good, {"/schedule/group=2"}) ==
        "s.json: /schedule/group: unknown key; an order from a file takes no options of a rule");
  CHECK(outcome(good, {"/partition/ranks=[[0],[1]]"}) ==
        "s.json: /partition/ranks: an order from a file brings its own placement");
  CHECK(outcome(good, {"/schedule/chains=[[0,1,2]]"}) ==
        "s.json: /schedule/chains: chain 0 names stage 2; stages are 0 to 1");
  // Numbers with a gap: two microbatches, not three.
  CHECK(outcome("0F0,0F2,0B0,0B2\n1F0,1B0,1F2,1B2\n", {"/schedule/microbatches=2"}) ==
        "makespan 9");
}

TEST_CASE("an order with a few cells and huge numbers is refused without a huge table") {
  // 65,536 stages of one microbatch each, no two the same: a table of all pairs would have 4e9
  // entries.
  const Scratch scratch;
  std::string csv;
  for (int rank = 0; rank < 8192; ++rank) {
    for (int i = 0; i < 8; ++i)
      csv += fmt::format("{}{}F{}", i == 0 ? "" : ",", rank * 8 + i, rank * 8 + i);
    csv += '\n';
  }
  const std::string order = scratch.file("order.csv", csv);
  const std::string error = outcome_of(scenario_plain, {"/schedule={\"file\":\"" + order + "\"}"});
  CHECK(error.starts_with(order + ": row 0, column "));
  CHECK(error.ends_with(" is missing"));
}

}  // namespace penstock::testing
