#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/measure/gpu_probes/device_report.hpp"
#include "sim/base/error.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/made_up_gpu.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/gpu/gpu_backend.hpp"

namespace penstock::testing {
namespace {

/// What the check writes on the fake GPU: the program that writes, and the one that reads.
std::string measured_folder(const Scratch& scratch) {
  const std::string folder = scratch.path("out");
  FakeGpu gpu;
  gpu.engine_ns = 1000;
  const CheckOutput output(folder);
  const CheckRun run{gpu.calls(), output, {}, true};
  for (const CheckStep& step : check_steps()) step.run(run);
  return folder;
}

constexpr const char* device_fact =
    R"({"about": "device", "device": "fake GPU", "cc": "9.0", "sms": 132, "cuda": 13000, )"
    R"("cudart": 12060, "driver": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue", )"
    R"("system": "Linux version 6.1.0-18-amd64 (a@b) #1", "cpu": "Xeon"})";

constexpr const char* one_probe =
    R"({"kernel": "bytes", "pass": "", "shape": "bytes=65536 sms=8", "condition": "solo", )"
    R"("measured_at": "2026-11-20T12:00:00Z", "samples_ns": [1, 2, 3, 2, 1]})";

/// The text of the error that reading gives, without the folder.
std::string refusal(const Scratch& scratch, const std::string& probes,
                    const std::string& facts = device_fact) {
  scratch.file("facts.jsonl", facts + "\n");
  const std::string path = scratch.file("probes.jsonl", probes);
  try {
    read_probes(path);
  } catch (const InputError& error) {
    const std::string text = error.what();
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    REQUIRE(text.starts_with(folder));
    return text.substr(folder.size());
  }
  return "read";
}

/// What is fitted to these rows.
DeviceReport report_of(const std::vector<ProfileRow>& rows, std::uint32_t draws) {
  const Today today{.environment = {}, .build = "", .date = rows.front().measured_at};
  return device_report(probe_rows(judged_probes("out", rows, today)), {.seed = 1, .draws = draws});
}

}  // namespace

TEST_CASE("probes: all that the check writes on a GPU is read, with its environment") {
  const Scratch scratch;
  const std::string folder = measured_folder(scratch);
  const std::vector<ProfileRow> rows = read_probes(folder);
  std::size_t lines = 0;
  std::ifstream in(folder + "/probes.jsonl");
  for (std::string line; std::getline(in, line);) ++lines;
  CHECK(rows.size() == lines);
  std::set<std::string> kernels;
  for (const ProfileRow& row : rows) kernels.insert(row.point.kernel);
  for (const char* kernel :
       {"bfp", "bytes", "clock", "clock_step", "copy", "flops", "graph", "launch_issue",
        "launch_round_trip", "product", "products", "stamp", "transfer_host", "transfer_paced"}) {
    CAPTURE(kernel);
    CHECK(kernels.contains(kernel));
  }
  const auto& environment = rows.front().environment;
  CHECK(environment.at("device") == "fake GPU");
  CHECK(environment.at("cc") == "9.0");
  CHECK(environment.at("sms") == "132");
  CHECK(environment.at("cudart") == "12.6");
  CHECK(environment.at("cublaslt") == "13.1.0");
  CHECK(environment.at("mode") == "green_contexts");
  const auto product = std::ranges::find_if(
      rows, [](const ProfileRow& row) { return row.point.kernel == "product"; });
  CHECK(product->build == "algorithm 7");
}

// The fake GPU takes 1 ns for a multiply-add of each of 1024 threads of an SM.
TEST_CASE("probes: fits find the speed of the fake GPU in what the check wrote") {
  const Scratch scratch;
  const DeviceReport report = report_of(read_probes(measured_folder(scratch)), 20);
  const auto fit = [&](std::string_view name) {
    return *std::ranges::find_if(report.fits,
                                 [&](const DeviceFit& one) { return one.name == name; });
  };
  const DeviceFit flops = fit("SM scaling of flops");
  REQUIRE(number_of(flops, "rate of an SM") != nullptr);
  CHECK(number_of(flops, "rate of an SM")->value == doctest::Approx(2048).epsilon(1e-3));
  const DeviceFit bytes = fit("SM scaling of bytes");
  REQUIRE(number_of(bytes, "rate of an SM") != nullptr);
  CHECK(number_of(bytes, "rate of an SM")->value == doctest::Approx(32).epsilon(1e-3));
  const DeviceFit clock = fit("SM clock");
  CHECK(number_of(clock, "clock without busy ranks")->value == doctest::Approx(2000));
  CHECK(fit("interference").refusal.empty());
  CHECK(fit("matrix products").refusal.starts_with("needs 8 products of 4 shapes, got 5 of 1;"));
  CHECK(fit("copy").refusal.starts_with("needs 3 sizes, got 1;"));
  const std::string text = device_report_text(report);
  CHECK(says(text, one_gpu_scope));
  CHECK(says(text, "matrix products: not fitted: "));
  CHECK(device_report_json(report)["scope"] == one_gpu_scope);
}

