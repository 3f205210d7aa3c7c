#include "experiments/input/files/shipped.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "experiments/input/scenario/scenario.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

TEST_CASE("shipped: a name that is no file here is that of a scenario, model or paper") {
  Scratch scratch;
  for (const char* folder : {"scenarios", "models", "papers/p"}) {
    std::filesystem::create_directories(scratch.path(folder));
  }
  const std::string scenario = scratch.file("scenarios/s.json", "{}");
  const std::string model = scratch.file("models/m.json", "{}");
  const std::string rows = scratch.file("papers/p/rows.csv", "");
  const Variable data("PENSTOCK_DATA", scratch.path(""));
  CHECK(std::filesystem::equivalent(input_path("s.json"), scenario));
  CHECK(std::filesystem::equivalent(input_path("experiments/scenarios/s.json"), scenario));
  CHECK(std::filesystem::equivalent(input_path("m.json"), model));
  CHECK(std::filesystem::equivalent(input_path("p"), scratch.path("papers/p")));
  CHECK(std::filesystem::equivalent(input_path("p/rows.csv"), rows));
}

TEST_CASE("shipped: what exists is meant itself, and what is nowhere keeps its name") {
  Scratch scratch;
  std::filesystem::create_directories(scratch.path("scenarios"));
  const std::string inside = scratch.file("scenarios/s.json", "{}");
  const Variable data("PENSTOCK_DATA", scratch.path(""));
  CHECK(input_path(inside) == inside);
  for (const char* name : {"", "-", ".", "other.json", "/s.json", "../s.json", "scenarios/../../x",
                           "experiments/other/s.json"}) {
    CHECK(input_path(name) == name);
  }
}

TEST_CASE("shipped: a built program finds the scenarios of the source tree") {
  ::unsetenv("PENSTOCK_DATA");
  CHECK(read_scenario("first_run.json").schedule.name == "1f1b");
}

}  // namespace
}  // namespace penstock::testing
