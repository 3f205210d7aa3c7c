#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

using Words = std::vector<std::string>;

/// A folder with a scenario that every backend runs.
struct ValidateDesk : Desk {
  ValidateDesk() { file("s.json", scenario_with_link); }
  ProgramRun validate(const Words& options) const {
    return run(with_words({"validate", "s.json"}, options));
  }
  /// Whether it is wrong usage, with these words among the error.
  bool refuses(const Words& options, const std::string& why) const {
    const ProgramRun refused = validate(options);
    return refused.code == 2 && refused.output.empty() && says(refused.errors, why);
  }
};

}  // namespace

TEST_CASE("validate: --gpu-program drops no option without a word") {
  const ValidateDesk desk;
  for (const Words& options : std::vector<Words>{{"--timeline", "t.timeline"},
                                                 {"--simulated", "t.timeline"},
                                                 {"--causes"},
                                                 {"--json"},
                                                 {"--iterations", "30"},
                                                 {"--action-us", "50"},
                                                 {"--processes", "2"},
                                                 {"--schedules", "all"},
                                                 {"--backend", "cpu_timed"},
                                                 {"--backend", "cpu_logical"},
                                                 {"--backend", "cuda_single", "--bodies", "flops"},
                                                 {"--backend", "cuda_single", "--links", "host"}}) {
    CAPTURE(options.back());
    CHECK(desk.refuses(with_words({"--gpu-program", "gpu.program"}, options),
                       "--gpu-program goes with --set, --force and --backend cuda_"));
  }
  CHECK_FALSE(desk.has("gpu.program"));
  CHECK(desk.validate({"--gpu-program", "gpu.program"}).code == 0);
  CHECK(desk.has("gpu.program"));
  CHECK(
      desk.validate({"--gpu-program", "gpu.program", "--force", "--backend", "cuda_single"}).code ==
      0);
}

TEST_CASE("validate: a file of --model that is not there is refused before PyTorch starts") {
  const ProgramRun run =
      ValidateDesk().validate({"--backend", "torch_gloo", "--model", "nowhere.py"});
  CHECK(run.code == 3);
  CHECK(says(run.errors, "nowhere.py: cannot open: No such file"));
}

TEST_CASE("validate: --iterations has one range") {
  const ValidateDesk desk;
  CHECK(desk.refuses({"--iterations", "19"}, "--iterations is 19: expected 20 to 10000\n"));
  CHECK(desk.refuses({"--iterations", "10001"}, "--iterations is 10001: expected 20 to 10000\n"));
}

TEST_CASE("validate: actions of cpu_timed sleep, and nothing else is called so") {
  const ValidateDesk desk;
  CHECK(desk.refuses({"--backend", "cpu_timed", "--bodies", "busy"},
                     "--bodies busy: cpu_timed sleeps"));
  CHECK(desk.refuses({"--bodies", "sleep"}, "--bodies sleep goes with --backend cpu_timed, "));
  const ProgramRun run = desk.validate(
      {"--backend", "cpu_timed", "--bodies", "sleep", "--action-us", "100", "--json"});
  CHECK(nlohmann::json::parse(run.output)["bodies"] == "sleep");
}

TEST_CASE("validate: a setting that several processes cannot run is named") {
  const ValidateDesk desk;
  CHECK(desk.refuses({"--processes", "2", "--set", "/overheads/compute_slowdown_by_transfer=1.5"},
                     "cpu_logical does not run actions that transfers slow down "
                     "(/overheads/compute_slowdown_by_transfer) in several processes"));
}

}  // namespace penstock::testing
