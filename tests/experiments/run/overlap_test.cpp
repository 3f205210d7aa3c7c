#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "experiments/run/run.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// A transformer of eight blocks over four machines with slow links between them. Parameters and
/// gradients have the same size, and the update takes no time.
json replicated(const char* zero_level) {
  return json::parse(R"({
    "model": { "layers": [
        { "kind": "embedding", "vocab": 32000, "hidden": 4096 },
        { "repeat": 8, "parts": [ { "kind": "norm", "hidden": 4096 },
                                  { "kind": "attention", "hidden": 4096, "heads": 32 },
                                  { "kind": "mlp", "hidden": 4096, "intermediate": 16384 } ] },
        { "kind": "head", "vocab": 32000, "hidden": 4096 } ],
      "sequence": 2048, "microbatch": 1 },
    "hardware": { "name": "dgx-a100", "nic_efficiency": 0.2, "stack": "none" },
    "parallel": { "pipeline": 1, "data": 32 },
    "overheads": { "optimizer_us": 0 },
    "memory": { "precision": "fp32", "optimizer": "adam", "zero": )" +
                     std::string(zero_level) + R"(, "capacity_bytes": 1e15 },
    "schedule": { "name": "1f1b", "microbatches": 1 } })");
}

/// Two stages of tensor groups of eight.
json tensor_groups(int microbatches) {
  json scenario = json::parse(R"({
    "model": { "layers": [ { "repeat": 4, "parts": [
        { "kind": "attention", "hidden": 8192, "heads": 64 },
        { "kind": "mlp", "hidden": 8192, "intermediate": 32768 } ] } ],
      "sequence": 2048, "microbatch": 4 },
    "hardware": { "name": "dgx-a100" },
    "parallel": { "pipeline": 2, "tensor": 8 },
    "memory": { "capacity_bytes": 1e15 },
    "schedule": { "name": "1f1b", "microbatches": 2 } })");
  scenario["schedule"]["microbatches"] = microbatches;
  return scenario;
}

/// Experts over 16 devices.
json spread_experts() {
  return json::parse(R"({
    "model": { "layers": [ { "repeat": 4, "parts": [
        { "kind": "attention", "hidden": 4096, "heads": 32 },
        { "kind": "moe", "hidden": 4096, "experts": 64, "chosen": 8,
          "expert_intermediate": 2048 } ] } ], "sequence": 4096 },
    "hardware": { "name": "dgx-h100" },
    "parallel": { "pipeline": 1, "data": 16, "expert": 16 },
    "memory": { "capacity_bytes": 1e15 },
    "schedule": { "name": "1f1b", "microbatches": 2 } })");
}

RunResult run_of(const json& scenario) {
  return run(parse_scenario(scenario.dump(), "s.json"), {});
}

double makespan_us(const json& scenario) {
  const RunResult result = run_of(scenario);
  REQUIRE(result.report);
  return to_us(result.report->makespan);
}

/// Large kernels at full efficiency: nothing but the peak bounds them.
json scenario_at_peak(std::uint64_t seed) {
  std::mt19937_64 random(seed);  // the same on every machine
  const auto one_of = [&](const auto& values) { return values[random() % values.size()]; };
  const auto number = [&](const std::vector<std::uint64_t>& values) { return one_of(values); };
  const std::uint64_t hidden = number({1024, 4096, 8192});
  const std::uint64_t ranks = number({1, 2, 4});
  json mlp{{"kind", "mlp"}, {"hidden", hidden}, {"intermediate", 4 * hidden}};
  json moe{{"kind", "moe"},
           {"hidden", hidden},
           {"experts", 8},
           {"chosen", 2},
           {"expert_intermediate", hidden}};
  json block{{"repeat", 8},
             {"parts",
              {{{"kind", "attention"}, {"hidden", hidden}, {"heads", 16}},
               number({0, 1}) == 1 ? mlp : moe}}};
  const std::vector<std::string> names{"1f1b", "gpipe", "zb-h1", "dualpipe", "dualpipev", "zb-v"};
  const std::vector<std::string> machines{"dgx-h100", "dgx-a100", "mi300x-node"};
  const std::vector<std::string> modes{"none", "full", "selective"};
  return {
      {"model",
       {{"layers", {block}}, {"sequence", number({512, 4096})}, {"microbatch", number({1, 4})}}},
      {"hardware",
       {{"name", one_of(machines)},
        {"efficiency", 1},
        {"memory_efficiency", 1},
        {"kernel_us", 0},
        {"kernel_issue_us", 0}}},
      {"parallel",
       {{"pipeline", ranks},
        {"tensor", number({1, 2})},
        {"data", number({1, 2})},
        {"overlap_experts", number({0, 1}) == 1}}},
      {"recompute", {{"mode", one_of(modes)}}},
      {"memory", {{"zero", number({0, 1, 3})}, {"capacity_bytes", 1e15}}},
      {"schedule",
       {{"name", one_of(names)},
        {"microbatches", 4 * ranks},
        {"overlap", number({0, 1}) == 1 ? "fused" : "serial"}}}};
}

}  // namespace

