#include "experiments/input/formats/chakra.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "tests/support/chakra_reader.hpp"
#include "tests/support/chakra_replay.hpp"
#include "tests/support/chakra_runs.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/says.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Links as in the scenarios, and a ring of two replicas: a sum goes round it twice and the other
/// collectives once, each time in one step, with half of what is summed or the share that is
/// gathered.
const ReplayNetwork links_of_the_scenario{
    .message =
        [](std::uint64_t bytes) {
          return Carriage{from_us(static_cast<double>(bytes) / 1000), from_us(1.5)};
        },
    .collective =
        [](const ReadNode& node) {
          const double size = static_cast<double>(node.numbers.at("comm_size"));
          const std::uint64_t type = node.numbers.at("comm_type");
          const double rounds = type == 0 ? 2 : 1;
          const double step_us = (type == 2 ? size : size / 2) / 1000;
          return Carriage{from_us(rounds * step_us), from_us(rounds * 1.5)};
        },
};

const ReadNode& node_of(const ReadTrace& trace, const std::string& name) {
  for (const ReadNode& node : trace.nodes) {
    if (node.name == name) return node;
  }
  throw std::runtime_error("no node " + name);
}

std::uint64_t computed_us(const ReadTrace& trace) {
  std::uint64_t sum = 0;
  for (const ReadNode& node : trace.nodes) sum += node.duration_micros;
  return sum;
}

/// The traces of a run without data replicas, by rank.
std::vector<ReadTrace> traces_of(const Outcome& outcome) {
  const ExecutionTrace trace = execution_trace(outcome.plan, outcome.costs, {});
  std::vector<ReadTrace> devices;
  for (Rank rank : Numbers<Rank>(outcome.plan.ranks)) {
    devices.push_back(read_chakra(chakra_trace(outcome.plan, trace, 0, rank)));
  }
  return devices;
}

void check_replay(const json& scenario) {
  const RunResult result = chakra_run(scenario);
  const Written all = written(result);
  CHECK(trace_fault(all.devices).empty());
  const Time makespan = replay(all.devices, links_of_the_scenario).makespan;
  CHECK(text_us(makespan) == text_us(result.report->makespan));
  for (std::size_t d = 0; d < all.devices.size(); ++d) {
    const RankReport& rank = result.report->ranks[d % result.plan->ranks];
    CHECK(static_cast<double>(computed_us(all.devices[d])) == to_us(rank.busy));
  }
}

}  // namespace

TEST_CASE("chakra: a trace begins with its version, and a node says what it is and waits for") {
  // Rank 1 of 2, one microbatch: it receives, runs F and then B, and sends the gradient back.
  const Written all = written(chakra_run(chakra_scenario("1f1b", 2, 1)));
  REQUIRE(all.devices.size() == 2);
  const ReadTrace& trace = all.devices[1];
  CHECK(trace.version == "0.0.4");
  REQUIRE(trace.nodes.size() == 4);

  const ReadNode& receives = node_of(trace, "0RECV_F0");
  CHECK(receives.type == comm_recv_node);
  CHECK(receives.data_deps.empty());
  CHECK(receives.numbers.at("comm_src") == 0);
  CHECK(receives.numbers.at("comm_dst") == 1);
  CHECK(receives.numbers.at("comm_size") == 2000);
  const ReadNode& forward = node_of(trace, "1F0");
  CHECK(forward.type == comp_node);
  CHECK(forward.data_deps == std::vector{receives.id});
  CHECK(forward.duration_micros == 4);
  CHECK(forward.numbers.at("stage") == 1);
  CHECK(forward.numbers.at("microbatch") == 0);
  CHECK(forward.numbers.at("is_cpu_op") == 0);
  const ReadNode& backward = node_of(trace, "1B0");
  CHECK(backward.data_deps == std::vector{forward.id});
  CHECK(backward.duration_micros == 10);
  const ReadNode& sends = node_of(trace, "1SEND_B0");
  CHECK(sends.type == comm_send_node);
  CHECK(sends.data_deps == std::vector{backward.id});
  CHECK(all.groups.empty());
  CHECK(all.missing.empty());
}

