#include <doctest/doctest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/costs/collective_times.hpp"
#include "sim/engines/events.hpp"
#include "sim/engines/stepwise.hpp"
#include "tests/support/replays.hpp"
#include "tests/support/system.hpp"
#include "validate/backends/registry.hpp"
#include "validate/job/job.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

/// Bytes that one device sends in a step.
struct Traffic {
  double reduced = 0;   // gradients
  double gathered = 0;  // weights
  double tied = 0;
};

/// By what each task of the plan carries, in passes or as transfers of its own.
Traffic traffic_of(const RunResult& result) {
  Traffic traffic;
  const Plan& plan = *result.plan;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const StageDemand& stage = result.demand.stages[plan.model_stage[index(work.stage)]];
    if (work.pass == Pass::tie_gradient) traffic.tied += *stage.of(work.pass).sent_bytes;
    for (const StageCollective& one : stage.of(work.pass).collectives) {
      const double bytes = carried_by({one}, stage, result.demand.replicas).bytes;
      (one.kind == CollectiveKind::all_gather ? traffic.gathered : traffic.reduced) += bytes;
    }
  }
  return traffic;
}

RunResult run_at(json scenario, int zero) {
  scenario["memory"]["zero"] = zero;
  if (zero >= 2) scenario["memory"]["whole_gradients"] = false;
  json& parallel = scenario["parallel"];
  if (zero == 3 || !parallel["overlap_sums"]) parallel.erase("bucket_bytes");  // refused there
  return run(parse_scenario(scenario.dump(), "s.json"), {});
}

/// Six transformer blocks with a tied head; five buckets or more a stage.
json transformer(const char* schedule, int pipeline, int chunks, int microbatches, bool overlaps) {
  json scenario = json::parse(R"({
    "model": { "layers": [
        { "kind": "embedding", "vocab": 32000, "hidden": 1024 },
        { "repeat": 6, "parts": [ { "kind": "attention", "hidden": 1024, "heads": 8 },
                                  { "kind": "mlp", "hidden": 1024, "intermediate": 4096 } ] },
        { "kind": "head", "vocab": 32000, "hidden": 1024, "tied": true } ],
      "sequence": 512, "microbatch": 1 },
    "hardware": { "name": "dgx-h100" },
    "memory": { "optimizer": "adam" } })");
  scenario["parallel"] = {{"pipeline", pipeline},
                          {"chunks", chunks},
                          {"data", 4},
                          {"bucket_bytes", 4e6},
                          {"overlap_sums", overlaps}};
  scenario["schedule"] = {{"name", schedule}, {"microbatches", microbatches}};
  return scenario;
}

struct Case {
  const char* schedule;
  int pipeline, chunks, microbatches;
};

const std::vector<Case> cases{
    {"1f1b", 1, 1, 1},  {"1f1b", 1, 1, 5}, {"gpipe", 2, 1, 4},      {"interleaved-1f1b", 2, 2, 4},
    {"zb-h1", 2, 1, 6}, {"zb-v", 2, 2, 4}, {"looped-bfs", 2, 2, 4}, {"hanayo", 2, 2, 4},
};

/// One rank with a link of 1 byte/us and buckets of 2 bytes; chunks and data replicas.
json numbers(int zero, bool overlaps) {
  json scenario = json::parse(R"({
    "model": { "stages": [ {"forward_us": 1, "backward_us": 2, "parameter_bytes": 16},
                           {"forward_us": 2, "backward_us": 1, "parameter_bytes": 8},
                           {"forward_us": 1, "backward_us": 2, "parameter_bytes": 24},
                           {"forward_us": 1, "backward_us": 3, "parameter_bytes": 8} ] },
    "hardware": { "name": "ideal", "latency_us": 0, "bandwidth_bytes_per_s": 1e6 },
    "parallel": { "pipeline": 2, "chunks": 2, "data": 2, "bucket_bytes": 2 },
    "schedule": { "name": "interleaved-1f1b", "microbatches": 4 } })");
  scenario["parallel"]["overlap_sums"] = overlaps;
  scenario["memory"]["zero"] = zero;
  if (zero >= 2) scenario["memory"]["whole_gradients"] = false;
  return scenario;
}

/// How long the links to the data replicas carry something.
double busy_us(const Plan& plan, const Costs& costs, const Timeline& timeline) {
  Time busy{};
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (!plan.is_link(work.resource) || plan.link(work.resource).to != data_replicas) continue;
    busy += timeline.end[task] - timeline.begin[task] - costs.latency_of(plan, task);
  }
  return to_us(busy);
}

