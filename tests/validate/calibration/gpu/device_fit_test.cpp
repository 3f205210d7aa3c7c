#include "validate/calibration/gpu/device_fit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/support/made_up_gpu.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

constexpr BootstrapPlan hundred_draws{.seed = 3, .draws = 100};

std::vector<DeviceProbe> probes(const std::vector<ProfileRow>& rows) { return device_probes(rows); }

double value(const DeviceFit& fit, std::string_view name) {
  CAPTURE(fit.name);
  CAPTURE(fit.refusal);
  const FittedNumber* const number = number_of(fit, name);
  REQUIRE_MESSAGE(number != nullptr, name);
  return number->value;
}

bool covers(const DeviceFit& fit, std::string_view name, double truth) {
  const FittedNumber* const number = number_of(fit, name);
  return number != nullptr && number->interval.covers(truth);
}

bool has_note(const DeviceFit& fit, std::string_view text) {
  return std::ranges::any_of(fit.notes, [&](const std::string& note) { return says(note, text); });
}

}  // namespace

TEST_CASE("conditions name what ran beside a kernel") {
  CHECK(neighbours_of("solo")->count == 0);
  const auto three = neighbours_of("pair:bytes x3");
  REQUIRE(three);
  CHECK(three->kernel == "bytes");
  CHECK(three->count == 3);
  CHECK_FALSE(three->in_part);
  CHECK(neighbours_of("pair:bytes x3 in part")->in_part);
  for (const char* wrong : {"", "insitu:1f1b", "pair:", "pair:bytes", "pair: x1", "pair:bytes x0",
                            "pair:bytes x-1", "pair:bytes x3 in parts"}) {
    CAPTURE(wrong);
    CHECK_FALSE(neighbours_of(wrong));
  }
}

TEST_CASE("rows of other machines' kernels are no probes") {
  ProfileRow row = MadeUpGpu().scaling().front();
  CHECK(device_probes(std::vector{row}).size() == 1);
  row.point.condition = "insitu:1f1b";
  CHECK(device_probes(std::vector{row}).empty());
  row.point.condition = "solo";
  row.point.shape = "large";
  CHECK(device_probes(std::vector{row}).empty());
}

// 40 SMs of 60 bytes per ns reach the limit of 2400.
TEST_CASE("SM scaling: without noise, the rate of an SM and the limit of the device are found") {
  const MadeUpGpu gpu;
  const DeviceFit bytes = fit_scaling(probes(gpu.scaling()), "bytes", hundred_draws);
  CHECK(value(bytes, "rate of an SM") == doctest::Approx(60).epsilon(1e-3));
  CHECK(value(bytes, "limit") == doctest::Approx(2400).epsilon(1e-3));
  CHECK(bytes.points.size() == 16);
  const DeviceFit flops = fit_scaling(probes(gpu.scaling()), "flops", hundred_draws);
  CHECK(value(flops, "rate of an SM") == doctest::Approx(400).epsilon(1e-3));
  CHECK(number_of(flops, "limit") == nullptr);
  CHECK(has_note(flops, "no limit of the device was reached"));
  const DeviceFit products = fit_scaling(probes(gpu.scaling()), "products", hundred_draws);
  CHECK(value(products, "rate of an SM") == doctest::Approx(6000).epsilon(1e-3));
  // The curve: the rate at each number of SMs.
  CHECK(flops.points.back().rate == doctest::Approx(400 * 128));
}

TEST_CASE("SM scaling: with noise of 3 %, constants are within 2 %, and intervals hold them") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const MadeUpGpu gpu{.noise = 0.03, .seed = seed};
    const DeviceFit bytes = fit_scaling(probes(gpu.scaling()), "bytes", hundred_draws);
    CHECK(value(bytes, "rate of an SM") == doctest::Approx(60).epsilon(0.02));
    CHECK(value(bytes, "limit") == doctest::Approx(2400).epsilon(0.02));
    CHECK(covers(bytes, "rate of an SM", 60));
    CHECK(covers(bytes, "limit", 2400));
    CHECK(errors_of(bytes, false).mean < 0.03);
  }
}

TEST_CASE("SM scaling on two numbers of SMs is refused, and the step that helps is named") {
  auto rows = MadeUpGpu().scaling();
  rows.resize(2);
  const DeviceFit fit = fit_scaling(probes(rows), "flops", hundred_draws);
  CHECK(fit.refusal ==
        "needs flops alone on 3 numbers of SMs, got 2; penstock_gpu_check --all FOLDER --step "
        "scaling measures them");
  CHECK(fit.numbers.empty());
}

TEST_CASE("products: start, rate of an SM, operands and tiles are found without noise") {
  const MadeUpGpu gpu;
  const DeviceFit fit = fit_products(probes(gpu.products()), hundred_draws);
  CHECK(value(fit, "start") == doctest::Approx(5).epsilon(1e-3));
  CHECK(value(fit, "rate of an SM") == doctest::Approx(6000).epsilon(1e-3));
  CHECK(value(fit, "reading B (NK)") == doctest::Approx(3000).epsilon(1e-2));
  CHECK(has_note(fit, "tiles of 128 x 128"));
  CHECK(errors_of(fit, false).most < 1e-3);
}

