#include "experiments/starter/starter.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "experiments/planner/space/degrees.hpp"
#include "experiments/run/run.hpp"
#include "experiments/starter/small_starter.hpp"
#include "sim/base/error.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

std::string bundled_model(const std::string& name) {
  return std::string(PENSTOCK_ROOT) + "/experiments/models/" + name;
}

TrainingRequest request_for(const std::string& model, const std::string& hardware,
                            std::uint32_t devices) {
  return {.model = bundled_model(model), .hardware = hardware, .devices = devices};
}

/// Every section says what it is about.
void check_descriptions(const json& document) {
  for (const auto& [name, section] : document.items()) {
    CAPTURE(name);
    if (section.is_object()) CHECK_FALSE(section.value("description", "").empty());
  }
  CHECK_FALSE(document.value("description", "").empty());
}

/// The scenario runs as a user's, on all devices, as fast as it did when it was tried.
void check_scenario(const TriedLayout& tried, std::uint32_t devices) {
  check_descriptions(json::parse(tried.text));
  const RunResult result = run(parse_scenario(tried.text, "-"));
  CHECK(result.findings.empty());
  const HardwareSpec& spec = result.layout.hardware.spec;
  CHECK(spec.ranks * spec.devices_per_rank == devices);
  CHECK(result.throughput.samples_per_s == tried.samples_per_s);
}

void check_starter(const TrainingRequest& request) {
  CAPTURE(request.model);
  CAPTURE(request.hardware);
  CAPTURE(request.devices);
  const Starter starter = find_starter(request);
  REQUIRE(starter.fastest);
  const TriedLayout& fastest = starter.tried[*starter.fastest];
  for (const TriedLayout& other : starter.tried) {
    CHECK_FALSE((other.fits() && other.samples_per_s > fastest.samples_per_s));
  }
  check_scenario(fastest, request.devices);
  const std::vector<std::string> summary = summary_of(starter);
  CHECK(summary.size() <= 3);
  // Other layouts may lie between these two: the search tries few.
  if (summary.size() == 3) {
    CHECK(summary[2].starts_with("runner-up of those tried, "));
    CHECK(summary[2].ends_with("; penstock layout compares all layouts"));
  }
}

TEST_CASE("starter: the small one runs as it is and describes each of its sections") {
  const std::string text = small_starter();
  check_descriptions(json::parse(text));
  const RunResult result = run(parse_scenario(text, "-"));
  CHECK(result.findings.empty());
  CHECK(result.title == "1f1b, 4 ranks, 8 microbatches");
}

TEST_CASE("starter: the fastest layout runs as it is, takes all devices and fits") {
  check_starter(request_for("llama-3.1-8b.json", "dgx-h100", 64));
}

TEST_CASE("starter: pipelines are tried with split backwards and with more chunks") {
  const Starter starter = find_starter(request_for("llama-3.1-8b.json", "dgx-a100", 16));
  std::set<std::string> orders;
  for (const TriedLayout& tried : starter.tried) {
    orders.insert(tried.layout.schedule + " " + std::to_string(tried.layout.chunks));
    CHECK(cuts_evenly(32, std::uint64_t{tried.layout.pipeline} * tried.layout.chunks));
  }
  for (const char* order :
       {"1f1b 1", "interleaved-1f1b 2", "zb-h1 1", "zb-v 2", "interleaved-zb 2"}) {
    CAPTURE(order);
    CHECK(orders.contains(order));
  }
}

TEST_CASE("starter: each layout that was tried is the scenario that its text says") {
  const Starter starter = find_starter(request_for("llama-3.1-8b.json", "dgx-a100", 16));
  std::set<std::string> texts;
  for (const TriedLayout& tried : starter.tried) {
    CAPTURE(text_of(tried.layout));
    texts.insert(tried.text);
    const RunResult result = run(parse_scenario(tried.text, "-"));
    CHECK(result.throughput.samples_per_s == tried.samples_per_s);
    CHECK(result.findings.empty() == tried.fits());
  }
  CHECK(texts.size() == starter.tried.size());
  CHECK(std::any_of(starter.tried.begin(), starter.tried.end(),
                    [](const TriedLayout& tried) { return !tried.fits(); }));
}

TEST_CASE("starter: equal requests give equal bytes") {
  const TrainingRequest request = request_for("llama-3.1-8b.json", "dgx-h200", 8);
  const Starter one = find_starter(request), other = find_starter(request);
  REQUIRE(one.fastest);
  CHECK(one.tried[*one.fastest].text == other.tried[*other.fastest].text);
  CHECK(summary_of(one) == summary_of(other));
}

TEST_CASE("starter: where nothing fits it names the least memory that is missing") {
  const Starter starter = find_starter(request_for("gpt-3-175b.sh", "dgx-h100", 8));
  CHECK_FALSE(starter.fastest);
  const TriedLayout& closest = starter.tried[starter.closest];
  CHECK(closest.layout.recompute == "full");
  for (const TriedLayout& tried : starter.tried) CHECK(tried.peak_bytes >= closest.peak_bytes);
  // Adam on 1 / 8 of 175e9 parameters at 18 bytes each is above 393e9 bytes, of 85.5e9.
  CHECK(closest.peak_bytes - closest.capacity_bytes > 308e9);
  const std::vector<std::string> lines = summary_of(starter);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("nothing written: "));
  CHECK(lines[1].starts_with("the closest needs "));
}