Timeline on_cpu_logical(const PricedPlan& priced) {
  const BackendEntry& logical = *find_named(backend_entries(), "cpu_logical");
  REQUIRE_FALSE(logical.obstacle(priced));
  const Job job = job_of(priced, {.mean_action_ns = 4'000, .least_work_ns = 100'000});
  Timeline timeline = timeline_of(logical.make(job)->run());
  CHECK(differences(job, timeline) == 0);
  for (Time& end : timeline.end) end = from_us(to_us(end) / job.scale);
  for (Time& begin : timeline.begin) begin = from_us(to_us(begin) / job.scale);
  return timeline;
}

}  // namespace

// ZeRO-0 all-reduces once: two halves. ZeRO-1 reduces and gathers the halves once, ZeRO-2 reduces
// for each microbatch, ZeRO-3 does as well, and gathers for each forward and each backward.
TEST_CASE("each ZeRO level moves the bytes of its microbatches") {
  for (const Case& one : cases) {
    for (const bool overlaps : {true, false}) {
      CAPTURE(one.schedule);
      CAPTURE(one.microbatches);
      CAPTURE(overlaps);
      const json scenario =
          transformer(one.schedule, one.pipeline, one.chunks, one.microbatches, overlaps);
      std::vector<Traffic> of;
      for (int zero = 0; zero <= 3; ++zero) of.push_back(traffic_of(run_at(scenario, zero)));
      const double m = one.microbatches;
      CHECK(of[1].reduced > 0);
      CHECK(of[0].reduced == doctest::Approx(2 * of[1].reduced));
      CHECK(of[0].gathered == 0);
      CHECK(of[1].gathered > 0);
      CHECK(of[2].reduced == doctest::Approx(m * of[1].reduced));
      CHECK(of[2].gathered == of[1].gathered);
      CHECK(of[3].reduced == doctest::Approx(m * of[1].reduced));
      CHECK(of[3].gathered == doctest::Approx(2 * m * of[1].gathered));
      for (int zero = 1; zero <= 3; ++zero) CHECK(of[zero].tied == of[0].tied);
    }
  }
}

// A REDUCE_GRAD of an order is the whole sum of a stage, however many buckets would fill.
TEST_CASE("communication as written moves the gradients that implicit communication does") {
  for (int zero = 0; zero <= 2; ++zero) {
    json scenario = transformer("1f1b", 2, 1, 4, true);
    scenario["parallel"] = {{"pipeline", 2}, {"data", 4}};
    scenario["memory"]["zero"] = zero;
    const auto reduced = [&](const char* communication) {
      scenario["schedule"]["communication"] = communication;
      return traffic_of(run(parse_scenario(scenario.dump(), "s.json"), {})).reduced;
    };
    CHECK(reduced("written") == doctest::Approx(reduced("implicit")));
  }
}

// Of 8 replicas all shard together, or those of 2 or 4 groups do: s in each, then every gather and
// every scatter sends (s - 1) / s of the weights, and the sum over g groups twice (g - 1) / g of
// each share.
TEST_CASE("groups that shard on their own gather among few and sum their shares over all") {
  for (const Case& one : cases) {
    CAPTURE(one.schedule);
    json scenario = transformer(one.schedule, one.pipeline, one.chunks, one.microbatches, true);
    scenario["parallel"]["data"] = 8;
    for (int zero = 1; zero <= 3; ++zero) {
      const Traffic whole = traffic_of(run_at(scenario, zero));
      for (const int groups : {2, 4}) {
        scenario["memory"]["shard_groups"] = groups;
        const Traffic apart = traffic_of(run_at(scenario, zero));
        const double g = groups, s = 8 / g;
        const double gathers = (s - 1) / s, sums = gathers + 2 * (g - 1) / g / s;
        CHECK(apart.gathered / whole.gathered == doctest::Approx(gathers / (7 / 8.0)));
        CHECK(apart.reduced / whole.reduced == doctest::Approx(sums / (7 / 8.0)));
      }
      scenario["memory"].erase("shard_groups");
    }
  }
}

