#include "experiments/run/batch/step_batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/run/changes/tried_changes.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/system.hpp"
#include "validate/comparison/counted_memory.hpp"

namespace penstock::testing {
namespace {

using Settings = std::vector<std::string>;

/// Lengths in the order of a file.
std::string lengths_file(const std::string& lines) {
  static const Scratch scratch;
  return scratch.file("lengths.txt", lines);
}

nlohmann::json stages(std::size_t count) {
  return {{"stages", nlohmann::json(count, {{"forward_us", 1},
                                            {"backward_us", 2},
                                            {"stash_bytes", 1000},
                                            {"activation_bytes", 10}})}};
}

/// Stages of F = 1 and B = 2 for a microbatch of 100 tokens.
Scenario lengths_scenario(std::size_t count, std::size_t microbatches, const std::string& schedule,
                          const std::string& lines, const Settings& settings = {}) {
  const nlohmann::json document{
      {"model", stages(count)},
      {"schedule", {{"name", schedule}, {"microbatches", microbatches}}},
      {"batch", {{"lengths", {{"file", lengths_file(lines)}}}, {"tokens", 100}}}};
  return parse_scenario(document.dump(), "s.json", settings);
}

/// Squares decide who is slowest, replica 1 with 80 and 10; replica 0, 50 and 50, keeps more.
Scenario unlike_replicas(int capacity) {
  return lengths_scenario(1, 2, "gpipe", "50\n50\n80\n10\n",
                          {"/parallel/data=2", "/batch/attention_share=1",
                           "/memory/capacity_bytes=" + std::to_string(capacity)});
}

double makespan_us(const RunResult& result) { return to_us(result.report->makespan); }

}  // namespace

TEST_CASE("gpipe with two lengths: each pass takes all microbatches and p-1 of the longest") {
  for (const std::size_t p : {1U, 2U, 4U}) {
    CAPTURE(p);
    const RunResult result = run(lengths_scenario(p, 4, "gpipe", "50\n100\n50\n50\n"));
    // Microbatches of 0.5 1 0.5 0.5: a flow shop with equal machines, once forwards and once, twice
    // as long, backwards.
    CHECK(makespan_us(result) == doctest::Approx(3 * (2.5 + double(p - 1) * 1)));
    const BatchReport& report = *result.batch;
    CHECK(to_us(report.equal) == doctest::Approx(3 * 0.625 * double(4 + p - 1)));
    CHECK(report.equal + report.pipeline + report.experts + report.replicas == report.step);
    CHECK(report.replicas == Time{});
    CHECK(report.experts == Time{});
    // All stashes are there at the end of the forwards.
    CHECK(bytes_of(result.report->ranks[0].memory, BufferKind::stash) == 2500);
  }
}

TEST_CASE("attention goes with the squares of documents, all else with tokens") {
  // 100 tokens as 60 + 40: half of the time has (3600 + 1600) / 10000 of its full length.
  const RunResult result = run(lengths_scenario(
      1, 1, "gpipe", "60\n40\n100\n", {"/batch/pack=first-fit", "/batch/attention_share=0.5"}));
  CHECK(makespan_us(result) == doctest::Approx(3 * (0.5 + 0.5 * 0.52)));
}

TEST_CASE("the global batch of a step is its documents, as its samples are") {
  const RunResult result =
      run(lengths_scenario(1, 1, "gpipe", "60\n30\n100\n", {"/batch/pack=first-fit"}));
  CHECK(says(run_summary(result), "1 microbatch, global batch 2 documents\n"));
  CHECK(result_json(result)["layout"]["global_batch"] == 2);
  CHECK_FALSE(step_work_of(result.layout, {*result.plan, result.timeline, ""}).global_batch);
  CHECK(result.throughput.samples_per_s * makespan_us(result) * 1e-6 == doctest::Approx(2));
}

TEST_CASE("the memory of a rank is that of the microbatches which it holds") {
  // 1f1b on two ranks: rank 0 holds two microbatches, the most when 2 and 3 meet.
  const RunResult result = run(lengths_scenario(2, 4, "1f1b", "10\n20\n70\n80\n"));
  CHECK(bytes_of(result.report->ranks[0].memory, BufferKind::stash) == 1500);
  const BatchPeak& peak = result.batch->peak;
  CHECK(peak.rank == Rank{0});
  CHECK(peak.bytes == 1500);
  CHECK(peak.microbatch == Microbatch{3});
}

TEST_CASE("transfers take what their microbatch has") {
  // Four tokens in a hundred; ten bytes of a full microbatch over one byte per microsecond.
  const Scenario scenario = lengths_scenario(
      2, 1, "gpipe", "40\n",
      {"/hardware={\"name\":\"ideal\",\"latency_us\":0,\"bandwidth_bytes_per_s\":1000000}"});
  CHECK(makespan_us(run(scenario)) == doctest::Approx(2 * 3 * 0.4 + 2 * 10 * 0.4));
}

TEST_CASE("replicas have documents of their own, and a step waits for the slowest") {
  // Replica 0: 10 and 20, replica 1: 100 and 100.
  for (const bool reduces : {false, true}) {
    CAPTURE(reduces);
    Settings settings{"/parallel/data=2"};
    if (reduces) settings.emplace_back("/model/stages/0/parameter_bytes=8");
    const RunResult result = run(lengths_scenario(1, 2, "gpipe", "10\n20\n100\n100\n", settings));
    const BatchReport& report = *result.batch;
    CHECK(makespan_us(result) == doctest::Approx(3 * 2.0));
    CHECK(report.slowest == 1);
    CHECK(to_us(report.equal) == doctest::Approx(3 * 1.15));
    CHECK(to_us(report.replicas) == doctest::Approx(3 * 2.0 - 3 * 1.15));
    CHECK(report.equal + report.pipeline + report.experts + report.replicas == report.step);
  }
}

TEST_CASE("full and equal microbatches give the bytes of a run without documents") {
  const Scenario all = lengths_scenario(4, 8, "1f1b", "100\n");
  const Scenario none = changed(all, {}, {"batch"});
  CHECK(result_json(run(all)).dump() == result_json(run(none)).dump());
}

TEST_CASE("draws of a file in its order follow each other, and draws have a distribution") {
  const RunResult result = run(lengths_scenario(1, 1, "gpipe", "10\n20\n30\n"), {.repeat = 4});
  const auto& makespans = result.repeated->makespans;
  REQUIRE(makespans.size() == 4);
  const std::vector<double> lengths{0.1, 0.2, 0.3, 0.1};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(to_us(*makespans[i]) == doctest::Approx(3 * lengths[i]));
  }
  CHECK(*result.repeated->mean == doctest::Approx(3 * 0.175));
}

