#include "experiments/run/simulation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/result_json.hpp"
#include "sim/base/error.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

constexpr const char* simulation_pipeline = R"({
  "model":    { "stages": [ {"forward_us": 1, "backward_us": 2, "activation_bytes": 500},
                            {"forward_us": 2, "backward_us": 3, "activation_bytes": 500},
                            {"forward_us": 1, "backward_us": 1, "activation_bytes": 500} ] },
  "hardware": { "name": "ideal", "latency_us": 0.5, "bandwidth_bytes_per_s": 1e9 },
  "schedule": { "name": "1f1b", "microbatches": 6 }
})";

RunResult simulation_ran(const std::string& source, const std::vector<std::string>& settings,
                         Engine engine = Engine::automatic) {
  return run(parse_scenario(simulation_pipeline, source, settings), {.engine = engine});
}

/// Equal stages that pass on 1 MB in four microbatches.
RunResult over_machines(const char* machine, std::size_t pipeline, std::size_t tensor,
                        std::size_t data) {
  const nlohmann::json stage{{"forward_us", 100},
                             {"backward_us", 200},
                             {"activation_bytes", 1'000'000},
                             {"parameter_bytes", 1'000'000}};
  const nlohmann::json scenario{
      {"model", {{"stages", std::vector<nlohmann::json>(pipeline, stage)}}},
      {"hardware", {{"name", machine}}},
      {"parallel", {{"pipeline", pipeline}, {"tensor", tensor}, {"data", data}}},
      {"schedule", {{"name", "1f1b"}, {"microbatches", 4}}}};
  return run(parse_scenario(scenario.dump(), "s.json"));
}

/// What a machine says of a link between a device or a NIC and a switch.
double rate_of(const std::string& link, const RunResult& result) {
  const bool of_nic = says(link, "rail");
  const bool of_pcie = !of_nic && says(link, "nic");
  const std::string kind = of_nic ? "nic" : of_pcie ? "pcie" : "nvlink";
  return result.layout.hardware.spec.topology->parameters.at(kind + "_bandwidth_bytes_per_s");
}

}  // namespace

TEST_CASE("both engines give the same result to the last digit where both apply") {
  for (const char* setting :
       {"/schedule/microbatches=6", "/chance={\"jitter\": 0.2}", "/overheads={\"issue_us\": 1.5}",
        "/schedule={\"name\": \"gpipe\", \"microbatches\": 5}"}) {
    CAPTURE(setting);
    CHECK(result_json(simulation_ran("s.json", {setting}, Engine::relax)).dump() ==
          result_json(simulation_ran("s.json", {setting}, Engine::events)).dump());
  }
}

TEST_CASE("utilization of a physical link is its bytes over makespan and bandwidth") {
  struct Degrees {
    std::size_t pipeline, tensor, data;
  };
  for (const char* machine : {"hgx-a100-4-nics", "dgx-h100"}) {
    for (const Degrees& degrees : {Degrees{2, 1, 8}, {2, 2, 4}, {4, 1, 4}, {2, 1, 16}}) {
      const RunResult result =
          over_machines(machine, degrees.pipeline, degrees.tensor, degrees.data);
      const double makespan_s = to_us(result.report->makespan) * 1e-6;
      REQUIRE_FALSE(result.report->network.empty());
      for (const NetworkLinkUse& use : result.report->network) {
        CAPTURE(machine);
        CAPTURE(use.name);
        CHECK(static_cast<double>(use.bytes) ==
              doctest::Approx(use.utilization * makespan_s * rate_of(use.name, result)));
      }
    }
  }
}

TEST_CASE("a NIC carries the traffic of all devices of a rank that share it") {
  // Two devices share a NIC of the first machine, each has its own in the second.
  const std::map<std::string, std::uint64_t> sharers{{"hgx-a100-4-nics", 2}, {"dgx-h100", 1}};
  for (const auto& [machine, devices] : sharers) {
    const RunResult result = over_machines(machine.c_str(), 2, 1, 8);
    const auto use = std::ranges::find(result.report->network, "nic0>rail0", &NetworkLinkUse::name);
    REQUIRE(use != result.report->network.end());
    CHECK(use->transfers == 4 * devices);
    CHECK(use->bytes == 4'000'000 * devices);
  }
}