TEST_CASE("no scenario uses more than the peak of its devices") {
  std::size_t ran = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const json scenario = scenario_at_peak(seed);
    try {
      const RunResult result = run_of(scenario);
      if (!result.throughput.hardware_flops_utilization) continue;
      ++ran;
      CHECK(*result.throughput.model_flops_utilization <= 1);
      CHECK(*result.throughput.hardware_flops_utilization <= 1);
    } catch (const InputError&) {  // a schedule that its rule does not allow
    }
  }
  CHECK(ran >= 150);
}

TEST_CASE("where links are the bottleneck, sharding more takes no less time") {
  const double whole = makespan_us(replicated("0"));
  const auto waiting = [](const char* level) {
    json scenario = replicated(level);
    scenario["parallel"]["overlap_gathers"] = false;
    return makespan_us(scenario);
  };
  const double optimizer = waiting("1");
  const double gradients = waiting("2");
  const double parameters = makespan_us(replicated("3"));
  MESSAGE("ZeRO-0 to -3: ", whole, ", ", optimizer, ", ", gradients, ", ", parameters);
  // ZeRO-1 and -2 carry the bytes of an all-reduce in two halves, ZeRO-3 half as many more.
  CHECK(optimizer == doctest::Approx(whole).epsilon(0.05));
  CHECK(gradients >= optimizer * 0.999);
  CHECK(parameters > optimizer);
}

TEST_CASE("gathers carry the same bytes over the network where forwards hide them") {
  for (const bool drawn : {false, true}) {
    CAPTURE(drawn);
    json scenario = replicated("1");
    if (drawn) scenario["batch"]["lengths"] = {{"distribution", "fixed"}, {"mean", 1024}};
    const auto run_with = [&](bool overlaps) {
      scenario["parallel"]["overlap_gathers"] = overlaps;
      return run_of(scenario);
    };
    const RunResult hidden = run_with(true), waited = run_with(false);
    CHECK(hidden.report->makespan < waited.report->makespan);
    const auto& links = waited.report->network;
    REQUIRE(links.size() == hidden.report->network.size());
    REQUIRE_FALSE(links.empty());
    for (std::size_t i = 0; i < links.size(); ++i) {
      CHECK(hidden.report->network[i].name == links[i].name);
      CHECK(hidden.report->network[i].bytes == links[i].bytes);
    }
  }
}

TEST_CASE("gradients are reduced while the last backward runs") {
  json scenario = replicated("0");
  const double by_layer = makespan_us(scenario);
  scenario["parallel"]["bucket_bytes"] = 1e12;
  const double at_once = makespan_us(scenario);
  scenario["parallel"].erase("bucket_bytes");
  scenario["parallel"]["overlap_sums"] = false;
  const double behind = makespan_us(scenario);
  CHECK(at_once == behind);
  // Most of the backward: two thirds of a forward and backward of 2,048 tokens.
  CHECK(by_layer < 0.98 * at_once);
}

TEST_CASE("ZeRO-3 prefetches as many layers as the scenario says") {
  json scenario = replicated("3");
  scenario["hardware"].erase("nic_efficiency");
  scenario["model"]["microbatch"] = 16;
  const double usual = makespan_us(scenario);
  scenario["memory"]["prefetch_layers"] = 1;
  CHECK(makespan_us(scenario) == usual);
  scenario["memory"]["prefetch_layers"] = 0;
  const double without = makespan_us(scenario);
  CHECK(without > usual);
  // A prefetched layer takes memory.
  const auto peak = [&] { return run_of(scenario).report->ranks[0].memory.bytes; };
  const auto least = peak();
  scenario["memory"]["prefetch_layers"] = 3;
  CHECK(peak() > least);
  CHECK(makespan_us(scenario) <= usual);
}

TEST_CASE("a fused cell priced from layers hides communication, not arithmetic") {
  json scenario = spread_experts();
  scenario["model"]["layers"][0]["repeat"] = 8;
  scenario["parallel"]["pipeline"] = 4;
  scenario["schedule"] = {{"name", "dualpipe"}, {"microbatches", 16}};
  const double serial = makespan_us(scenario);
  scenario["schedule"]["overlap"] = "fused";
  const double fused = makespan_us(scenario);
  CHECK(fused < 0.9 * serial);
  scenario["parallel"]["expert"] = 1;
  scenario["schedule"]["overlap"] = "serial";
  const double alone = makespan_us(scenario);
  scenario["schedule"]["overlap"] = "fused";
  CHECK(makespan_us(scenario) > 0.8 * alone);
}