TEST_CASE("numbers of microbatches may have gaps: the documents are those of the order without") {
  const Scratch scratch;
  const auto step_us = [&](const char* csv) {
    const nlohmann::json document{
        {"model", stages(2)},
        {"schedule", {{"file", scratch.file("order.csv", csv)}}},
        {"batch", {{"lengths", {{"file", lengths_file("50\n100\n")}}}, {"tokens", 100}}}};
    return makespan_us(run(parse_scenario(document.dump(), scratch.path("s.json"), {})));
  };
  const double dense = step_us("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  CHECK(dense > 6);
  CHECK(step_us("0F3,0F900,0B3,0B900\n1F3,1B3,1F900,1B900\n") == dense);
}

TEST_CASE("microbatches cost what they do in each order, whichever was run before") {
  const Layout layout =
      settle(lengths_scenario(1, 2, "1f1b", "50\n100\n70\n50\n",
                              {"/model/stages/0/backward_input_us=1",
                               "/model/stages/0/backward_weight_us=4", "/parallel/data=2"}));
  const auto step_of = [](const Simulation& simulation, std::string_view order,
                          std::uint32_t draw) {
    const auto priced = simulation.price_order(order_of(order));
    return simulation.makespan_of_draw(std::get<PricedPlan>(priced), draw);
  };
  const Simulation shared(layout);
  for (const std::uint32_t draw : {0U, 1U}) {
    for (const char* order : {"0F0,0B0,0F1,0B1", "0F0,0I0,0W0,0F1,0I1,0W1", "0F0,0F1,0B1,0B0"}) {
      CAPTURE(order);
      CHECK(step_of(shared, order, draw) == step_of(Simulation(layout), order, draw));
    }
  }
  // 1.5 microbatches in the longer replica, of F and B, and of F, I and W.
  CHECK(to_us(*step_of(shared, "0F0,0B0,0F1,0B1", 0)) == doctest::Approx(1.5 * 3));
  CHECK(to_us(*step_of(shared, "0F0,0I0,0W0,0F1,0I1,0W1", 0)) == doctest::Approx(1.5 * 6));
}

TEST_CASE("every schedule runs microbatches that differ, with both engines alike") {
  struct Case {
    const char* schedule;
    std::size_t chunks, stages;
  };
  for (const Case& one :
       {Case{"gpipe", 1, 4}, Case{"1f1b", 1, 4}, Case{"zb-h1", 1, 4}, Case{"pipedream", 1, 4},
        Case{"interleaved-1f1b", 2, 8}, Case{"looped-bfs", 2, 8}, Case{"dualpipev", 2, 8},
        Case{"hanayo", 2, 8}, Case{"chimera", 2, 4}}) {
    CAPTURE(one.schedule);
    const nlohmann::json stage{
        {"forward_us", 1}, {"backward_input_us", 1}, {"backward_weight_us", 1}};
    const nlohmann::json document{
        {"model", {{"stages", nlohmann::json(one.stages, stage)}}},
        {"parallel", {{"pipeline", 4}, {"chunks", one.chunks}}},
        {"schedule", {{"name", one.schedule}, {"microbatches", 8}}},
        {"batch", {{"lengths", {{"distribution", "uniform"}, {"max", 100}}}, {"tokens", 100}}}};
    const Scenario scenario = parse_scenario(document.dump(), "s.json");
    const RunResult relaxed = run(scenario);
    const RunResult stepped = run(scenario, {.engine = Engine::events});
    CHECK(result_json(relaxed).dump() == result_json(stepped).dump());
    REQUIRE(relaxed.batch);
    // The busy time of all ranks is that of all documents.
    Time busy{};
    for (const RankReport& rank : relaxed.report->ranks) busy = busy + rank.busy;
    const double tokens = relaxed.batch->batch.sum().tokens;
    CHECK(to_us(busy) == doctest::Approx(3.0 * double(one.stages) * tokens / 100));
  }
}

TEST_CASE("communication as written: what a microbatch takes of memory is what it gives back") {
  const RunResult result = run(
      lengths_scenario(2, 4, "1f1b", "10\n100\n50\n20\n70\n30\n100\n40\n",
                       {"/schedule/communication=written", "/parallel/data=2", "/memory/zero=3",
                        "/model/stages/0/parameter_bytes=4", "/model/stages/1/parameter_bytes=4"}));
  const Plan& plan = *result.plan;
  std::vector<int> taken(plan.buffers.size());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    for (const MemoryEffect& effect : plan.class_of(task).effects) {
      taken[effect.buffer] += effect.takes ? 1 : -1;
    }
  }
  CHECK(std::count(taken.begin(), taken.end(), 0) == std::ssize(taken));
}

