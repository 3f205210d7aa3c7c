#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/show/results/chakra_files.hpp"
#include "sim/base/error.hpp"
#include "tests/support/chakra_runs.hpp"
#include "tests/support/scratch.hpp"

// What traces for ASTRA-sim cannot carry, and their files.

namespace penstock::testing {
namespace {

using nlohmann::json;

/// A key of a scenario, and what its value has traces say; empty: nothing.
struct SaidCase {
  const char* pointer;
  json value;
  const std::string what;
};

void check_said(const json& usual, const std::vector<SaidCase>& examples) {
  for (const SaidCase& example : examples) {
    CAPTURE(example.pointer);
    CAPTURE(example.what);
    json scenario = usual;
    scenario[json::json_pointer(example.pointer)] = example.value;
    const Written all = written(chakra_run(scenario));
    CHECK(all.missing.empty() == example.what.empty());
    if (!example.what.empty()) CHECK(says(all, example.what));
  }
}

}  // namespace

TEST_CASE("chakra: what traces cannot carry is named") {
  check_said(chakra_scenario("1f1b", 2, 2),
             {{"/hardware", {{"name", "ideal"}, {"transfer_us", 2}, {"devices", 2}}, ""},
              {"/model/stages/0/activation_bytes", 0, "4 transfers have no bytes"},
              {"/overheads", {{"launch_us", 1}}, "launch actions"},
              {"/overheads", {{"compute_slowdown_by_transfer", 1.5}}, "slow each other down"},
              {"/chance", {{"transfer_jitter", 0.1}}, "chance"},
              {"/memory", {{"capacity_bytes", 1e9}, {"policy", "stall"}}, "waiting for memory"}});
}

TEST_CASE("chakra: traces are written again over those of Penstock, and over no others") {
  json scenario = chakra_scenario("1f1b", 2, 2);
  scenario["parallel"] = {{"data", 2}};
  const RunResult result = chakra_run(scenario);
  const Scratch scratch;
  const auto write = [&] {
    OutputSet files;
    write_chakra_files(scratch.path("t"), result, files);
    files.publish();
  };
  scratch.file("t.groups.json", R"({"1": [0, 1]})");
  CHECK_THROWS_AS(write(), UsageError);
  std::filesystem::remove(scratch.path("t.groups.json"));
  write();
  CHECK_NOTHROW(write());
  CHECK(written(result).devices.front().comment == own_mark);
}

TEST_CASE("chakra: where ASTRA-sim's rules change the times is named") {
  json scenario = chakra_scenario("1f1b", 3, 4);
  check_said(scenario,
             {{"/model/stages/0/forward_us", 0.5, "sends one at a time"},
              {"/model/stages/1/forward_us", 0, "actions take no time here and a nanosecond"},
              {"/model/stages/1/backward_weight_us", 2.5, ""},
              {"/parallel", {{"data", 2}}, "collectives take what rings"}});
  // One send at a time here too: nothing changes.
  scenario["model"]["stages"][0]["forward_us"] = 0.5;
  scenario["hardware"]["transfers"] = {{"sends_in_flight", 1}};
  CHECK(written(chakra_run(scenario)).missing.empty());
}

TEST_CASE("chakra: a rank that has nothing to do has a trace all the same, and that is said") {
  // Two replicas of the second stage share one microbatch: the first runs it.
  json scenario = chakra_scenario("gpipe", 2, 1);
  scenario["model"]["stages"][1]["parameter_bytes"] = 0;  // nothing to sum either
  scenario["partition"] = {{"stages", {{0}, {1}}}, {"ranks", {{0}, {1, 2}}}};
  const Written all = written(chakra_run(scenario));
  REQUIRE(all.devices.size() == 3);
  CHECK(all.devices[2].nodes.empty());
  CHECK(says(all, "1 rank does nothing"));
}

TEST_CASE("chakra: copies of a stage in both directions are summed over replicas alone") {
  json scenario = chakra_scenario("chimera", 4, 4);
  scenario["parallel"] = {{"data", 2}};
  CHECK(says(written(chakra_run(scenario)), "copies of a stage on several ranks"));
}

TEST_CASE("chakra: files are told by their names") {
  CHECK(chakra_path("out/t", 12) == "out/t.12.et");
  for (const char* path :
       {"t.0.et", "t.12.et", "t.groups.json", "t.network.yml", "t.system.json"}) {
    CHECK(is_chakra_path("t", path));
  }
  for (const char* path : {"t", "t.et", "t..et", "t.1x.et", "t.json", "u.1.et", "t0.et", ""}) {
    CAPTURE(path);
    CHECK(!is_chakra_path("t", path));
  }
}

TEST_CASE("chakra: more files than anyone wants are refused before one is written") {
  json scenario = chakra_scenario("1f1b", 2, 1);
  scenario["parallel"] = {{"data", 32'769}};
  const RunResult result = chakra_run(scenario);
  const Scratch scratch;
  OutputSet files;
  CHECK_THROWS_AS(write_chakra_files(scratch.path("t"), result, files), UsageError);
  CHECK(files.size() == 0);
  CHECK(!std::filesystem::exists(scratch.path("t.0.et")));
}

}  // namespace penstock::testing