TEST_CASE("a group that shards on its own keeps as much as if there were no other") {
  json scenario = transformer("1f1b", 2, 1, 4, true);
  const auto kept = [&](int data, int groups, int zero) {
    scenario["parallel"]["data"] = data;
    scenario["memory"]["shard_groups"] = groups;
    const MemoryPeak peak = run_at(scenario, zero).report->ranks.front().memory;
    return std::array{bytes_of(peak, BufferKind::parameters),
                      bytes_of(peak, BufferKind::weight_gradients),
                      bytes_of(peak, BufferKind::optimizer)};
  };
  for (int zero = 1; zero <= 3; ++zero) CHECK(kept(8, 4, zero) == kept(2, 1, zero));
  CHECK(kept(8, 4, 3) != kept(8, 1, 3));
}

TEST_CASE("groups of one replica hold no gathered weights, unless a context group shards") {
  json scenario = transformer("1f1b", 2, 1, 4, true);
  scenario["hardware"]["stack"] = "none";
  const auto workspace = [&](int zero) {
    return bytes_of(run_at(scenario, zero).report->ranks[0].memory, BufferKind::workspace);
  };
  scenario["memory"]["shard_groups"] = 4;
  CHECK(workspace(3) == workspace(2));
  scenario["parallel"]["context"] = 2;
  CHECK(workspace(3) > workspace(2));
}

TEST_CASE("groups that shard on their own divide the replicas, and each has all experts") {
  json scenario = transformer("1f1b", 2, 1, 4, true);
  scenario["parallel"]["data"] = 6;
  scenario["memory"]["shard_groups"] = 4;
  CHECK_THROWS_WITH_AS(run_at(scenario, 1),
                       doctest::Contains("6 data replicas are not divided into 4 groups"),
                       InputError);
  scenario["memory"]["shard_groups"] = 3;
  CHECK_THROWS_WITH_AS(run_at(scenario, 0), doctest::Contains("without zero nothing is sharded"),
                       InputError);
  json& block = scenario["model"]["layers"][1]["parts"][1];
  block = {{"kind", "moe"},
           {"hidden", 1024},
           {"expert_intermediate", 1024},
           {"experts", 12},
           {"chosen", 2}};
  scenario["parallel"]["expert"] = 3;
  CHECK_THROWS_WITH_AS(run_at(scenario, 1),
                       doctest::Contains("experts lie over 3 data replicas, and a group has 2"),
                       InputError);
  scenario["memory"]["shard_groups"] = 2;
  run_at(scenario, 1);
}

TEST_CASE("every executor keeps the links of overlapped ZeRO-2 busy for all microbatches") {
  const RunResult once = run(parse_scenario(numbers(1, true).dump(), "s.json"), {});
  const RunResult each = run(parse_scenario(numbers(2, true).dump(), "s.json"), {});
  // A device sends half of 56 bytes of gradients, once or for each of 4 microbatches, and half of
  // the weights once.
  CHECK(busy_us(*once.plan, once.costs, once.timeline) == 28 + 28);
  CHECK(busy_us(*each.plan, each.costs, each.timeline) == 4 * 28 + 28);
  const PricedPlan priced{*each.plan, each.costs, each.conditions};
  for (const Timeline& timeline :
       {relax(priced), timeline_of(run_events(priced)), timeline_of(run_stepwise(priced))}) {
    CHECK(timeline.begin == each.timeline.begin);
    CHECK(timeline.end == each.timeline.end);
  }
  CHECK(busy_us(priced.plan, priced.costs, on_cpu_logical(priced)) ==
        doctest::Approx(4 * 28 + 28).epsilon(1e-3));
}

TEST_CASE("overlapped ZeRO-2 takes no less time than its links need") {
  // 16 microbatches of an 8B model on 32 devices over slow NICs: the reductions alone keep the
  // links busy for longer than ZeRO-1's step.
  json scenario = transformer("1f1b", 1, 1, 16, true);
  scenario["hardware"]["nic_efficiency"] = 0.02;
  scenario["parallel"]["data"] = 32;
  const RunResult once = run_at(scenario, 1), each = run_at(scenario, 2);
  const auto reductions_us = [](const RunResult& result) {
    return busy_us(*result.plan, result.costs, result.timeline);
  };
  CHECK(reductions_us(each) > 10 * reductions_us(once) / 2);
  CHECK(to_us(each.report->makespan) > reductions_us(each));
  CHECK(to_us(each.report->makespan) > 5 * to_us(once.report->makespan));
}

}  // namespace penstock::testing