TEST_CASE("probes: on a GPU whose SMs were not split, what ran on parts of them is left out") {
  std::vector<ProfileRow> rows = MadeUpGpu().all();
  for (ProfileRow& row : rows) row.environment["mode"] = "streams_unpartitioned";
  const DeviceReport report = report_of(rows, 5);
  CHECK(report.on_parts > 100);
  CHECK(report.fits.front().refusal.starts_with("needs flops alone on 3 numbers of SMs, got 0;"));
  const std::string text = device_report_text(report);
  CHECK(text.starts_with("made-up GPU, 132 SMs, cc 9.0: "));
  CHECK(says(text, "on parts of the SMs left out: the driver did not split them\n"));
  CHECK(says(text, "graph nodes: t = start + each * nodes"));
}

// A store keeps both: the driver may have split the SMs in one run of the check and not in another.
TEST_CASE("probes: the measurements of split SMs stay when others were not split") {
  std::vector<ProfileRow> rows = MadeUpGpu().all();
  for (ProfileRow& row : rows) {
    const bool is_split = row.point.kernel == "flops";
    row.environment["mode"] = is_split ? "green_contexts" : "streams_unpartitioned";
  }
  const DeviceReport report = report_of(rows, 5);
  CHECK(report.on_parts > 50);
  CHECK(number_of(report.fits[0], "rate of an SM") != nullptr);
  CHECK(report.fits[1].refusal.starts_with("needs bytes alone on 3 numbers of SMs, got 0;"));
}

TEST_CASE("probes: wrong lines are named by file, line and place") {
  const Scratch scratch;
  const std::string good = std::string(one_probe) + "\n";
  CHECK(refusal(scratch, good) == "read");
  CHECK(refusal(scratch, good + "\n" + replaced(one_probe, "solo", "alone")) ==
        "probes.jsonl: line 3: /condition: \"alone\" is no condition; expected \"solo\" or "
        "\"pair:bytes x3\"");
  CHECK(refusal(scratch, good + replaced(one_probe, "sms=8", "sms=all")) ==
        "probes.jsonl: line 2: /shape: \"bytes=65536 sms=all\" is no shape; expected sizes by "
        "name: \"bytes=65536 sms=32\"");
  CHECK(refusal(scratch, replaced(one_probe, "[1, 2, 3", "[1, 2, null")) ==
        "probes.jsonl: line 1: /samples_ns/2: null is not a number from 0 to 1000000000000000");
  CHECK(refusal(scratch, replaced(one_probe, "[1, 2, 3, 2, 1]", "[]")) ==
        "probes.jsonl: line 1: /samples_ns: the list is empty; expected times in nanoseconds");
  CHECK(refusal(scratch, replaced(one_probe, "\"pass\"", "\"passes\"")) ==
        "probes.jsonl: line 1: /passes: unknown key; known: kernel, pass, shape, condition, "
        "samples_ns, measured_at");
  CHECK(refusal(scratch, replaced(one_probe, "2026-11-20T12", "yesterday")) ==
        "probes.jsonl: line 1: it was measured at \"yesterday:00:00Z\"; a time reads "
        "2026-11-21T18:40:00Z");
  CHECK(refusal(scratch, good + good.substr(0, 40) + "\n")
            .starts_with("probes.jsonl: line 2, column 4"));
  CHECK(refusal(scratch, "") ==
        "probes.jsonl: it has no measurements; penstock_gpu_check --all FOLDER writes them");
}

TEST_CASE("probes: a check that ended while it wrote a line leaves all others") {
  const Scratch scratch;
  const std::string good = std::string(one_probe) + "\n", fact = std::string(device_fact) + "\n";
  CHECK(refusal(scratch, good + good.substr(0, 40)) == "read");
  CHECK(read_probes(scratch.path("probes.jsonl")).size() == 1);
  scratch.file("facts.jsonl", fact + fact.substr(0, 40));
  CHECK(read_probes(scratch.path("probes.jsonl")).size() == 1);
}

TEST_CASE("probes: a product that the library refuses leaves the others their algorithms") {
  const Scratch scratch;
  FakeGpu gpu;
  gpu.most_product_rows = 63;
  const GpuCalls calls = gpu.calls();
  const CheckOutput output(scratch.path("out"));
  check_device({calls, output, {}, true});
  check_products({calls, output, {}, true});
  gpu.most_product_rows = 64;
  check_products({calls, output, {}, true});
  const std::vector<ProfileRow> rows = read_probes(scratch.path("out"));
  const auto is_product = [](const ProfileRow& row) { return row.point.kernel == "product"; };
  CHECK(std::ranges::count_if(rows, is_product) == 5);
  for (const ProfileRow& row : rows) CHECK((!is_product(row) || row.build == "algorithm 7"));
}

