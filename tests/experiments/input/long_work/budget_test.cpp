#include "experiments/input/long_work/budget.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "experiments/input/files/files.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/base/error.hpp"
#include "tests/support/program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// A budget for the time of a test; none before and after.
class WithBudget {
 public:
  explicit WithBudget(std::uint64_t bytes) { set_budget({bytes, "the test"}); }
  WithBudget(const WithBudget&) = delete;
  WithBudget& operator=(const WithBudget&) = delete;
  ~WithBudget() { set_budget({}); }
};

/// What `step` is refused for; "accepted" if it is not.
template <class Step>
std::string over_budget(Step step) {
  return refused_with<OverBudget>([&] { step(); });
}

const std::string two_stages = R"({"penstock": 1,
  "model": {"stages": [{"forward_us": 1, "backward_us": 2}, {"forward_us": 1, "backward_us": 2}]},
  "schedule": {"name": "1f1b", "microbatches": 1000000}})";

}  // namespace

TEST_CASE(
    "budget: work is refused from its bytes on, with what it is, what it needs and the limit") {
  // 85 MB and the 15 MB of the program.
  CHECK(over_budget([] { need_memory(1e18, "all", "less"); }) == "accepted");
  const WithBudget budget(100'000'000);
  CHECK(over_budget([] { need_memory(85e6, "a.json", "less"); }) == "accepted");
  CHECK(over_budget([] { need_memory(85.1e6, "a.json", "use less"); }) ==
        "a.json needs about 100 MB of memory, more than 100 MB (the test); use less, or give "
        "more --max-memory");
}

TEST_CASE("budget: sizes have the unit that leaves at least 1 of it") {
  CHECK(memory_text(1) == "1 B");
  CHECK(memory_text(999) == "999 B");
  CHECK(memory_text(1500) == "1.5 kB");
  CHECK(memory_text(999'499) == "999 kB");
  CHECK(memory_text(999'500) == "1 MB");
  CHECK(memory_text(999'999) == "1 MB");
  CHECK(memory_text(15e6) == "15 MB");
  CHECK(memory_text(4.25e12) == "4.25 TB");
}

TEST_CASE("budget: a million microbatches are refused before their order is made") {
  const Scenario scenario = parse_scenario(two_stages, "s.json");
  const WithBudget budget(100'000'000);
  CHECK(over_budget([&] { settle(scenario); }) ==
        "s.json: /schedule: 1f1b of 2 stages and 1000000 microbatches needs about 755 MB of "
        "memory, more than 100 MB (the test); use fewer microbatches, or give more --max-memory");
  CHECK(over_budget([&] { settle(scenario, {.bytes_per_cell = 30}); }) == "accepted");
}

TEST_CASE("budget: a file counts with seven times its size, a configuration has 64 MB") {
  const Scratch scratch;
  const std::string file = scratch.file("a.csv", std::string(2'000'000, 'x'));
  CHECK(read_file(file).size() == 2'000'000);
  const WithBudget budget(20'000'000);
  CHECK(over_budget([&] { read_file(file); }) ==
        file +
            " of at least 2 MB needs about 35 MB of memory, more than 20 MB (the test); use a "
            "smaller file, or give more --max-memory");
  CHECK(read_configuration(file).size() == 2'000'000);
  CHECK_THROWS_AS(check_configuration(std::string(64'000'001, ' ')), InputError);
  check_configuration(std::string(64'000'000, ' '));
}

TEST_CASE("budget: what a program takes by itself is less than there is") {
  const std::uint64_t usual = usual_budget().memory_bytes;
  CHECK(usual > 10'000'000);
  CHECK(usual < std::uint64_t{1} << 60);
}

TEST_CASE("time: a command ends when its time is over, and leaves no half-written file") {
  const Desk desk;
  const std::string path = desk.file("s.json", two_stages);
  const ProgramRun ended = desk.run({"run", path, "--trace", "t.json", "--timeout", "100ms"});
  CHECK(ended.code == 4);
  CHECK(ended.errors == "penstock: error: run " + path +
                            " --trace t.json --timeout 100ms: not finished after 0.1 s; give more "
                            "--timeout, or less work\n");
  const std::filesystem::directory_iterator left(desk.path(""));
  CHECK(std::distance(begin(left), end(left)) == 1);
  CHECK(desk.run({"run", path, "--timeout", "100", "--set", "/schedule/microbatches=2"}).code == 0);
}

}  // namespace penstock::testing
