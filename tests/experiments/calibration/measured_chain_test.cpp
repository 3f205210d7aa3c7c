#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "experiments/calibration/calibration.hpp"
#include "experiments/calibration/calibration_layers.hpp"
#include "experiments/calibration/calibration_rows.hpp"
#include "experiments/profiles/profile_rows.hpp"
#include "experiments/run/run.hpp"
#include "experiments/scenario/scenario.hpp"
#include "tests/support/scratch.hpp"
#include "validate/store/profile_store.hpp"

namespace penstock::testing {
namespace {

const std::string chain_scenario =
    std::string(PENSTOCK_ROOT) + "/experiments/scenarios/small_transformer.json";

/// The makespan of the scenario with its layers as calibrated here, each pass in `pass_ns`.
double chain_makespan_us(double pass_ns) {
  const Scratch scratch;
  const Today today = today_here();
  Calibration calibration;
  calibration.environment = today.environment;
  calibration.canary.median = 1000;
  for (const KernelPoint& point : layer_points(read_scenario(chain_scenario))) {
    calibration.layers.push_back({{.kernel = point}, std::vector<double>(10, pass_ns)});
  }
  const std::string path = scratch.path("machine.profile");
  ProfileStore(path, ProfileStore::Access::create).add(profile_rows(calibration, today.date));
  const std::string hardware =
      fmt::format(R"(/hardware={{"name": "measured", "profile": "{}", "devices": 4}})", path);
  return to_us(run(read_scenario(chain_scenario, {hardware})).report->makespan);
}

}  // namespace

TEST_CASE("a calibration of a scenario's layers prices the scenario on hardware measured") {
  const double once = chain_makespan_us(10'000);
  // At least 8 microbatches of 2 blocks of 4 layers, three passes of 10 us each.
  CHECK(once >= 8 * 2 * 4 * 3 * 10);
  CHECK(chain_makespan_us(20'000) == doctest::Approx(2 * once));
}

}  // namespace penstock::testing