TEST_CASE("all-to-alls of experts overlap their pass where the scenario says so") {
  json scenario = spread_experts();
  const double exposed = makespan_us(scenario);
  scenario["parallel"]["overlap_experts"] = true;
  CHECK(makespan_us(scenario) < exposed);
}

TEST_CASE("a shared expert runs beside all-to-alls where the scenario says so") {
  json scenario = spread_experts();
  json& parts = scenario["model"]["layers"][0]["parts"];
  parts.erase(0);
  parts[0]["shared_intermediate"] = 2048;
  const double exposed = makespan_us(scenario);
  scenario["parallel"]["overlap_shared_expert"] = true;
  const double beside = makespan_us(scenario);
  CHECK(beside < exposed);
  scenario["overheads"]["compute_slowdown_by_transfer"] = 1.5;
  CHECK(makespan_us(scenario) > beside);
}

TEST_CASE("weights gathered in low precision take less time, after an update and for each pass") {
  json scenario = json::parse(R"({
    "model": { "layers": [ { "repeat": 4, "parts": [
        { "kind": "mlp", "hidden": 8192, "intermediate": 32768 } ] } ],
        "sequence": 512, "dtype": "fp8" },
    "hardware": { "name": "dgx-h100" },
    "parallel": { "pipeline": 1, "data": 64, "overlap_gathers": false },
    "memory": { "capacity_bytes": 1e15, "zero": 1 },
    "schedule": { "name": "1f1b", "microbatches": 1 } })");
  const auto saved_us = [&] {
    scenario["parallel"]["narrow_gathers"] = false;
    const double wide = makespan_us(scenario);
    scenario["parallel"]["narrow_gathers"] = true;
    return wide - makespan_us(scenario);
  };
  const double once = saved_us();
  CHECK(once > 0);
  scenario["parallel"].erase("overlap_gathers");
  CHECK(saved_us() > 0);  // behind the next forwards
  scenario["memory"]["zero"] = 3;
  CHECK(saved_us() > once);  // in F and B
}

TEST_CASE("a tensor group that sends in shares loads its links with a share") {
  json scenario = tensor_groups(8);
  const double whole = makespan_us(scenario);
  scenario["parallel"]["scatter_gather"] = true;
  CHECK(makespan_us(scenario) < whole);
  // 2048 tokens x 4 x 8192 x 2 bytes, an eighth of it.
  const RunResult result = run_of(scenario);
  const Plan& plan = *result.plan;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    if (!passes_on(plan.classes[c].pass)) continue;
    CHECK(result.costs.bytes[plan.classes[c].buffer] == 2048ULL * 4 * 8192 * 2 / 8);
  }
  // With sequence parallelism activations are sharded already.
  scenario["parallel"]["sequence"] = true;
  const double sharded = makespan_us(scenario);
  scenario["parallel"]["scatter_gather"] = false;
  CHECK(makespan_us(scenario) == sharded);
}

namespace {

/// The bytes and the time of each activation and gradient that a device sends, all alike.
struct Sent {
  std::uint64_t bytes = 0;
  double us = 0;
};

Sent sent_by(const json& scenario) {
  const RunResult result = run_of(scenario);
  const Plan& plan = *result.plan;
  std::vector<Sent> all;
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    if (!passes_on(plan.classes[c].pass)) continue;
    all.push_back({result.costs.bytes[plan.classes[c].buffer], to_us(result.costs.duration[c])});
    CHECK(all.back().bytes == all.front().bytes);
    CHECK(all.back().us == all.front().us);
  }
  REQUIRE_FALSE(all.empty());
  return all.front();
}

}  // namespace

TEST_CASE("each device of a tensor group sends all of an activation, or its part of the sequence") {
  json scenario = tensor_groups(2);
  const Sent whole = sent_by(scenario);
  CHECK(whole.bytes == 2048ULL * 4 * 8192 * 2);
  scenario["parallel"]["sequence"] = true;
  const Sent part = sent_by(scenario);
  CHECK(part.bytes * 8 == whole.bytes);
  CHECK(part.us * 8 == doctest::Approx(whole.us));
  // Eight devices that share a NIC each have an eighth of it, since all send at once.
  scenario["hardware"]["topology"] = {{"devices_per_nic", 8}};
  CHECK(sent_by(scenario).us == doctest::Approx(whole.us));
  scenario["parallel"]["sequence"] = false;
  CHECK(sent_by(scenario).us == doctest::Approx(8 * whole.us));
}

}  // namespace penstock
