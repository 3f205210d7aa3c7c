#include "validate/calibration/kernel_sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "validate/calibration/kernel_model.hpp"
#include "validate/calibration/term_model.hpp"
#include "validate/probes/registry.hpp"
#include "validate/statistics/bootstrap.hpp"

namespace penstock::testing {
namespace {

/// A sweep whose samples follow a rule, without a machine.
template <class Rule>
Sweep made_up(Rule rule) {
  Sweep swept;
  for (const SweepPoint& point : sweep_points(1)) {
    const double ns = rule(point);
    swept.points.push_back({point, {ns, ns, ns}});
  }
  return swept;
}

/// Products take 500 ns and 0.04 for each multiplication; everything else 100 ns and half of its
/// second term, the work.
double simple_rule(const SweepPoint& point) {
  const KernelPoint& kernel = point.kernel;
  if (kernel.kernel != "gemm") {
    return 100 + 0.5 * terms_at(kernel.kernel, kernel.pass, point.sizes)[1];
  }
  return 500 + 0.04 * point.sizes.at("m") * point.sizes.at("n") * point.sizes.at("k");
}

const KernelCalibration& of(const std::vector<KernelCalibration>& all, std::string_view kernel) {
  return *std::find_if(all.begin(), all.end(),
                       [&](const KernelCalibration& one) { return one.model.kernel == kernel; });
}

}  // namespace

// Small sizes, each kernel once.
TEST_CASE("kernels: each probe runs and takes some time, as often as it is asked to") {
  const std::map<std::string, std::string> shapes{{"gemm", "k=3 m=2 n=4"},
                                                  {"copy", "bytes=64"},
                                                  {"handover", "bytes=64"},
                                                  {"busy", "ns=1000"},
                                                  {"launch", "threads=2"},
                                                  {"bfp", "values=33"},
                                                  {"outlier-bfp", "values=33"},
                                                  {"nonuniform-bfp", "values=33"},
                                                  {"canary", ""},
                                                  {"clock", ""}};
  for (const ProbeEntry* probe : probe_entries()) {
    CAPTURE(probe->name);
    const std::string name(probe->name);
    REQUIRE(shapes.contains(name));
    const auto samples = sample_kernel({name, "", shapes.at(name), "solo"}, 3);
    REQUIRE(samples);
    CHECK(samples->size() == 3);
    for (const double sample : *samples) CHECK(sample > 0);
  }
}

TEST_CASE("kernels: what is unknown, or no size of a kernel, is not run") {
  const auto runs = [](const char* kernel, const char* shape, const char* pass = "") {
    return sample_kernel({kernel, pass, shape, "solo"}, 1).has_value();
  };
  CHECK(runs("copy", "bytes=8"));
  CHECK_FALSE(runs("copy", "bytes=8", "forward"));
  CHECK_FALSE(runs("copies", "bytes=8"));
  CHECK_FALSE(runs("copy", ""));
  CHECK_FALSE(runs("copy", "bytes=0"));
  CHECK_FALSE(runs("copy", "bytes=1e18"));
  CHECK_FALSE(runs("copy", "bytes=1.5"));
  CHECK_FALSE(runs("copy", "bytes=8 words=1"));
  CHECK_FALSE(runs("gemm", "k=1e9 m=1 n=1"));
}

TEST_CASE("kernels: passes of layers run by themselves, each kind that has a kernel") {
  const std::vector<std::pair<std::string, std::string>> shapes{
      {"norm", "examples=1 hidden=8 sequence=4"},
      {"mlp", "examples=2 hidden=8 intermediate=16 sequence=4"},
      {"mlp", "hidden=8 intermediate=16 tokens=4"},
      {"attention", "examples=1 heads=2 hidden=8 sequence=4"},
      {"embedding", "examples=1 hidden=8 sequence=4 vocab=16"},
      {"head", "examples=1 hidden=8 sequence=4 vocab=16"},
      {"conv", "channels_in=2 channels_out=3 examples=1 height=4 kernel=3 width=4"}};
  for (const auto& [kind, shape] : shapes) {
    for (const char* pass : {"forward", "backward", "backward_input", "backward_weight"}) {
      CAPTURE(kind);
      CAPTURE(pass);
      const auto samples = sample_kernel({kind, pass, shape, "solo"}, 2);
      REQUIRE(samples);
      CHECK(samples->size() == 2);
    }
  }
}

TEST_CASE("kernels: passes that are none, and layers that are too large, are not run") {
  const auto runs = [](const char* kind, const char* pass, const char* shape) {
    return sample_kernel({kind, pass, shape, "solo"}, 1).has_value();
  };
  CHECK(runs("mlp", "forward", "examples=1 hidden=8 intermediate=8 sequence=2"));
  CHECK_FALSE(runs("mlp", "recompute", "examples=1 hidden=8 intermediate=8 sequence=2"));
  CHECK_FALSE(runs("mlp", "forward", "hidden=8 intermediate=8"));
  CHECK_FALSE(runs("mlp", "forward", "examples=1 hidden=8 sequence=2"));
  CHECK_FALSE(runs("mlp", "forward", "examples=1 hidden=1e9 intermediate=1e9 sequence=2"));
  CHECK_FALSE(runs("mlp", "forward", "examples=1e9 hidden=64 intermediate=8 sequence=1e6"));
  CHECK_FALSE(runs("mlp", "forward", "examples=0.5 hidden=8 intermediate=8 sequence=2"));
  CHECK_FALSE(runs("moe", "forward", "examples=1 hidden=8 sequence=2"));
  CHECK_FALSE(runs("sorting", "forward", "examples=1"));
}

// An mlp of 4 numbers and 8 between, for 2 examples of 3 tokens: 6 x 4 x 8 products there and back,
// of two FLOPs each.
TEST_CASE("kernel terms: the FLOPs of a pass, and of a layer's other kernels the bytes") {
  const NamedNumbers sizes{{"hidden", 4}, {"intermediate", 8}, {"examples", 2}, {"sequence", 3}};
  const auto terms = [&](const char* pass) { return terms_at("mlp", pass, sizes); };
  REQUIRE(terms("forward").size() == term_names("mlp", "forward").size());
  for (const char* pass : {"forward", "backward_input", "backward_weight"}) {
    CHECK(terms(pass)[1] == doctest::Approx(2 * 2 * 6 * 4 * 8));
  }
  CHECK(terms("backward")[1] == doctest::Approx(2 * terms("forward")[1]));
  CHECK(terms("forward")[3] > 0);
  CHECK(terms("backward_weight")[3] == 0);
}

// The ends of what is inside are trained on, so that what is held out inside lies between.
TEST_CASE("sweep: the seed alone says what is held out, and that lies inside or beyond") {
  const std::vector<SweepPoint> points = sweep_points(1);
  CHECK(split_hash(points) == split_hash(sweep_points(1)));
  CHECK(split_hash(points) != split_hash(sweep_points(2)));
  for (const char* kernel : {"copy", "handover", "busy", "launch"}) {
    CAPTURE(kernel);
    std::map<DataPart, std::set<double>> sizes;
    for (const SweepPoint& point : points) {
      if (point.kernel.kernel != kernel) continue;
      sizes[point.part].insert(point.sizes.begin()->second);
    }
    REQUIRE(sizes[DataPart::training].size() >= 2);
    const double least = *sizes[DataPart::training].begin();
    const double most = *sizes[DataPart::training].rbegin();
    for (const double size : sizes[DataPart::interpolation]) {
      CHECK(size > least);
      CHECK(size < most);
    }
    for (const double size : sizes[DataPart::extrapolation]) CHECK(size > most);
  }
}

// Two points for so short a time that only the least rounds are run: of 5 samples the first is
// dropped.
TEST_CASE("sweep: each point is sampled each round, and the first quarter is dropped") {
  std::vector<SweepPoint> points(2);
  points[0].kernel = {"busy", "", "ns=1000", "solo"};
  points[1].kernel = {"copy", "", "bytes=64", "solo"};
  const Sweep swept = sweep(points, 1, {.seconds = 0, .least_rounds = 5, .most_rounds = 9});
  CHECK(swept.rounds == 5);
  CHECK(swept.canary_ns.size() == 5);
  CHECK(swept.clock_ns.size() == 5);
  REQUIRE(swept.points.size() == 2);
  for (const SweptPoint& point : swept.points) CHECK(point.samples_ns.size() == 4);
  CHECK(swept.points[1].point.kernel == points[1].kernel);
}

TEST_CASE("kernel models: a rule without noise is found, and predicts what was held out") {
  const auto all = calibrate_kernels(made_up(simple_rule), {.seed = 1, .draws = 60});
  REQUIRE(all.size() == 14);
  for (const KernelCalibration& one : all) {
    CAPTURE(one.model.kernel);
    CHECK(errors_of(one.points, DataPart::interpolation).most < 1e-6);
    CHECK(errors_of(one.points, DataPart::extrapolation).most < 1e-6);
    CHECK(one.simple.most < 1e-6);
    CHECK(one.model.curve.has_value() == false);
  }
  const TermModel& products = of(all, "gemm").model.terms;
  CHECK(products.coefficients[0] == doctest::Approx(500).epsilon(1e-6));
  CHECK(products.coefficients[1] == doctest::Approx(0.04).epsilon(1e-6));
  CHECK(model_of(all, "busy")->at({{"ns", 1000}}) == doctest::Approx(600));
  CHECK(model_of(all, "sorting") == nullptr);
}

// Beyond 4 KiB and 64 KiB a byte takes longer, as where caches end: no one line fits that.
TEST_CASE("kernel models: copies get pieces where a line does not fit") {
  const auto swept = made_up([](const SweepPoint& point) {
    if (point.kernel.kernel != "copy") return simple_rule(point);
    const double n = point.sizes.at("bytes");
    return 50 + 0.02 * n + 0.05 * std::max(0.0, n - 4096) + 0.2 * std::max(0.0, n - 65536);
  });
  const auto all = calibrate_kernels(swept, {.seed = 1, .draws = 30});
  const KernelCalibration& copies = of(all, "copy");
  CHECK(copies.model.form() != "terms");
  CHECK(errors_of(copies.points, DataPart::interpolation).mean < 0.05);
  CHECK(copies.simple.mean > 2 * errors_of(copies.points, DataPart::interpolation).mean);
}

// Every point of a draw takes up to 5 % more or less: intervals of nine in ten should hold most of
// what was held out.
TEST_CASE("kernel models: intervals hold about as much of what was held out as they say") {
  std::uint32_t place = 0;
  const auto swept = made_up([&](const SweepPoint& point) {
    const double noise = drawn_number(3, "noise", 0, place++, 1001) / 1000.0 - 0.5;
    return simple_rule(point) * (1 + 0.1 * noise);
  });
  const auto all = calibrate_kernels(swept, {.seed = 1, .draws = 200});
  int held = 0, count = 0;
  for (const KernelPrediction& point : of(all, "gemm").points) {
    CHECK(point.interval_ns.low <= point.interval_ns.high);
    if (point.point.part == DataPart::training) continue;
    ++count;
    held += point.interval_ns.covers(point.measured.median) ? 1 : 0;
  }
  CHECK(count >= 12);
  CHECK(held >= 0.7 * count);
}

}  // namespace penstock::testing