TEST_CASE("starter: a model by times is cut into stages and replicas, not into tensor groups") {
  const std::string graph = std::string(PENSTOCK_ROOT) + "/tests/scenarios/files/graph.txt";
  const Starter starter = find_starter({.model = graph, .hardware = "dgx-h100", .devices = 3});
  REQUIRE(starter.fastest);
  check_scenario(starter.tried[*starter.fastest], 3);
  std::set<std::uint32_t> pipelines;
  for (const TriedLayout& tried : starter.tried) {
    CHECK(tried.layout.tensor == 1);
    pipelines.insert(tried.layout.pipeline);
  }
  CHECK(pipelines == std::set<std::uint32_t>{1, 3});
}

TEST_CASE("starter: what is given is what every layout has") {
  TrainingRequest request = request_for("llama-3.1-8b.json", "dgx-h100", 16);
  request.sequence = 8192;
  request.microbatch = 2;
  request.global_batch = 96;
  for (const TriedLayout& tried : find_starter(request).tried) {
    const LayoutChoice& layout = tried.layout;
    const json document = json::parse(tried.text);
    CHECK(document.at(json::json_pointer("/model/sequence")) == 8192);
    CHECK(document.at(json::json_pointer("/model/microbatch")) == 2);
    CHECK(layout.microbatches * layout.microbatch * layout.data * layout.expert == 96);
  }
}

TEST_CASE("starter: the batch of a training command stays, its degrees do not") {
  const Starter starter = find_starter(request_for("gpt-3-175b.sh", "dgx-a100", 128));
  std::set<std::uint32_t> tensors;
  for (const TriedLayout& tried : starter.tried) {
    const LayoutChoice& layout = tried.layout;
    CHECK(layout.microbatch == 1);
    CHECK(layout.microbatches * layout.data == 64);
    tensors.insert(layout.tensor);
  }
  CHECK(tensors == std::set<std::uint32_t>{1, 2, 4, 8});
}

TEST_CASE("starter: degrees divide heads and experts, and cut layers evenly") {
  TrainingTask task{.source = "s",
                    .model = "m",
                    .hardware = "h",
                    .devices = 48,
                    .machine_devices = 8,
                    .by_kind = true,
                    .layers = 32,
                    .heads = 12,
                    .experts = 4,
                    .global_batch = 48};
  std::set<std::uint32_t> tensors, pipelines, experts;
  for (const LayoutChoice& choice : possible_degrees(task)) {
    CHECK(choice.tensor * choice.pipeline * choice.data * choice.expert == 48);
    CHECK(choice.microbatches * choice.data * choice.expert == 48);
    CHECK(choice.zero == (choice.data * choice.expert > 1 ? 1 : 0));
    tensors.insert(choice.tensor);
    pipelines.insert(choice.pipeline);
    experts.insert(choice.expert);
  }
  CHECK(tensors == std::set<std::uint32_t>{1, 2, 4});  // 3, 6 and 12 do not divide a machine of 8
  // 6 stages of 6 layers would miss 4 of 36, more than a tenth.
  CHECK(pipelines == std::set<std::uint32_t>{1, 2, 3, 4, 8, 16});
  CHECK(experts == std::set<std::uint32_t>{1, 2, 4});
}

TEST_CASE("starter: what cannot be is refused with its reason") {
  const auto refusal = [](const TrainingRequest& request) -> std::string {
    try {
      find_starter(request);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal(request_for("llama-3.1-8b.json", "dgx-h1000", 8))
            .starts_with(
                "--hardware: unknown machine \"dgx-h1000\"; did you mean \"dgx-h100\"? known: "));
  CHECK(refusal({.model = "-", .hardware = "dgx-h100", .devices = 8})
            .starts_with("--model -: a scenario names the file of its model"));
  CHECK(refusal(request_for("llama-3.1-8b.json", "tpu-v4-slice", 128))
            .starts_with("new scenario: /hardware/topology: a torus of 4 x 4 x 4 has 64 devices"));
  TrainingRequest uneven = request_for("llama-3.1-8b.json", "dgx-h100", 13);
  uneven.global_batch = 6;
  TrainingRequest large = request_for("llama-3.1-8b.json", "dgx-h100", 8);
  large.global_batch = 1'000'000'000;
  CHECK(refusal(large).starts_with("no layout of 8 devices divides a global batch of 1000000000"));
  CHECK(refusal(uneven) ==
        "no layout of 13 devices divides a global batch of 6 into microbatches of 1, 16384 of "
        "them per replica at most; give another --global-batch");
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("starter: every bundled model has one on machines of every size that hold it") {
    for (const char* hardware : {"dgx-h100", "dgx-a100", "dgx-b200", "mi300x-node"}) {
      for (const std::uint32_t devices : {8U, 24U, 64U}) {
        check_starter(request_for("llama-3.1-8b.json", hardware, devices));
      }
    }
    check_starter(request_for("llama-3.1-8b.json", "tpu-v4-slice", 64));
    check_starter(request_for("llama-3.1-8b.json", "gb200-nvl72", 72));
    check_starter(request_for("gpt-3-175b.sh", "dgx-a100", 64));
    check_starter(request_for("gpt-3-175b.sh", "dgx-h100", 256));
    check_starter(request_for("gpt-3-175b.sh", "dgx-b200", 64));
    check_starter(request_for("deepseek-v3.json", "dgx-h200", 256));
    check_starter(request_for("deepseek-v3.json", "dgx-h100", 1024));
  }
}

}  // namespace penstock::testing