TEST_CASE("probes: facts must say of which machine they are, and of one alone") {
  const Scratch scratch;
  CHECK(refusal(scratch, one_probe, R"({"about": "step"})") ==
        "facts.jsonl: no line is about \"device\"; penstock_gpu_check --all FOLDER --step device "
        "adds it");
  CHECK(refusal(scratch, one_probe,
                std::string(device_fact) + "\n" + replaced(device_fact, "580.159", "570.86")) ==
        "facts.jsonl: line 2: driver is \"570.86.03\" here and \"580.159.03\" before; a folder is "
        "for one machine with one driver");
  CHECK(refusal(scratch, one_probe, replaced(device_fact, "132", "\"all\"")) ==
        "facts.jsonl: line 1: /sms: \"all\" is not a whole number from 0 to 100000000");
  CHECK(refusal(scratch, one_probe) == "read");
  const auto environment = read_probes(scratch.path("probes.jsonl")).front().environment;
  CHECK(environment.at("os") == "Linux 6.1.0-18-amd64");
  CHECK(environment.at("driver") == "580.159.03");
  CHECK(environment.at("cpu") == "Xeon");
}

TEST_CASE("probes: measurements are stored once, however often they are imported") {
  const Scratch scratch;
  ProfileStore store(scratch.path("gpu.profile"), ProfileStore::Access::create);
  const std::vector<ProfileRow> rows = MadeUpGpu().all();
  const AddedProbes first = add_probes(store, rows);
  CHECK(first.rows.size() + first.known == rows.size());
  const AddedProbes second = add_probes(store, rows);
  CHECK(second.rows.empty());
  CHECK(second.known == rows.size());
}

TEST_CASE("probes: a store with several GPUs asks which, one without any says what adds them") {
  const Scratch scratch;
  ProfileStore store(scratch.path("gpu.profile"), ProfileStore::Access::create);
  const Today today{.environment = {}, .build = "", .date = "2026-11-21T12:00:00Z"};
  const auto refused = [&](std::optional<std::int64_t> environment) {
    return refused_file(store.path(), [&] { probe_rows(judged_rows(store, today), environment); });
  };
  CHECK(refused({}).starts_with("it has no measurements of a GPU; penstock calibrate --import"));
  add_probes(store, MadeUpGpu().scaling());
  CHECK(refused({}) == "accepted");
  std::vector<ProfileRow> other = MadeUpGpu().scaling();
  for (ProfileRow& row : other) row.environment["device"] = "another GPU";
  add_probes(store, other);
  CHECK(refused({}) ==
        "it has measurements of several GPUs: environments 2 (cc 9.0, another GPU, sms 132), 1 "
        "(cc 9.0, made-up GPU, sms 132); choose one with --environment N");
  CHECK(refused(2) == "accepted");
  CHECK(refused(7).starts_with("environment 7 has no measurements of a GPU"));
}

TEST_CASE("the README of calibration says what a run on one GPU validates, in the same words") {
  const std::string readme =
      content_of(std::string(PENSTOCK_ROOT) + "/experiments/calibration/README.md");
  std::string plain;
  for (const char c : readme) plain += c == '\n' ? ' ' : c;
  CHECK(says(plain, one_gpu_scope));
}

TEST_CASE("calibrate --import adds rows to a store, and profile fit reports the same constants") {
  const Desk desk;
  const std::string folder = measured_folder(desk);
  const ProgramRun imported = desk.run({"calibrate", "--import", folder, "-o", "gpu.profile"});
  CAPTURE(imported.errors);
  REQUIRE(imported.code == 0);
  CHECK(says(imported.output, "SM scaling of flops: t = "));
  CHECK(says(imported.output, "rows added to gpu.profile: "));
  const auto document = desk.json_of({"profile", "fit", "gpu.profile"});
  CHECK(document["kind"] == "device");
  CHECK(document["environment"]["device"] == "fake GPU");
  CHECK(document["fits"][0]["numbers"][0]["value"].get<double>() ==
        doctest::Approx(2048).epsilon(1e-3));
  const ProgramRun again = desk.run({"calibrate", "--import", folder, "-o", "gpu.profile"});
  CHECK(again.code == 0);
  CHECK(says(again.errors, " already in gpu.profile"));
  CHECK(again.output.ends_with("\n0 rows added to gpu.profile\n"));
}

}  // namespace penstock::testing