TEST_CASE("an order that a policy chose is exported, and takes the same times from the file") {
  const Scratch scratch;
  for (const char* policy : {"backward-first", "memory-bounded", "first-come"}) {
    CAPTURE(policy);
    const std::string chosen =
        R"(/schedule={"microbatches": 6, "policy": ")" + std::string(policy) + "\"}";
    const RunResult decided = simulation_ran("s.json", {chosen});
    scratch.file("order.csv", write_torch_csv(decided.layout.schedule).text);
    const RunResult again =
        simulation_ran(scratch.path("s.json"), {"/schedule={\"file\": \"order.csv\"}"});
    CHECK(again.timeline.begin == decided.timeline.begin);
    CHECK(again.timeline.end == decided.timeline.end);
  }
}

TEST_CASE("a policy decides anew in every draw of chance") {
  // With jitter the draws differ, and the first of the repeated ones is the one reported.
  const Scenario scenario =
      parse_scenario(simulation_pipeline, "s.json",
                     {R"(/schedule={"policy": "backward-first", "microbatches": 6})",
                      R"(/chance={"jitter": 0.3})"});
  const RunResult result = run(scenario, {.repeat = 20});
  REQUIRE(result.repeated);
  CHECK(result.repeated->sorted.size() == 20);
  CHECK(result.repeated->makespans.front() == result.report->makespan);
  CHECK(result.repeated->sorted.front() < result.repeated->sorted.back());
}

TEST_CASE("a timeline is read back whatever the ranks waited for") {
  for (const char* setting :
       {R"(/hardware/transfers={"blocking": true})", R"(/hardware/transfers={"rendezvous": true})",
        R"(/hardware/transfers={"in_flight": 1})",
        R"(/memory={"capacity_bytes": 100000, "policy": "stall"})",
        R"(/overheads={"compute_slowdown_by_transfer": 1.5})"}) {
    CAPTURE(setting);
    const RunResult result = simulation_ran("s.json", {setting});
    REQUIRE(result.plan);
    const Recording recording =
        read_timeline(write_timeline(*result.plan, result.timeline, result.title));
    CHECK(recording.timeline.last_input == result.timeline.last_input);
    CHECK(recording.timeline.slowed == result.timeline.slowed);
    CHECK(recording.timeline.memory_wait == result.timeline.memory_wait);
  }
}

TEST_CASE("to stall, a run needs a capacity; to offload, an order that is known before") {
  CHECK_THROWS_WITH_AS(simulation_ran("s.json", {R"(/memory={"policy": "stall"})"}),
                       "s.json: /memory/policy: to stall needs a capacity; give "
                       "\"capacity_bytes\" too",
                       InputError);
  CHECK_THROWS_WITH_AS(
      simulation_ran("s.json", {R"(/schedule={"policy": "first-come", "microbatches": 6})",
                                R"(/offload={"keep": 1})"}),
      "s.json: /offload/keep: it goes with an order that is known before; a policy "
      "decides as it runs",
      InputError);
}

TEST_CASE("an order without flushes says what the sums of its replicated stages would cost") {
  const auto notes = [](const char* hardware) {
    const RunResult result = run(parse_scenario(R"({
      "model":     { "stages": [ {"forward_us": 1, "backward_us": 2, "parameter_bytes": 100},
                                 {"forward_us": 3, "backward_us": 6, "parameter_bytes": 3e9} ] },
      "hardware":  )" + std::string(hardware) + R"(,
      "partition": { "ranks": [[0], [1, 2, 3]] },
      "schedule":  { "name": "pipedream", "microbatches": 48 } })",
                                                "s.json"));
    std::string text;
    for (const std::string& note : result.notes) text += note + "\n";
    return text;
  };
  // Each of 3 ranks sends 2/3 of 3e9 bytes twice, at 1e9 bytes/s.
  const std::string cost =
      "gradients of replicated stages are summed at no cost, since the order has no flush: for "
      "stage 1, 2.794 GiB over 3 ranks";
  CHECK(notes(R"({"name": "ideal", "bandwidth_bytes_per_s": 1e9})") ==
        cost + " and 4 s each time\n");
  CHECK(notes(R"({"name": "ideal"})") == cost + " each time\n");
}

TEST_CASE("a time that a profile lacks leads to its rows that are not used, if there are any") {
  const std::string path =
      PENSTOCK_ROOT "/tests/scenarios/a_profile_gives_times_between_its_points.json";
  Layout layout = settle(read_scenario(path, {"/schedule/name=zb-h1"}));
  const auto refusal = [&] { return refused_with<InputError>([&] { run(Layout(layout)); }); };
  const std::string missing = refusal();
  CHECK(says(missing, "_us is missing in layer"));
  CHECK(!says(missing, "profile check"));
  layout.hardware.spec.profile->unused_rows = 2;
  CHECK(refusal() == missing + unused_text(*layout.hardware.spec.profile));
}

}  // namespace penstock::testing