TEST_CASE("products: tiles that are no powers of two are found, as an H200 used them") {
  const std::pair<double, double> tiles[] = {{192, 128}, {128, 192}, {320, 128}};
  for (const auto& [rows, columns] : tiles) {
    const MadeUpGpu gpu{.tile_rows = rows, .tile_columns = columns};
    const DeviceFit fit = fit_products(probes(gpu.products()), hundred_draws);
    CAPTURE(rows);
    CAPTURE(columns);
    CHECK(has_note(fit, fmt::format("tiles of {} x {},", rows, columns).c_str()));
    CHECK(value(fit, "rate of an SM") == doctest::Approx(6000).epsilon(1e-3));
  }
}

// One of five intervals that hold the truth in 95 % of cases may miss it.
TEST_CASE("products: with noise of 2 %, the rate of an SM is within 2 %") {
  std::size_t held = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const MadeUpGpu gpu{.noise = 0.02, .seed = seed};
    const DeviceFit fit = fit_products(probes(gpu.products()), hundred_draws);
    CHECK(value(fit, "rate of an SM") == doctest::Approx(6000).epsilon(0.02));
    held += covers(fit, "rate of an SM", 6000);
    CHECK(errors_of(fit, false).mean < 0.02);
  }
  CHECK(held >= 4);
}

TEST_CASE("products of one shape are refused: operands cannot be told from work") {
  auto rows = MadeUpGpu().products();
  std::erase_if(rows, [](const ProfileRow& row) { return !says(row.point.shape, "m=1024 "); });
  CHECK(fit_products(probes(rows), hundred_draws)
            .refusal.starts_with("needs 8 products of 4 shapes, got 5 of 1;"));
}

TEST_CASE("transfers: latency and rate are found for each kind, within the noise") {
  for (const double noise : {0.0, 0.03}) {
    CAPTURE(noise);
    const MadeUpGpu gpu{.noise = noise};
    const auto fits = fit_transfers(probes(gpu.transfers()), hundred_draws);
    REQUIRE(fits.size() == 2);
    CHECK(fits[0].name == "copy");
    CHECK(fits[1].name == "transfer_paced on 4 SMs");
    CHECK(value(fits[0], "latency") == doctest::Approx(4).epsilon(1e-3 + noise));
    CHECK(value(fits[1], "latency") == doctest::Approx(2).epsilon(1e-3 + noise));
    CHECK(value(fits[1], "rate") == doctest::Approx(200).epsilon(1e-3 + noise));
    CHECK(covers(fits[1], "rate", 200));
  }
}

TEST_CASE("transfers: links that share the SMs of an engine have a rate of their own") {
  const auto fits = fit_transfers(probes(MadeUpGpu().transfers({1, 2, 4})), hundred_draws);
  REQUIRE(fits.size() == 4);
  CHECK(fits[1].name == "transfer_paced on 4 SMs");
  CHECK(fits[2].name == "transfer_paced on 4 SMs, for 2 links");
  CHECK(value(fits[1], "rate") == doctest::Approx(200));
  CHECK(value(fits[2], "rate") == doctest::Approx(100));
  CHECK(value(fits[3], "rate") == doctest::Approx(50));
}

TEST_CASE("transfers of two sizes are refused, as are copies that nobody measured") {
  auto rows = MadeUpGpu().transfers();
  rows.resize(4);
  const auto fits = fit_transfers(probes(rows), hundred_draws);
  CHECK(fits[1].refusal.starts_with("needs 3 sizes, got 2;"));
  CHECK(fit_transfers({}, hundred_draws).front().refusal.starts_with("needs 3 sizes, got 0;"));
}

TEST_CASE("launches, nodes and stamps are lines, and a stamp costs more than an empty node") {
  const MadeUpGpu gpu{.noise = 0.02};
  const auto fits = fit_launches(probes(gpu.launches()), hundred_draws);
  REQUIRE(fits.size() == 4);
  CHECK(value(fits[0], "host time of a launch") == doctest::Approx(2.5).epsilon(0.02));
  CHECK(value(fits[1], "latency of an idle stream") == doctest::Approx(7).epsilon(0.05));
  CHECK(value(fits[2], "empty node") == doctest::Approx(1.25).epsilon(0.02));
  CHECK(value(fits[3], "stamp node") == doctest::Approx(2).epsilon(0.02));
  CHECK(value(fits[3], "stamp beyond an empty node") == doctest::Approx(0.75).epsilon(0.1));
  CHECK(fit_launches({}, hundred_draws)[2].refusal.starts_with("needs 2 numbers of nodes, got 0;"));
}

TEST_CASE("clock: its frequency, and how much slower it is beside busy ranks") {
  const MadeUpGpu gpu{.noise = 0.002};
  const DeviceFit fit = fit_clock(probes(gpu.clocks()), hundred_draws);
  CHECK(value(fit, "clock without busy ranks") == doctest::Approx(1700).epsilon(0.005));
  CHECK(value(fit, "slower beside each busy rank") == doctest::Approx(3).epsilon(0.1));
  CHECK(value(fit, "step of the GPU clock") == doctest::Approx(32).epsilon(0.01));
  CHECK(fit_clock({}, hundred_draws)
            .refusal.starts_with("needs cycles beside 2 numbers of busy ranks, got 0;"));
}