TEST_CASE("fused cells of two microbatches take the longer one") {
  nlohmann::json document{
      {"model",
       {{"stages",
         nlohmann::json(
             2, {{"forward_us", 3}, {"backward_input_us", 2}, {"backward_weight_us", 1}})}}},
      {"parallel", {{"pipeline", 1}, {"chunks", 2}}},
      {"schedule", {{"name", "dualpipev"}, {"microbatches", 4}, {"overlap", "fused"}}},
      {"batch", {{"lengths", {{"file", lengths_file("100\n100\n50\n100\n")}}}, {"tokens", 100}}}};
  const RunResult result = run(parse_scenario(document.dump(), "s.json"));
  const Plan& plan = *result.plan;
  bool differs = false;
  for (const TaskId second : plan.followers) {
    const auto length = [&](TaskId task) {
      return result.batch->batch.replicas[0][index(plan.microbatch[task])].packed.tokens / 100;
    };
    const double longer = std::max(3 * length(second - 1), 3 * length(second));
    differs = differs || length(second - 1) != length(second);
    const Time begin = result.timeline.begin[second - 1], end = result.timeline.end[second - 1];
    CHECK(to_us(end - begin) <= doctest::Approx(longer));
    CHECK(to_us(end - begin) >= doctest::Approx(3 * std::min(length(second), 1.0) * 2 / 3));
  }
  CHECK(differs);
}

