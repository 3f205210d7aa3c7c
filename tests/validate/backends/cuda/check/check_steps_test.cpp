#include "validate/backends/cuda/check/check_steps.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "tests/support/fake_gpu.hpp"
#include "tests/support/scratch.hpp"
#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"

namespace penstock::testing {
namespace {

/// A check of a fake GPU, and the folder that it writes.
struct FakeCheck {
  FakeGpu& gpu;
  Scratch folder = {};
  GpuCalls calls = gpu.calls();
  CheckOutput output{folder.path("out")};
  CheckRun run{calls, output, {}, true};

  /// Pipelines of layers take their time, and compute nothing.
  void run_step(const CheckStep& step) const {
    const std::uint64_t usual = gpu.most_work;
    if (std::string(step.name).starts_with("layer_")) gpu.most_work = 0;
    step.run(run);
    gpu.most_work = usual;
  }
  std::vector<nlohmann::json> lines_of(const char* file) const {
    std::vector<nlohmann::json> lines;
    std::ifstream in(folder.path("out/") + file);
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
};

/// F and B of each of two ranks.
NamedProgram with_stages() {
  NamedProgram named{"two", one_f_one_b({.ranks = 2, .microbatches = 2, .forward_ns = 100})};
  for (GpuTask& task : named.program.tasks) {
    if (!named.program.is_transfer(task)) task.body = 2 * task.lane + task.body;
  }
  for (const GpuPass pass :
       {GpuPass::forward, GpuPass::backward, GpuPass::forward, GpuPass::backward}) {
    named.program.bodies.push_back({.pass = pass});
  }
  return named;
}

}  // namespace

TEST_CASE("gpu check: every step runs on a GPU of 132 SMs, and leaves lines of JSON") {
  FakeGpu gpu;
  FakeCheck check{gpu};
  check.run.programs = {with_stages()};
  for (const CheckStep& step : check_steps()) {
    CAPTURE(step.name);
    check.run_step(step);
    CHECK(gpu.handed_out.empty());
  }
  CHECK(check.output.wrong_facts() == 0);
  std::map<std::string, int> facts;
  for (const auto& fact : check.lines_of("facts.jsonl")) {
    ++facts[fact.at("about")];
    if (fact.at("about") == "layer") CHECK(fact.at("error") == 0);
    if (fact.at("about") != "pipeline") continue;
    CAPTURE(fact.dump());
    CHECK(fact.at("wrong_transfers") == 0);
    CHECK(fact.at("sms_in_several_ranks") == 0);
    if (fact.at("links") == "paced") {
      // A whole number of products takes about the time that was asked for.
      CHECK(fact.at("median_over_longest_path").get<double>() == doctest::Approx(1).epsilon(0.01));
    }
  }
  CHECK(facts["device"] == 1);
  CHECK(facts["partition"] == 6);
  // Pipelines, programs, bodies, products, bounce; layers: pipelines and programs.
  const int kinds = static_cast<int>(layer_kinds().size());
  CHECK(facts["pipeline"] == 12 + 3 + 4 + 2 + 2 + 2 * kinds + 2);
  CHECK(facts["layer"] == 3 * kinds);
  CHECK(facts["block floating point"] == 3);
  std::set<std::string> kernels;
  bool whole_card = false;
  for (const auto& times : check.lines_of("probes.jsonl")) {
    CHECK_FALSE(times.at("samples_ns").empty());
    // Products of a rank alone have all SMs, no part of them.
    const std::string shape = times.at("shape");
    if (times.at("kernel") == "product") whole_card |= shape.ends_with(" sms=132");
    kernels.insert(times.at("kernel").get<std::string>() + ", " +
                   times.at("condition").get<std::string>().substr(0, 10));
  }
  CHECK(whole_card);
  for (const char* one :
       {"graph, solo", "flops, solo", "bytes, solo", "flops, pair:bytes", "bytes, pair:bytes",
        "bfp, solo", "transfer_host, solo", "transformer, solo", "gated_transformer, solo",
        "convolution, solo", "conditional_convolution, solo"}) {
    CAPTURE(one);
    CHECK(kernels.contains(one));
  }
}

TEST_CASE("gpu check: what fails or is wrong is counted, though a step goes on to its end") {
  FakeGpu gpu;
  const FakeCheck check{gpu};
  gpu.most_work = 0;  // layers compute nothing
  check_layers(check.run);
  std::uint64_t wrong = 0;
  for (const auto& fact : check.lines_of("facts.jsonl")) {
    if (fact.at("about") == "layer" && !fact.at("right").get<bool>()) ++wrong;
  }
  CHECK(wrong >= layer_kinds().size());
  CHECK(check.output.wrong_facts() == wrong);
  const NamedProgram named = with_stages();
  const GpuDevice device(check.calls, named.program.ranks, named.program.links);
  gpu.capture_error = 801;
  record_program(check.run, device, named, {.ordering = GpuOrdering::graph});
  CHECK(check.output.wrong_facts() == wrong + 1);
  CHECK(check.lines_of("facts.jsonl").back().at("about") == "fault");
}

// The fake GPU runs what neighbours do in no time that others lose: pairs take what one takes
// alone.
TEST_CASE("gpu check: a GPU without green contexts is measured too, and says so") {
  FakeGpu gpu;
  gpu.has_green_contexts = false;
  const FakeCheck check{gpu};
  for (const CheckStep& step : check_steps()) check.run_step(step);
  for (const auto& fact : check.lines_of("facts.jsonl")) {
    if (fact.contains("mode")) CHECK(fact.at("mode") == "streams_unpartitioned");
  }
  // Nothing holds a rank to a share of the SMs.
  for (const auto& times : check.lines_of("probes.jsonl")) {
    const std::string kernel = times.at("kernel"), shape = times.at("shape");
    if (kernel != "product" && kernel != "transformer") continue;
    CHECK(shape.find(" sms=132") != std::string::npos);
  }
}

// An H200's host takes 4 µs for a launch: 40 µs for ten, which take no time themselves.
TEST_CASE("gpu check: what is timed does not wait for the host") {
  FakeGpu gpu;
  gpu.issue_ns = 4000;
  FakeCheck check{gpu};
  check.run.quick = false;
  const GpuDevice device(check.calls, 1, 0);
  const auto ten_launches = [&](GpuStream stream) {
    for (int i = 0; i < 10; ++i) CHECK(check.calls.launch_nothing(stream) == 0);
  };
  for (const auto lane : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(0)}) {
    for (const double ns : timed(check.run, device, lane, ten_launches)) CHECK(ns == 0);
  }
}

TEST_CASE("gpu check: a product that the library refuses is said, and the next is measured") {
  FakeGpu gpu;
  gpu.most_product_rows = 63;
  const FakeCheck check{gpu};
  check_products(check.run);
  int faults = 0;
  for (const auto& fact : check.lines_of("facts.jsonl")) {
    if (fact.at("about") != "product") continue;
    const std::string fault = fact.at("fault");
    faults += fault.find("CUBLAS_STATUS_NOT_SUPPORTED (20015)") != std::string::npos ? 1 : 0;
  }
  CHECK(faults == 5);  // of 1, 2, 4, 8 and 16 ranks
}

TEST_CASE("gpu check: texts and numbers are JSON") {
  CHECK(json("a \"b\"\n\\") == "\"a \\\"b\\\" \\\\\"");
  CHECK(json(1.5) == "1.5");
  CHECK(json(std::vector<std::uint64_t>{1, 2}) == "[1, 2]");
  CHECK(json(true) == "true");
}

}  // namespace penstock::testing