// Two neighbours on 32 SMs ask for 3 x 1920 bytes per ns: 2.4 times what there is.
TEST_CASE("interference: bandwidth and clock are found from at most two neighbours") {
  const MadeUpGpu gpu;
  const DeviceFit fit = fit_interference(probes(gpu.pairs()), hundred_draws);
  CHECK(value(fit, "memory bandwidth") == doctest::Approx(2400).epsilon(1e-3));
  CHECK(value(fit, "slower beside each busy rank") == doctest::Approx(3).epsilon(1e-2));
  CHECK(errors_of(fit, false).most < 1e-3);
  const ErrorSummary predicted = errors_of(fit, true);
  CHECK(predicted.count == 4 + 4 * 5);  // 3 of 4 ranks; 3 to 7 of 8
  CHECK(predicted.most < 1e-3);
  CHECK(has_note(fit, "no pair is off by more than 5 %"));
}

TEST_CASE("interference: with noise of 2 %, more neighbours are predicted within the noise") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const MadeUpGpu gpu{.noise = 0.02, .seed = seed};
    const DeviceFit fit = fit_interference(probes(gpu.pairs()), hundred_draws);
    CHECK(value(fit, "memory bandwidth") == doctest::Approx(2400).epsilon(0.02));
    CHECK(covers(fit, "memory bandwidth", 2400));
    CHECK(errors_of(fit, true).mean < 0.02);
    CHECK(errors_of(fit, true).most < most_unmodelled);
  }
}

TEST_CASE("interference that bandwidth does not explain is reported, and stays out of the fit") {
  const MadeUpGpu gpu{.noise = 0.005, .hidden_slow_down = 1.3, .hidden_from = 3};
  const DeviceFit fit = fit_interference(probes(gpu.pairs()), hundred_draws);
  CHECK(value(fit, "memory bandwidth") == doctest::Approx(2400).epsilon(0.01));
  // 3 of 4 ranks; 3 to 7 of 8, that all move bytes.
  CHECK(has_note(fit, "L2 interference, unmodelled: 6 of "));
  CHECK(has_note(fit, "bytes beside") == false);
  CHECK(errors_of(fit, true).bias < -0.04);
}

TEST_CASE("interference: without too much demand, bandwidth is only known to be enough") {
  const MadeUpGpu gpu{.bytes_of_sm = 10};
  const DeviceFit fit = fit_interference(probes(gpu.pairs()), hundred_draws);
  CHECK(number_of(fit, "memory bandwidth") == nullptr);
  CHECK(has_note(fit, "at least 1280 GB/s"));  // twice 10 bytes per ns on 64 SMs
  CHECK(errors_of(fit, true).most < 1e-3);
}

TEST_CASE("interference without measurements alone, or only in part beside others, is refused") {
  auto rows = MadeUpGpu().pairs();
  for (ProfileRow& row : rows) {
    if (row.point.condition != "solo") row.point.condition += " in part";
  }
  const DeviceFit in_part = fit_interference(probes(rows), hundred_draws);
  CHECK(in_part.refusal.starts_with("needs 4 pairs with at most 2 neighbours, got 0;"));
  CHECK(has_note(in_part, "did not run during the whole measurement"));
  rows = MadeUpGpu().pairs();
  std::erase_if(rows, [](const ProfileRow& row) { return row.point.condition == "solo"; });
  CHECK(has_note(fit_interference(probes(rows), hundred_draws), "not measured alone"));
}

// Six numbers of six GPUs each. Of 36 intervals that hold the truth in 95 % of cases, fewer than 31
// do in 1 % of cases.
TEST_CASE("intervals of few points hold the truth as often as they say") {
  constexpr BootstrapPlan usual{.seed = 3};
  std::size_t held = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const MadeUpGpu gpu{.noise = 0.03, .seed = seed};
    const auto launches = fit_launches(probes(gpu.launches()), usual);
    const DeviceFit transfer = fit_transfers(probes(gpu.transfers()), usual).back();
    held += covers(launches[0], "host time of a launch", 2.5);
    held += covers(launches[1], "latency of an idle stream", 7);
    held += covers(launches[2], "empty node", 1.25);
    held += covers(launches[3], "stamp node", 2);
    held += covers(transfer, "latency", 2);
    held += covers(transfer, "rate", 200);
  }
  CHECK(held >= 31);
}

TEST_CASE("all properties are fitted, or refused with a reason, whatever rows there are") {
  for (const auto& rows : {MadeUpGpu().all(), std::vector<ProfileRow>{}}) {
    const auto fits = fit_device(device_probes(rows), {.seed = 1, .draws = 20});
    CHECK(fits.size() >= 10);
    for (const DeviceFit& fit : fits) {
      CAPTURE(fit.name);
      CHECK(fit.refusal.empty() != rows.empty());
      CHECK(fit.numbers.empty() == rows.empty());
    }
  }
}

}  // namespace penstock::testing