TEST_CASE("chakra: attributes have the types that feeders of ASTRA-sim read them as") {
  // A feeder that reads an attribute as another type than it was written as reads 0. Fields of a
  // value: 7 int32, 9 int64, 13 uint64, 27 bool, 29 string.
  json scenario = chakra_scenario("gpipe", 2, 2);
  scenario["parallel"] = {{"data", 2}};
  scenario["offload"] = {{"keep", 1}};
  const Written all = written(chakra_run(scenario));
  const std::map<std::string, std::uint32_t> fields = {
      {"is_cpu_op", 27}, {"comm_src", 7},     {"comm_dst", 7}, {"comm_tag", 7},
      {"comm_size", 9},  {"comm_type", 9},    {"pg_name", 29}, {"stage", 9},
      {"microbatch", 9}, {"tensor_size", 13}, {"num_ops", 9}};
  std::map<std::string, std::uint32_t> found;
  for (const ReadTrace& trace : all.devices) {
    for (const ReadNode& node : trace.nodes) found.insert(node.fields.begin(), node.fields.end());
  }
  CHECK(found == fields);
}

TEST_CASE("chakra: an independent replay of the traces takes as long as the run") {
  check_replay(chakra_scenario("1f1b", 4, 6));
  check_replay(chakra_scenario("zb-h1", 4, 6));
  check_replay(
      chakra_scenario("interleaved-1f1b", 8, 8)
          .patch(json::parse(
              R"([{"op": "add", "path": "/parallel", "value": {"pipeline": 4, "chunks": 2}}])")));
  check_replay(without_weights(chakra_scenario("chimera", 4, 4)));
  check_replay(without_weights(chakra_scenario("dualpipe", 4, 8)));
  check_replay(chakra_scenario("gpipe", 4, 6));
}

TEST_CASE("chakra: sums over data replicas replay as they ran") {
  for (const int zero : {0, 1, 2}) {
    CAPTURE(zero);
    json scenario = chakra_scenario("gpipe", 4, 6);
    scenario["parallel"] = {{"data", 2}};
    scenario["memory"] = {{"zero", zero}};
    scenario["overheads"] = {{"optimizer_us", 5}};
    check_replay(scenario);
  }
}

TEST_CASE("chakra: fused overlap cells are one node each") {
  json scenario = without_weights(chakra_scenario("dualpipe", 4, 8));
  scenario["schedule"]["overlap"] = "fused";
  check_replay(scenario);
  std::size_t pairs = 0;
  for (const ReadTrace& trace : written(chakra_run(scenario)).devices) {
    for (const ReadNode& node : trace.nodes) {
      if (!says(node.name, "+")) continue;
      ++pairs;
      CHECK(node.type == comp_node);
      CHECK(node.duration_micros == 10);  // of F and B the longer
    }
  }
  CHECK(pairs > 0);
}

TEST_CASE("chakra: tied embeddings are exchanged by messages behind the last backward of an end") {
  json scenario = chakra_scenario("1f1b", 2, 2);
  scenario["model"]["tied_embedding_bytes"] = 5000;
  scenario["overheads"] = {{"optimizer_us", 2}};
  check_replay(scenario);
  const Written all = written(chakra_run(scenario));
  std::size_t exchanged = 0;
  for (const ReadTrace& trace : all.devices) {
    for (const ReadNode& node : trace.nodes) {
      if (says(node.name, "TIE")) {
        ++exchanged;
        CHECK(node.numbers.at("comm_size") == 5000);
      }
    }
  }
  CHECK(exchanged == 4);  // sent and received in both directions
}