TEST_CASE("layers by kind: a microbatch of one document costs what a run of its length does") {
  const auto scenario = [](const Settings& settings) {
    return read_scenario(PENSTOCK_ROOT "/experiments/scenarios/small_transformer.json", settings);
  };
  const std::string lengths =
      "/batch={\"lengths\":{\"histogram\":[{\"tokens\":24}]},\"tokens\":48}";
  const Settings plain{"/model/microbatch=1", "/model/sequence=24"};
  const Settings batch{"/model/microbatch=1", "/model/sequence=48", lengths};
  const RunResult own = run(scenario(plain)), documents = run(scenario(batch));
  CHECK(makespan_us(documents) == makespan_us(own));
  CHECK(documents.report->ranks[0].memory.bytes == own.report->ranks[0].memory.bytes);
  CHECK(documents.throughput.tokens_per_s == doctest::Approx(*own.throughput.tokens_per_s));
}

TEST_CASE("new weights hide behind forwards of the microbatches that there are") {
  const auto scenario = [](std::uint32_t sequence, bool drawn) {
    nlohmann::json document{
        {"model",
         {{"file", PENSTOCK_ROOT "/experiments/models/llama-3.1-8b.json"}, {"sequence", sequence}}},
        {"hardware", {{"name", "hgx-a100-4-nics"}, {"devices", 32}}},
        {"parallel", {{"data", 32}}},
        {"memory", {{"zero", 1}}},
        {"schedule", {{"name", "1f1b"}, {"microbatches", 4}}}};
    if (drawn) document["batch"]["lengths"] = {{"distribution", "fixed"}, {"mean", 1024}};
    return parse_scenario(document.dump(), "s.json", {});
  };
  const RunResult drawn = run(scenario(8192, true));
  CHECK(makespan_us(drawn) == makespan_us(run(scenario(1024, false))));
  CHECK(drawn.batch->pipeline + drawn.batch->replicas == Time{});
}

TEST_CASE("experts with equal loads take what they do without any, whatever their number") {
  const auto scenario = [](bool routed) {
    const nlohmann::json attention{{"kind", "attention"}, {"hidden", 4096}, {"heads", 32}};
    const nlohmann::json moe{{"kind", "moe"},
                             {"hidden", 4096},
                             {"experts", 8},
                             {"chosen", 2},
                             {"expert_intermediate", 14336}};
    nlohmann::json document{
        {"model", {{"sequence", 1024}, {"layers", {{{"repeat", 2}, {"parts", {attention, moe}}}}}}},
        {"hardware", {{"name", "dgx-h100"}}},
        {"parallel", {{"pipeline", 1}, {"data", 2}, {"expert", 2}}},
        {"schedule", {{"name", "1f1b"}, {"microbatches", 16}}},
        {"batch", {{"lengths", {{"distribution", "fixed"}, {"mean", 1024}}}}}};
    if (routed) document["batch"]["router"] = {{"skew", 1.0}};
    return parse_scenario(document.dump(), "s.json", {});
  };
  CHECK(makespan_us(run(scenario(true))) == makespan_us(run(scenario(false))));
}

