#include <doctest/doctest.h>

#include <string>

#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {

TEST_CASE("sweep: a further value that no row has is named, one that a row has is not") {
  const Desk desk;
  desk.file("s.json", scenario_plain);
  const auto said = [&](const std::string& pointer, const std::string& file) {
    const ProgramRun run =
        desk.run({"sweep", "s.json", "--vary", "/schedule/microbatches=2,4", "--result",
                  "/ranks/0/idle_us", "--result", pointer, "-o", file});
    CHECK(run.code == 0);
    CHECK(!says(run.errors, "/ranks/0/idle_us"));
    return run.errors;
  };
  CHECK(says(said("/nonexistant", "a.jsonl"), "no row has a value at /nonexistant; "));
  CHECK(!says(said("/ranks/1/idle_us", "b.jsonl"), "no row has"));
}

}  // namespace penstock::testing