TEST_CASE("chakra: each data replica has devices of its own, and a rank's copies are a group") {
  // 2 ranks in 3 replicas: replica k has devices 2k and 2k + 1, and sums go over {0, 2, 4} for
  // rank 0, group 1, and {1, 3, 5} for rank 1, group 2. All-reduces are of type 0 and take all of
  // a stage's 1'000'000 bytes.
  json scenario = chakra_scenario("1f1b", 2, 2);
  scenario["parallel"] = {{"data", 3}};
  const Written all = written(chakra_run(scenario));
  REQUIRE(all.devices.size() == 6);
  CHECK(json::parse(all.groups) == json::parse(R"({"1": [0, 2, 4], "2": [1, 3, 5]})"));
  CHECK(trace_fault(all.devices).empty());
  for (std::size_t d = 0; d < 6; ++d) {
    CAPTURE(d);
    const ReadNode& sum = node_of(all.devices[d], fmt::format("{}REDUCE1", d % 2));
    CHECK(sum.type == comm_coll_node);
    CHECK(sum.words.at("pg_name") == (d % 2 == 0 ? "1" : "2"));
    CHECK(sum.numbers.at("comm_type") == 0);
    CHECK(sum.numbers.at("comm_size") == 1'000'000);
    CHECK(sum.data_deps == std::vector{node_of(all.devices[d], fmt::format("{}B1", d % 2)).id});
  }
}

TEST_CASE("chakra: experts that all data replicas hold once together are in no sum") {
  // A router of 64 x 8 weights in 2 bytes, whose gradients have 4; experts of 3 x 64 x 32.
  json scenario = json::parse(R"({
    "model": {"layers": [{"kind": "moe", "hidden": 64, "experts": 8, "chosen": 2,
                          "expert_intermediate": 32, "repeat": 2}], "sequence": 128},
    "hardware": {"name": "dgx-a100"}, "parallel": {"pipeline": 2, "data": 4, "expert": 4},
    "schedule": {"name": "1f1b", "microbatches": 2}})");
  const auto bytes = [](const Written& all) {
    return node_of(all.devices[0], "0REDUCE1").numbers.at("comm_size");
  };
  const Written once = written(chakra_run(scenario));
  REQUIRE(once.devices.size() == 8);
  CHECK(bytes(once) == 4 * 64 * 8);
  CHECK_FALSE(says(once, "experts are summed"));
  // Two replicas hold all experts: a sum of theirs is not over all replicas, as the traces have it.
  scenario["parallel"]["expert"] = 2;
  const Written twice = written(chakra_run(scenario));
  CHECK(bytes(twice) == 4 * (64 * 8 + 4 * 3 * 64 * 32));
  CHECK(says(twice, "experts are summed over all data replicas"));
}

