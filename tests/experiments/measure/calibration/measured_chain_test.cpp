#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiments/input/profiles/profile_rows.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/measure/calibration/calibration.hpp"
#include "experiments/measure/calibration/layers_in_run.hpp"
#include "experiments/run/run.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "validate/store/profile_store.hpp"

namespace penstock::testing {
namespace {

const std::string chain_scenario =
    std::string(PENSTOCK_ROOT) + "/experiments/scenarios/small_transformer.json";

/// The result of the scenario with its layers as calibrated here: each pass takes `pass_ns` alone,
/// and, above 0, `in_run_ns` in a run.
RunResult chain_result(double pass_ns, double in_run_ns) {
  const Scratch scratch;
  const Today today = today_here();
  Calibration calibration{.environment = today.environment};
  calibration.canary.median = 1000;
  for (const KernelPoint& point : layer_points(read_scenario(chain_scenario))) {
    calibration.layers.push_back({{.kernel = point}, std::vector<double>(10, pass_ns)});
    KernelPoint in_run = point;
    in_run.condition = in_run_condition;
    if (in_run_ns == 0) continue;
    calibration.in_run.points.push_back({{.kernel = in_run}, std::vector<double>(10, in_run_ns)});
  }
  const std::string path = scratch.path("machine.profile");
  ProfileStore(path, ProfileStore::Access::create).add(profile_rows(calibration, today.date));
  const std::string hardware =
      fmt::format(R"(/hardware={{"name": "measured", "profile": "{}", "devices": 4}})", path);
  return run(read_scenario(chain_scenario, {hardware}));
}

double chain_makespan_us(double pass_ns, double in_run_ns = 0) {
  return to_us(chain_result(pass_ns, in_run_ns).report->makespan);
}

bool has_note(const RunResult& result, const std::string& part) {
  return std::any_of(result.notes.begin(), result.notes.end(),
                     [&](const std::string& note) { return says(note, part); });
}

}  // namespace

TEST_CASE("a calibration of a scenario's layers prices the scenario on hardware measured") {
  const double once = chain_makespan_us(10'000);
  // At least 8 microbatches of 2 blocks of 4 layers, three passes of 10 us each.
  CHECK(once >= 8 * 2 * 4 * 3 * 10);
  CHECK(chain_makespan_us(20'000) == doctest::Approx(2 * once));
}

TEST_CASE("hardware measured takes the times that layers have in a run, and says which it has") {
  CHECK(chain_makespan_us(10'000, 15'000) == doctest::Approx(chain_makespan_us(15'000)));
  CHECK(has_note(chain_result(10'000, 15'000), "layer times were measured in runs of 1f1b"));
  CHECK(has_note(chain_result(10'000, 0), "all layer times were measured alone"));
}

}  // namespace penstock::testing
