#include "experiments/plan/starter/starter.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "experiments/plan/planner/planner.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"
#include "experiments/run/run.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

TrainingRequest request_for(const std::string& model, const std::string& hardware,
                            std::uint32_t devices) {
  return {.model = shared_model(model), .hardware = hardware, .devices = devices};
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
void check_starter(const TrainingRequest& request) {
  CAPTURE(request.model);
  CAPTURE(request.hardware);
  CAPTURE(request.devices);
  const Starter starter = find_starter(request);
  REQUIRE(starter.found());
  check_descriptions(json::parse(starter.text));
  const RunResult result = run(parse_scenario(starter.text, "-"));
  CHECK(result.findings.empty());
  const HardwareSpec& spec = result.layout.hardware.spec;
  CHECK(spec.ranks * spec.devices_per_rank == request.devices);
  REQUIRE(result.report);
  CHECK(result.report->makespan == starter.plan.fitting.front().trial.makespan);
  const std::vector<std::string> summary = summary_of(starter);
  CHECK(summary[0].starts_with("judged "));
  CHECK(summary[1].starts_with("fastest: "));
  CHECK(summary.size() == (starter.plan.stopped ? 3 : 2));
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

/// The layout that the planner lists first, in the planner's own words.
void check_first(const std::string& model, std::uint32_t devices) {
  CAPTURE(model);
  const TrainingRequest request = request_for(model, "dgx-h100", devices);
  const Starter starter = find_starter(request);
  REQUIRE(starter.found());
  CHECK_FALSE(starter.plan.stopped);
  const LayoutPlan plan = planned(read_task(request));
  CHECK(starter.plan.fitting.front().choice == plan.fitting.front().choice);
  CHECK(starter.text == layout_document(starter.plan.task, plan.fitting.front().choice));
}

TEST_CASE("starter: it is the first layout that the planner lists") {
  check_first("llama-3.1-8b.json", 16);
}

TEST_CASE("starter: equal requests give equal bytes") {
  const TrainingRequest request = request_for("llama-3.1-8b.json", "dgx-h200", 8);
  const Starter one = find_starter(request), other = find_starter(request);
  REQUIRE(one.found());
  CHECK(one.text == other.text);
  CHECK(summary_of(one) == summary_of(other));
}

TEST_CASE("starter: where nothing fits it names the least memory that is needed") {
  const Starter starter = find_starter(request_for("gpt-3-175b.sh", "dgx-h100", 8));
  CHECK_FALSE(starter.found());
  REQUIRE(starter.plan.least);
  // 175e9 parameters at 18 bytes each are 393e9 bytes on each of 8 devices. The least that the
  // planner knows of leaves out what ranks may share: the tied embedding, 0.6e9 parameters.
  CHECK(starter.plan.least->least_bytes > 0.97 * 393e9);
  const std::vector<std::string> lines = summary_of(starter);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("nothing written: "));
  // A bound of all layouts of some degrees, most of which need more: none is named.
  CHECK(lines[1].starts_with("no layout needs less than 358"));
  CHECK(lines[1].ends_with(" GiB"));
}

TEST_CASE("starter: where nothing fits, a rule that excludes few layouts is no reason") {
  TrainingRequest request = request_for("llama-3.1-8b.json", "tpu-v4-slice", 5);
  request.sequence = 131'072;  // weights alone would fit
  const Starter starter = find_starter(request);
  REQUIRE(!starter.plan.refused.empty());
  REQUIRE(starter.plan.too_large.empty());
  CHECK(summary_of(starter).back() == "try more devices, or devices with more memory");
  LayoutPlan plan{.refused = {{"a rule", 3}}, .without_memory = 5};
  CHECK(lacks_memory(plan));
  plan.refused.front().layouts = 6;
  CHECK_FALSE(lacks_memory(plan));
  plan.too_large.emplace_back();
  CHECK(lacks_memory(plan));
}

TEST_CASE("starter: a model by times is cut into stages and replicas, not into tensor groups") {
  const std::string graph = PENSTOCK_ROOT "/tests/scenarios/files/graph.txt";
  const TrainingRequest request{.model = graph, .hardware = "dgx-h100", .devices = 3};
  check_starter(request);
  CHECK(find_starter(request).plan.fitting.front().choice.tensor == 1);
}

TEST_CASE("starter: what is given is what the layout has") {
  TrainingRequest request = request_for("llama-3.1-8b.json", "dgx-h100", 16);
  request.sequence = 8192;
  request.microbatch = 2;
  request.global_batch = 96;
  const Starter starter = find_starter(request);
  REQUIRE(starter.found());
  const LayoutChoice& layout = starter.plan.fitting.front().choice;
  const json document = json::parse(starter.text);
  CHECK(document.at(json::json_pointer("/model/sequence")) == 8192);
  CHECK(document.at(json::json_pointer("/model/microbatch")) == 2);
  CHECK(layout.microbatches * layout.microbatch * layout.data == 96);
}

TEST_CASE("starter: the batch of a training command stays, its degrees do not") {
  const Starter starter = find_starter(request_for("gpt-3-175b.sh", "dgx-h100", 256));
  REQUIRE(starter.found());
  const LayoutChoice& layout = starter.plan.fitting.front().choice;
  CHECK(layout.microbatch == 1);
  CHECK(layout.microbatches * layout.data == 64);
}

TEST_CASE("starter: degrees divide heads, experts and devices") {
  TrainingTask task{.source = "s",
                    .model = "m",
                    .hardware = "h",
                    .devices = 48,
                    .machine_devices = 8,
                    .by_kind = true,
                    .layers = 32,
                    .blocks = 32,
                    .heads = 12,
                    .experts = 4,
                    .global_batch = 48};
  std::set<std::uint32_t> tensors, pipelines, experts, spanning;
  for (const LayoutChoice& choice : space_of(task, {}).degrees) {
    const std::uint32_t replicas = choice.data * choice.context;
    CHECK(choice.tensor * replicas % (choice.expert * choice.expert_tensor.value_or(1)) == 0);
    CHECK((choice.expert_tensor || replicas % choice.expert == 0));
    if (replicas == 1 && choice.tensor == 4) spanning.insert(choice.expert);
    CHECK(choice.tensor * choice.pipeline * choice.data * choice.context == 48);
    CHECK(choice.microbatches * choice.microbatch * choice.data == 48);
    tensors.insert(choice.tensor);
    pipelines.insert(choice.pipeline);
    experts.insert(choice.expert);
  }
  CHECK(tensors == std::set<std::uint32_t>{1, 2, 4});  // 3, 6 and 12 do not divide a machine of 8
  CHECK(pipelines == std::set<std::uint32_t>{1, 2, 3, 4, 6, 8, 12, 16, 24});
  CHECK(experts == std::set<std::uint32_t>{1, 2, 4});
  CHECK(spanning == std::set<std::uint32_t>{1, 2, 4});  // whole experts within a tensor group
  const Restrictions split({"/parallel/expert_tensor=4"});
  for (const LayoutChoice& choice : space_of(task, {.only = split}).degrees) {
    CHECK(choice.tensor == 4);
    CHECK_FALSE(choice.expert_tensor);
  }
}

TEST_CASE("starter: what cannot be is refused with its reason") {
  const auto refusal = [](const TrainingRequest& request) -> std::string {
    return refused_with<std::exception>([&] { find_starter(request); });
  };
  CHECK(refusal(request_for("llama-3.1-8b.json", "dgx-h1000", 8))
            .starts_with(
                "--hardware: unknown machine \"dgx-h1000\"; did you mean \"dgx-h100\"? known: "));
  CHECK(refusal({.model = "-", .hardware = "dgx-h100", .devices = 8})
            .starts_with("--model -: a scenario names the file of its model"));
  CHECK(refusal(request_for("llama-3.1-8b.json", "tpu-v4-slice", 128))
            .starts_with("a torus of 4 x 4 x 4 has 64 devices"));
  TrainingRequest uneven = request_for("llama-3.1-8b.json", "dgx-h100", 37);
  uneven.global_batch = 6;
  TrainingRequest large = request_for("llama-3.1-8b.json", "dgx-h100", 8);
  large.global_batch = 1'000'000'000;
  CHECK(refusal(large).starts_with("no layout of 8 devices divides a global batch of 1000000000"));
  CHECK(refusal(uneven) ==
        "no layout of 37 devices divides a global batch of 6 into microbatches of 1, 16384 of "
        "them per replica at most; give another --global-batch");
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("starter: every bundled model has one on machines of every size that hold it") {
    for (const char* hardware : {"dgx-h100", "dgx-a100", "dgx-b200", "mi300x-node"}) {
      for (const std::uint32_t devices : {8U, 24U}) {
        check_starter(request_for("llama-3.1-8b.json", hardware, devices));
      }
    }
    check_starter(request_for("llama-3.1-8b.json", "tpu-v4-slice", 64));
    check_starter(request_for("llama-3.1-8b.json", "gb200-nvl72", 72));
    check_starter(request_for("gpt-3-175b.sh", "dgx-a100", 64));
    check_starter(request_for("gpt-3-175b.sh", "dgx-b200", 64));
  }
}

TEST_SUITE("exhaustive") {
  TEST_CASE("starter: a large model has one on machines of every size that hold it") {
    for (const char* hardware : {"dgx-a100", "dgx-b200", "mi300x-node"}) {
      check_starter(request_for("llama-3.1-8b.json", hardware, 64));
    }
    check_starter(request_for("gpt-3-175b.sh", "dgx-h100", 256));
    check_starter(request_for("deepseek-v3.json", "dgx-h200", 256));
    check_starter(request_for("deepseek-v3.json", "dgx-h100", 1024));
  }

  TEST_CASE("starter: it is the first layout that the planner lists for many devices") {
    check_first("llama-3.1-70b.json", 32);
    check_first("gpt-3-175b.sh", 64);
    check_first("llama-3.1-70b.json", 64);
    check_first("gpt-3-175b.sh", 512);
  }
}

}  // namespace penstock::testing
