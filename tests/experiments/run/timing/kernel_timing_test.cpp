#include "experiments/run/timing/kernel_timing.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/run/timing/questions.hpp"
#include "hardware_models/times/roofline_time.hpp"
#include "sim/base/error.hpp"
#include "tests/support/program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

// One kernel alone. The device computes 1e12 FLOP/s in bf16, twice that in fp8, reads 1e11 bytes/s,
// and a kernel costs 2 µs.

namespace penstock::testing {
namespace {

using nlohmann::json;

Device plain_device() {
  return {.name = "plain",
          .peak_flops = {{"bf16", 1e12}, {"fp8", 2e12}, {"fp32", 1e11}},
          .memory_bandwidth_bytes_per_s = 1e11,
          .attention = {{"fast", false, 128, {{1, 0.5}}}, {"fast", true, 128, {{1, 0.25}}}},
          .power_watts = 1000,
          .kernel_us = 2};
}

KernelTiming timed_on_plain(const KernelQuestion& question) {
  return time_kernel(plain_device(), question);
}

KernelQuestion product(double rows, double columns, double inner, std::string dtype = "bf16") {
  return {"product", {{"rows", rows}, {"columns", columns}, {"inner", inner}}, std::move(dtype)};
}

}  // namespace

TEST_CASE("kernel: a large product takes its FLOPs over the peak") {
  const KernelTiming timing = timed_on_plain(product(1000, 1000, 1000));
  CHECK(timing.kernel.flops == 2e9);
  CHECK(timing.us == doctest::Approx(2e9 / 1e12 * 1e6 + 2));
  CHECK(timing.peak_flops_per_s == 1e12);
}

TEST_CASE("kernel: a product with one row takes the bytes of its weights") {
  const KernelTiming timing = timed_on_plain(product(1, 1000, 1000));
  CHECK(timing.kernel.bytes == 2 * (1000 + 1e6 + 1000));
  CHECK(timing.us == doctest::Approx(timing.kernel.bytes / 1e11 * 1e6 + 2));
}

TEST_CASE("kernel: narrowed factors have a byte each and no cast, the result two") {
  const KernelTiming timing = timed_on_plain(product(1000, 500, 2000, "fp8"));
  CHECK(timing.kernel.bytes == 1000 * 2000 + 2000 * 500 + 2 * 1000 * 500);
  CHECK(timing.us == doctest::Approx(2.0 * 1000 * 500 * 2000 / 2e12 * 1e6 + 2));
}

TEST_CASE("kernel: attention has half the FLOPs under a mask, and backward 2.5 times as many") {
  KernelQuestion question{"attention", {{"sequence", 1024}, {"heads", 16}, {"batch", 2}}};
  question.attention = "fast";
  const double all = 4.0 * 1024 * 1024 * 16 * 128 * 2;
  CHECK(timed_on_plain(question).kernel.flops == all / 2);
  CHECK(timed_on_plain(question).us == doctest::Approx(all / 2 / 0.5e12 * 1e6 + 2));
  question.sizes["causal"] = 0;
  CHECK(timed_on_plain(question).kernel.flops == all);
  question.sizes["backward"] = 1;
  CHECK(timed_on_plain(question).us == doctest::Approx(2.5 * all / 0.25e12 * 1e6 + 2));
}

TEST_CASE("kernel: attention stays in bf16 where products narrow, as in runs") {
  KernelQuestion question{"attention", {{"sequence", 1024}, {"heads", 16}}};
  question.attention = "fast";
  const KernelTiming wide = timed_on_plain(question);
  for (const char* recipe : {"fp8", "fp8-block", "mxfp8", "nvfp4"}) {
    CAPTURE(recipe);
    question.dtype = recipe;
    const KernelTiming narrow = timed_on_plain(question);
    CHECK(narrow.precision == "bf16");
    CHECK(narrow.kernel == wide.kernel);
    CHECK(narrow.us == wide.us);
    CHECK(narrow.peak_flops_per_s == wide.peak_flops_per_s);
    CHECK(narrow.notes == std::vector<std::string>{"attention runs in bf16"});
  }
}

TEST_CASE("kernel: a stream moves its bytes once, whatever passes other kernels make") {
  KernelQuestion question{"stream", {{"bytes", 1e9}}};
  question.shares.vector_passes = 3;
  CHECK(timed_on_plain(question).us == doctest::Approx(1e9 / 1e11 * 1e6 + 2));
  CHECK(timed_on_plain(question).notes.empty());
  question.dtype = "fp8";
  CHECK(timed_on_plain(question).notes == std::vector<std::string>{"stream runs in bf16"});
}

TEST_CASE("kernel: a power cap slows matrix units by its cube root") {
  KernelQuestion question = product(1000, 1000, 1000);
  question.watts = 125;
  CHECK(timed_on_plain(question).us == doctest::Approx(2e9 / 0.5e12 * 1e6 + 2));
}

TEST_CASE(
    "kernel: a device without units of a precision computes in the next wider one, and says so") {
  Device device = plain_device();
  CHECK(time_kernel(device, product(8, 8, 8, "fp8")).precision == "fp8");
  CHECK(time_kernel(device, product(8, 8, 8, "fp8-block")).precision == "fp8");
  CHECK(other_units_text(device, "fp8-block").empty());
  device.peak_flops.erase("fp8");
  CHECK(time_kernel(device, product(8, 8, 8, "fp8")).precision == "bf16");
  CHECK(other_units_text(device, "bf16").empty());
  CHECK(
      other_units_text(device, "fp8") ==
      "plain has no fp8 units: matrix products are priced, and MFU is counted, at its bf16 peak of "
      "1 TFLOP/s");
  const Desk desk;
  const std::vector<std::string> asked{"kernel",  "product",    "--hardware", "a100-sxm4-80gb",
                                       "--dtype", "fp8",        "--set",      "rows=64",
                                       "--set",   "columns=64", "--set",      "inner=64"};
  CHECK(says(desk.run(asked).output, "\nnote: a100-sxm4-80gb has no fp8 units: "));
  CHECK(desk.json_of(asked)["precision"] == "bf16");
}

TEST_CASE("kernel: a power cap is from 1 W to 1 MW; 0 in a document is none") {
  const Desk desk;
  const Catalogue catalogue = read_catalogue();
  json question = {{"hardware", "dgx-h100"},
                   {"kernel", {{"kind", "stream"}, {"sizes", {{"bytes", 1e9}}}}}};
  const json uncapped = timed(catalogue, question);
  const auto accepts = [&](const char* watts) {
    question["kernel"]["watts"] = json::parse(watts);
    const bool taken = refused_with<InputError>([&] { timed(catalogue, question); }) == "accepted";
    const ProgramRun run = desk.run(
        {"kernel", "stream", "--hardware", "dgx-h100", "--set", "bytes=1e9", "--watts", watts});
    CHECK(run.code == (taken ? 0 : 2));
    return taken;
  };
  CHECK(accepts("1"));
  CHECK(accepts("1000000"));
  CHECK(!accepts("-5"));
  CHECK(!accepts("1000001"));
  CHECK(!accepts("1e9"));
  question["kernel"]["watts"] = 0;
  CHECK(timed(catalogue, question)["us"] == uncapped["us"]);
}

TEST_CASE("kernel: what is unknown is refused at its place") {
  const auto place = [](const KernelQuestion& question) -> std::string {
    try {
      timed_on_plain(question);
    } catch (const InputError& error) {
      return error.where();
    }
    return "none";
  };
  CHECK(place({"prodct", {}}) == "/kind");
  CHECK(place({"product", {{"rows", 1}}}) == "/sizes/columns");
  CHECK(place({"product", {{"row", 1}}}) == "/sizes/row");
  CHECK(place({"stream", {{"bytes", 1}}, "bf16", "slow"}) == "/attention");
  CHECK(place(product(8, 8, 8, "fp16")) == "none");
}

TEST_CASE("timing: a document asks for a kernel or a collective") {
  const Catalogue catalogue = read_catalogue();
  const json kernel = {{"hardware", "dgx-h100"},
                       {"kernel", {{"kind", "stream"}, {"sizes", {{"bytes", 1e9}}}}}};
  const json of_device = {{"hardware", "h100-sxm5-80gb"}, {"kernel", kernel["kernel"]}};
  CHECK(timed(catalogue, kernel)["us"] == timed(catalogue, of_device)["us"]);
  const json collective = {
      {"hardware", "dgx-h100"},
      {"collective", {{"kind", "all_gather"}, {"bytes", 4e9}, {"devices", 8}}}};
  const auto answer = timed(catalogue, collective);
  REQUIRE(answer["algorithms"].size() == 1);
  CHECK(answer["algorithms"][0]["name"] == answer["quickest"]);
  CHECK_THROWS_WITH_AS(timed(catalogue, {{"hardware", "dgx-h100"}}),
                       "expected \"kernel\" or \"collective\"", InputError);
  CHECK_THROWS_AS(timed(catalogue, {{"hardware", "dgx-h1"}, {"kernel", kernel["kernel"]}}),
                  InputError);
}

}  // namespace penstock::testing