TEST_CASE("chakra: with ZeRO sums scatter, and the new weights are gathered behind the update") {
  // Over 2 replicas, a sum takes all 1'000'000 bytes of a stage, and of the new weights each
  // brings its half. Reduce-scatter is type 7, all-gather type 2.
  json scenario = chakra_scenario("1f1b", 2, 1);
  scenario["parallel"] = {{"data", 2}};
  scenario["memory"] = {{"zero", 1}};
  const Written all = written(chakra_run(scenario));
  const ReadNode& sum = node_of(all.devices[0], "0REDUCE0");
  CHECK(sum.numbers.at("comm_type") == 7);
  CHECK(sum.numbers.at("comm_size") == 1'000'000);
  const ReadNode& update = node_of(all.devices[0], "0U0");
  CHECK(update.data_deps == std::vector{sum.id, node_of(all.devices[0], "0B0").id});
  const ReadNode& gathered = node_of(all.devices[0], "0GATHER0");
  CHECK(gathered.numbers.at("comm_type") == 2);
  CHECK(gathered.numbers.at("comm_size") == 500'000);
  CHECK(gathered.data_deps == std::vector{update.id});
}

TEST_CASE("chakra: parts of microseconds are kept to the nanosecond for ASTRA-sim's roofline") {
  // 0.45 us are 450 ns: 450'500 operations at 1,000 a nanosecond.
  json scenario = chakra_scenario("1f1b", 4, 8);
  for (json& stage : scenario["model"]["stages"]) {
    stage["forward_us"] = stage["backward_input_us"] = stage["backward_weight_us"] = 0.45;
  }
  const RunResult result = chakra_run(scenario);
  const Written all = written(result);
  const ReadNode& forward = node_of(all.devices[0], "0F0");
  CHECK(forward.numbers.at("num_ops") == 450'500);
  CHECK(forward.numbers.at("tensor_size") == 1);
  CHECK(replay(all.devices, links_of_the_scenario).makespan == result.report->makespan);
}

TEST_CASE("chakra: network and system of ASTRA-sim stand beside the traces") {
  // 1e9 bytes/s are 1e9 / 2^30 of what ASTRA-sim calls GB/s, cut by a 10^13th.
  const Written all = written(chakra_run(chakra_scenario("1f1b", 4, 8)));
  CHECK(all.network ==
        fmt::format("topology: [ FullyConnected ]\nnpus_count: [ 4 ]\nbandwidth: [ {} ]  # GiB/s, "
                    "though ASTRA-sim calls it GB/s\nlatency: [ 1500 ]  # ns\n",
                    1e9 / 1073741824.0 * (1 - 1e-13)));
  const json system = json::parse(all.system);
  CHECK(system["roofline-enabled"] == 1);
  CHECK(system["peak-perf"] == 1);
  // What ASTRA-sim makes of the bandwidth: whole nanoseconds stay whole when it cuts off.
  const double bytes_per_ns =
      std::stod(all.network.substr(all.network.find("bandwidth: [ ") + 13)) * 1073741824.0 / 1e9;
  for (const double bytes : {1.0, 2000.0, 3e6, 7e9}) {
    CHECK(std::floor(bytes / bytes_per_ns) == bytes);
  }
}

TEST_CASE("chakra: microseconds are whole, and their sums are right to half a one") {
  // Forwards of 0.3 us: after 1, 2, 3, 4 and 5 of them 0.3, 0.6, 0.9, 1.2 and 1.5 us have gone,
  // which round to 0, 1, 1, 1 and 2.
  json scenario = chakra_scenario("forward-only", 1, 5);
  scenario["model"]["stages"][0]["forward_us"] = 0.3;
  std::vector<std::uint64_t> micros;
  const Written all = written(chakra_run(scenario));
  for (const ReadNode& node : all.devices.at(0).nodes) {
    micros.push_back(node.duration_micros);
  }
  CHECK(micros == std::vector<std::uint64_t>{0, 1, 0, 0, 1});
}

TEST_CASE("chakra: what goes to the host's memory and back are memory nodes") {
  // gpipe keeps 2 of 3 activations of 3000 bytes: one leaves behind its F and comes back for its B.
  json scenario = chakra_scenario("gpipe", 1, 3);
  scenario["offload"] = {{"keep", 2}};
  const Written all = written(chakra_run(scenario));
  std::vector<const ReadNode*> stores, loads;
  for (const ReadNode& node : all.devices.at(0).nodes) {
    if (node.type == mem_store_node) stores.push_back(&node);
    if (node.type == mem_load_node) loads.push_back(&node);
  }
  REQUIRE(!stores.empty());
  REQUIRE(stores.size() == loads.size());
  CHECK(stores[0]->numbers.at("tensor_size") == 3000);
  for (const ReadNode* load : loads) {
    CHECK(load->data_deps.size() == 2);  // the L that asks, and what was stored
  }
  CHECK(says(all, "memory nodes"));
}

TEST_CASE("chakra: what another rank keeps comes back when it is asked for") {
  const Written all = written(chakra_run(chakra_scenario("bpipe", 4, 8)));
  CHECK(trace_fault(all.devices).empty());
  CHECK(replay(all.devices, links_of_the_scenario).makespan > Time{});
  std::size_t asked = 0, sent_back = 0;
  for (const ReadTrace& trace : all.devices) {
    for (const ReadNode& node : trace.nodes) {
      if (node.name.find("ASKED_") == 0) ++asked;
      if (!says(node.name, "SEND_L")) continue;
      ++sent_back;
      const ReadNode& question = trace.nodes.at(node.data_deps.at(0));
      CHECK(question.name.find("ASKED_") == 0);
      CHECK(question.numbers.at("comm_size") == 1);
    }
  }
  CHECK(asked == sent_back);
  CHECK(asked > 0);
  CHECK(says(all, fmt::format("{} actions ask another rank", asked)));
}

TEST_CASE("chakra: an update waits for what the other copies of its stage have summed") {
  // Both directions hold both stages: each of the two updates of a rank waits for its own sum, and
  // asks the other rank for its.
  json scenario = chakra_scenario("chimera", 2, 2);
  scenario["parallel"] = {{"data", 2}};
  scenario["overheads"] = {{"optimizer_us", 5}};
  const Written all = written(chakra_run(scenario));
  CHECK(trace_fault(all.devices).empty());
  CHECK(says(all, "4 actions ask another rank"));
  for (const ReadTrace& trace : all.devices) {
    std::size_t asked = 0, updates = 0;
    for (const ReadNode& node : trace.nodes) {
      asked += node.name.starts_with("ASKED_");
      if (!says(node.name, "U") || node.type != comp_node) continue;
      ++updates;
      const std::set<std::uint64_t> needs(node.data_deps.begin(), node.data_deps.end());
      CHECK(needs.size() == node.data_deps.size());
      std::size_t sums = 0;
      for (const std::uint64_t need : needs) {
        sums += says(trace.nodes[need].name, "REDUCE");
      }
      CHECK(sums == 2);
    }
    CHECK(updates == 2);
    CHECK(asked == 2);
  }
}

TEST_CASE("chakra: without data replicas, copies of a stage on several ranks sum by messages") {
  // Three replicas of the second stage pass on gradients once round: a message each. Each update
  // waits for all three, of which one went past its rank: it asks for that.
  json scenario = chakra_scenario("gpipe", 2, 3);
  scenario["partition"] = {{"stages", {{0}, {1}}}, {"ranks", {{0}, {1, 2, 3}}}};
  scenario["overheads"] = {{"optimizer_us", 5}};
  const Written all = written(chakra_run(scenario));
  CHECK(trace_fault(all.devices).empty());
  CHECK(says(all, "3 actions ask another rank"));
  CHECK(says(all, "one message from each to the next"));
  CHECK(all.groups.empty());
}

TEST_CASE("chakra: whatever the system, traces are sound and replay as it runs") {
  CHECK(rc::check([] {
    System system = random_system({.exchanges = false});
    // Collectives among the devices of a rank are no part of traces.
    system.extras.tail.reduces.clear();
    system.extras.tail.gathers = system.extras.tail.across_ranks = false;
    system.training = {};
    system.training.tied_embedding_bytes = 3000;
    system.hardware = link(1.5, 1e9);
    for (Layer& stage : system.stages) stage.activation_bytes += 1000;
    const Outcome outcome = simulated(system);
    const std::vector<ReadTrace> devices = traces_of(outcome);
    RC_ASSERT(trace_fault(devices).empty());
    // Between two messages, what a rank computes is off by less than a nanosecond.
    const Replayed replayed = replay(devices, links_of_the_scenario);
    const double off = to_us(replayed.makespan) - to_us(outcome.report.makespan);
    RC_ASSERT(std::abs(off) <= (replayed.hops + 1.0) * 1e-3);
    for (std::size_t r = 0; r < devices.size(); ++r) {
      const double busy = to_us(outcome.report.ranks[r].busy);
      RC_ASSERT(std::abs(static_cast<double>(computed_us(devices[r])) - busy) <= 0.5);
    }
  }));
}

TEST_CASE("chakra: whatever the system, in whole microseconds its traces replay to the byte") {
  CHECK(rc::check([] {
    System system = random_system({.exchanges = false});
    system.extras.tail = {};
    system.training = {};
    system.hardware = link(1.5, 1e9);
    for (Layer& stage : system.stages) {
      stage.activation_bytes += 1000;
      for (auto* time : {&stage.forward_us, &stage.backward_us, &stage.backward_input_us,
                         &stage.backward_weight_us}) {
        if (*time) *time = std::ceil(**time);
      }
      stage.recompute_us = std::ceil(stage.recompute_us);
    }
    const Outcome outcome = simulated(system);
    RC_ASSERT(replay(traces_of(outcome), links_of_the_scenario).makespan ==
              outcome.report.makespan);
  }));
}

}  // namespace penstock::testing