TEST_CASE("experts take what the busiest device of their group receives") {
  // Loads 3 1 | 1 1 on two devices: the first has 4 of 6, 4/3 of the mean.
  static const Scratch scratch;
  const std::string loads = scratch.file("loads.txt", "3\n1\n1 # the third\n1\n");
  const auto scenario = [&](double imbalance, bool routed) {
    const nlohmann::json attention{{"kind", "attention"}, {"hidden", 512}, {"heads", 8}};
    const nlohmann::json moe{{"kind", "moe"},
                             {"hidden", 512},
                             {"experts", 4},
                             {"chosen", 1},
                             {"expert_intermediate", 512},
                             {"imbalance", imbalance}};
    nlohmann::json document{
        {"model", {{"sequence", 4096}, {"layers", {{{"repeat", 4}, {"parts", {attention, moe}}}}}}},
        {"hardware", {{"name", "dgx-h100"}}},
        {"parallel", {{"pipeline", 2}, {"data", 2}, {"expert", 2}}},
        {"schedule", {{"name", "gpipe"}, {"microbatches", 2}}},
        {"batch", {{"lengths", {{"histogram", {{{"tokens", 2048}}}}}}}}};
    if (routed) document["batch"]["router"] = {{"file", loads}};
    return parse_scenario(document.dump(), "s.json");
  };
  const RunResult routed = run(scenario(1, true));
  CHECK(makespan_us(routed) == makespan_us(run(scenario(4.0 / 3, false))));
  const BatchReport& report = *routed.batch;
  CHECK(report.experts > Time{});
  CHECK(report.equal + report.pipeline + report.experts + report.replicas == report.step);
  CHECK(to_us(report.step - report.experts) == makespan_us(run(scenario(1, false))));
}

TEST_CASE("a replica that is not shown runs out of memory too") {
  const RunResult enough = run(unlike_replicas(1000));
  CHECK(enough.batch->slowest == 1);
  CHECK(enough.batch->peak.replica == 0);
  CHECK(enough.findings.empty());
  const RunResult lacking = run(unlike_replicas(950));
  REQUIRE(lacking.findings.size() == 1);
  CHECK(lacking.findings[0].text == "rank 0 of replica 0 needs 1000 B of 950 B");
}

TEST_CASE("all who judge memory judge it by all data replicas") {
  const Scenario scenario = unlike_replicas(950);
  const RunResult result = run(scenario);
  CHECK(result.report->ranks[0].memory.bytes == 900);  // of the slowest replica, which is shown
  CHECK(worst_memory(result).word == MemoryWord::does_not_fit);
  CHECK(worst_memory(result).interval.least == 1000);
  const std::string summary = run_summary(result);
  CAPTURE(summary);
  CHECK(says(summary, "50 B over (worst rank: 0 of replica 0)\n"));
  CHECK(says(summary, "does not fit"));
  const TriedChange now = without_change(scenario, result);
  CHECK(now.word == MemoryWord::does_not_fit);
  CHECK(now.peak_bytes == 1000);
  const Trial trial = try_layout(scenario, read_catalogue(), std::make_shared<Clusters>(), true);
  CHECK(trial.word == MemoryWord::does_not_fit);
  CHECK(trial.peak_bytes == 1000);
}

TEST_CASE("what is counted of a run with documents is what was simulated") {
  const RunResult result = run(lengths_scenario(2, 4, "1f1b", "10\n20\n70\n80\n"));
  const auto counted = counted_memory_peaks(*result.plan, result.costs, result.timeline);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(counted[rank] == result.report->ranks[rank].memory.bytes);
  }
}

}  // namespace penstock::testing
