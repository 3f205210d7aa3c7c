#include <doctest/doctest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

/// Stages of unequal cost that keep one byte for each activation.
std::string scenario(const std::string& schedule, std::uint32_t ranks, std::uint32_t chunks,
                     std::uint32_t microbatches, double transfer_us) {
  json stages = json::array();
  const std::uint32_t count = ranks * chunks;
  for (std::uint32_t s = 0; s < count; ++s) {
    const double forward = s + 1 == count ? 14 : s == 0 ? 11 : 10;
    stages.push_back({{"forward_us", forward},
                      {"backward_input_us", 10},
                      {"backward_weight_us", 10},
                      {"stash_bytes", 1}});
  }
  return json{{"model", {{"stages", stages}}},
              {"hardware", {{"name", "ideal"}, {"devices", ranks}, {"transfer_us", transfer_us}}},
              {"parallel", {{"pipeline", ranks}, {"chunks", chunks}}},
              {"schedule", {{"name", schedule}, {"microbatches", microbatches}}}}
      .dump();
}

/// The same for 4 ranks, where 9 of 10 bytes of an activation may be recomputed in 10 us.
std::string scenario_with_recomputation(const std::string& mode) {
  json document = json::parse(scenario("zb-h1", 4, 1, 8, 1));
  for (json& stage : document["model"]["stages"]) {
    stage["recompute_us"] = 10;
    stage["recomputed_bytes"] = 9;
  }
  document["recompute"]["mode"] = mode;
  return document.dump();
}

}  // namespace

TEST_CASE("search: the order found passes check, and its scenario runs in the time reported") {
  const Desk desk;
  desk.file("s.json", scenario("zb-v", 4, 2, 8, 1));
  const json found = desk.json_of({"search", "s.json", "--memory", "6", "--evaluations", "4000",
                                   "-o", "order.csv", "--force", "--scenario", "searched.json"});
  CHECK(found["found"] == true);
  CHECK(desk.run({"check", "order.csv"}).code == 0);
  const json run = desk.json_of({"run", "searched.json"});
  CHECK(run["makespan_us"] == found["makespan_us"]);
  for (const json& rank : run["ranks"]) {
    CHECK(rank["peak_memory_bytes"].get<std::uint64_t>() <= 6);
    CHECK(rank["peak_activations"].get<std::uint64_t>() <= 6);
  }
  bool some_fits = false;
  for (const json& named : found["named"]) {
    if (named["fits"] != true) continue;
    some_fits = true;
    CHECK(found["makespan_us"].get<double>() < named["makespan_us"].get<double>());
  }
  CHECK(some_fits);
  CHECK(found["bound_us"].get<double>() <= found["makespan_us"].get<double>());
}

TEST_CASE("search: what was found when the time is over is kept") {
  const Desk desk;
  const ProgramRun ended = desk.run(
      {"search", PENSTOCK_ROOT "/experiments/scenarios/first_run.json", "--memory", "1200MB",
       "--set", "/schedule/microbatches=24", "--set", "/model/stages/1/forward_us=1300", "--budget",
       "600", "--timeout", "3", "-o", "order.csv"});
  CHECK(ended.code == 4);
  CHECK(
      ended.errors.ends_with(": not finished after 3 s; give more --timeout, or less work; this "
                             "is the best order found so far\n"));
  CHECK(ended.output.starts_with("step time "));
  CHECK(desk.run({"check", "order.csv"}).code == 0);
}

TEST_CASE("search: what I frees before W is free, whatever order the scenario has") {
  const Desk desk;
  const std::string scenario = PENSTOCK_ROOT "/experiments/scenarios/llama_8b_on_a_dgx_h100.json";
  const double limit = 37.0 * (1ULL << 30);
  const json found = desk.json_of({"search", scenario, "--memory", "37GiB", "--evaluations", "3000",
                                   "-o", "order.csv", "--scenario", "searched.json"});
  const json run = desk.json_of({"run", "searched.json"});
  CHECK(run["makespan_us"] == found["makespan_us"]);
  CHECK(found["bound_us"].get<double>() <= found["makespan_us"].get<double>());
  for (std::size_t rank = 0; rank < run["ranks"].size(); ++rank) {
    const json& bytes = run["ranks"][rank]["peak_memory_bytes"];
    CHECK(bytes == found["ranks"][rank]["peak_memory_bytes"]);
    CHECK(bytes.get<double>() <= limit);
  }
  CHECK(found["makespan_us"].get<double>() < 2.2e6);  // of 1F1B, which does not fit: 2.248e6
  const ProgramRun moved = desk.run({"search", scenario, "--set", "/offload={\"keep\":2}"});
  CHECK(moved.code == 3);
  CHECK(says(moved.errors, "/offload/keep: a search orders passes"));
}

TEST_CASE("search: what communication libraries may take counts only where nothing else is found") {
  const Desk desk;
  const std::string scenario = PENSTOCK_ROOT "/experiments/scenarios/llama_8b_on_a_dgx_h100.json";
  // zb-h1 needs 45.30 GiB, which may fit, and 1F1B 37.97 GiB.
  const json found = desk.json_of({"search", scenario, "--memory", "45GiB", "--evaluations", "3000",
                                   "-o", "order.csv", "--scenario", "searched.json"});
  for (const json& rank : found["ranks"]) {
    CHECK(rank["peak_memory_bytes"].get<double>() <= 45.0 * (1ULL << 30));
  }
  const json run = desk.json_of({"run", "searched.json"});
  CHECK(found["memory"] == run["memory"]["word"]);
  CHECK(found["named"][0]["name"] == "1f1b");
  CHECK(found["makespan_us"] <= found["named"][0]["makespan_us"]);
  for (const json& named : found["named"]) {
    if (named["name"] != "zb-h1") continue;
    CHECK(named["fits"] == false);
    CHECK(named["memory"] == "may fit");
  }
  // One activation at a time needs 27.99 GiB; 1 % of the capacity is reserved.
  const ProgramRun least =
      desk.run({"search", scenario, "--memory", "27.6GiB", "--evaluations", "1000"});
  CHECK(least.code == 0);
  CHECK(says(least.output,
             "27.99 GiB on the fullest rank (may fit; nothing was found within "
             "27.32 GiB)"));
}

TEST_CASE("search: orders of a batch are compared by the mean step of 16 draws") {
  const Desk desk;
  json document = json::parse(scenario("zb-h1", 4, 1, 8, 1));
  document["batch"] = {{"lengths", {{"distribution", "uniform"}, {"min", 200}, {"max", 1000}}},
                       {"pack", "none"},
                       {"tokens", 1000}};
  desk.file("s.json", document.dump());
  const json found = desk.json_of({"search", "s.json", "--memory", "5", "--evaluations", "30000",
                                   "-o", "order.csv", "--scenario", "searched.json"});
  CHECK(found["bound_us"].is_null());
  CHECK(found["draws"]["count"] == 16);
  const json run = desk.json_of({"run", "searched.json", "--repeat", "16"});
  CHECK(run["repeat"]["mean_us"] == found["makespan_us"]);
  for (const json& named : found["named"]) {
    const std::string name = named["name"];
    CAPTURE(name);
    const json alone =
        desk.json_of({"run", "s.json", "--set", "/schedule/name=" + name, "--repeat", "16"});
    CHECK(alone["repeat"]["mean_us"].get<double>() ==
          doctest::Approx(named["makespan_us"].get<double>()));
    if (named["fits"] == true) CHECK(found["makespan_us"] <= named["makespan_us"]);
  }
  CHECK(desk.run({"search", "s.json", "--recompute"}).code == 3);
}

TEST_CASE("search: equal seeds and evaluations give equal orders") {
  const Desk desk;
  desk.file("s.json", scenario("interleaved-1f1b", 2, 2, 4, 0.5));
  for (const char* name : {"a.csv", "b.csv"}) {
    desk.json_of(
        {"search", "s.json", "--evaluations", "1000", "--seed", "3", "-o", name, "--force"});
  }
  CHECK(content_of(desk.path("a.csv")) == content_of(desk.path("b.csv")));
}

TEST_CASE("search: --keep-placement keeps stages on the ranks of the scenario's schedule") {
  const Desk desk;
  desk.file("s.json", scenario("interleaved-1f1b", 2, 2, 4, 0.5));
  desk.json_of(
      {"search", "s.json", "--evaluations", "500", "--keep-placement", "-o", "o.csv", "--force"});
  const json checked = desk.json_of({"check", "o.csv"});
  CHECK(checked["placement"] == "loop");
}

TEST_CASE("search: a capacity below one microbatch is a finding, and no file is written") {
  const Desk desk;
  desk.file("s.json", scenario("zb-v", 2, 2, 2, 0));
  const json found = desk.json_of(
      {"search", "s.json", "--memory", "1", "--evaluations", "200", "-o", "order.csv", "--force"},
      1);
  CHECK(found["found"] == false);
  CHECK_FALSE(desk.has("order.csv"));
}

TEST_CASE("search --recompute: some activations are kept, and the scenario written runs so") {
  const Desk desk;
  for (const char* mode : {"full", "except_last"}) {
    CAPTURE(mode);
    desk.file("s.json", scenario_with_recomputation(mode));
    const json as_asked =
        desk.json_of({"search", "s.json", "--memory", "24", "--evaluations", "3000"});
    CHECK(!as_asked.contains("recomputed_microbatches"));
    const json found =
        desk.json_of({"search", "s.json", "--memory", "24", "--evaluations", "6000", "--recompute",
                      "-o", "order.csv", "--force", "--scenario", "searched.json"});
    CHECK(found["makespan_us"].get<double>() < as_asked["makespan_us"].get<double>());
    CHECK(found["bound_us"].get<double>() <= found["makespan_us"].get<double>());
    CHECK(found["bound_us"].get<double>() <= as_asked["bound_us"].get<double>());
    std::size_t count = 0;
    for (const json& list : found["recomputed_microbatches"]) count += list.size();
    CHECK(count > 0);
    CHECK(count < 32);
    CHECK(desk.run({"check", "order.csv"}).code == 0);
    const json run = desk.json_of({"run", "searched.json", "--set", "/memory/capacity_bytes=24"});
    CHECK(run["makespan_us"] == found["makespan_us"]);
    const json keeps =
        desk.json_of({"run", "searched.json", "--set", "/recompute={\"mode\": \"none\"}"}, 1);
    CHECK(keeps["findings"][0]["kind"] == "out_of_memory");
    CHECK(
        says(desk.run({"search", "s.json", "--memory", "24", "--evaluations", "500", "--recompute"})
                 .output,
             "recompute  "));
  }
}

TEST_CASE("search: a backward stated only as a whole stays whole") {
  const Desk desk;
  desk.file("s.json", scenario_plain);
  const json found =
      desk.json_of({"search", "s.json", "--evaluations", "500", "-o", "o.csv", "--force"});
  CHECK(found["makespan_us"] == 15);
  CHECK(found["proven"] == true);
  CHECK(!says(content_of(desk.path("o.csv")), "I"));
  CHECK(says(desk.run({"search", "s.json", "--evaluations", "500"}).output,
             "proven: no order on the placements tried is shorter"));
}

/// Stages by their F, I and W.
json stages_of(const std::vector<std::array<double, 3>>& times) {
  json stages = json::array();
  for (const auto& [forward, input, weight] : times) {
    stages.push_back(
        {{"forward_us", forward}, {"backward_input_us", input}, {"backward_weight_us", weight}});
  }
  return stages;
}

TEST_CASE("search: a factor that holds throughout is searched as if stages stated their times") {
  const Desk desk;
  json document{{"model", {{"stages", stages_of({{16, 8, 2}, {6, 4, 12}, {16, 8, 14}})}}},
                {"hardware", {{"name", "ideal"}, {"devices", 3}}},
                {"schedule", {{"name", "1f1b"}, {"microbatches", 2}}},
                {"chance", {{"stragglers", {{{"rank", 2}, {"factor", 0.5}}}}}}};
  const auto found = [&] {
    desk.file("s.json", document.dump());
    return desk.json_of({"search", "s.json", "--evaluations", "5000"});
  };
  const json faster = found();
  document.erase("chance");
  document["model"]["stages"] = stages_of({{16, 8, 2}, {6, 4, 12}, {8, 4, 7}});
  const json stated = found();
  CHECK(faster["makespan_us"] == stated["makespan_us"]);
  CHECK(faster["bound_us"] == stated["bound_us"]);
  CHECK(faster["makespan_us"] <= 70);
  CHECK(faster["bound_us"] <= faster["makespan_us"]);
}

TEST_CASE("search: nothing is proven where a rank is slow for some microbatches only") {
  // Rank 0 takes twice as long for microbatch 0. Microbatch 1 first takes 29 us, and a search
  // orders microbatches as they are numbered.
  const Desk desk;
  const json document{
      {"model", {{"stages", stages_of({{4, 2, 1}, {6, 1, 5}})}}},
      {"hardware", {{"name", "ideal"}, {"devices", 2}}},
      {"schedule", {{"name", "1f1b"}, {"microbatches", 2}}},
      {"chance", {{"stragglers", {{{"rank", 0}, {"factor", 2}, {"from", 0}, {"until", 1}}}}}}};
  desk.file("s.json", document.dump());
  const json found = desk.json_of({"search", "s.json", "--evaluations", "2000"});
  CHECK(found["proven"] == false);
  CHECK(found["bound_us"].is_null());
}

// In a cell of dualpipev no host's time passes behind what is made again, as it does behind an R.
TEST_CASE("search: nothing is proven where overlap cells save the host's time") {
  const Desk desk;
  json document = json::parse(scenario("looped-bfs", 1, 2, 5, 0));
  document["model"]["stages"][1]["recompute_us"] = 4;
  document["overheads"]["host_us"] = 2;
  desk.file("s.json", document.dump());
  const json found = desk.json_of({"search", "s.json", "--evaluations", "2000"});
  CHECK(found["proven"] == false);
  CHECK(found["bound_us"].is_null());
}

TEST_CASE("search: a whole B that is shorter than I and W is decided in the search, and proven") {
  const Desk desk;
  const auto stage = [](int forward, int backward, int input, int weight) {
    return json{{"forward_us", forward},
                {"backward_us", backward},
                {"backward_input_us", input},
                {"backward_weight_us", weight}};
  };
  json document{{"model", {{"stages", {stage(1, 4, 1, 6), stage(6, 4, 8, 7), stage(8, 8, 3, 6)}}}},
                {"hardware", {{"name", "ideal"}, {"devices", 3}}},
                {"schedule", {{"name", "1f1b"}, {"microbatches", 1}}}};
  const auto found = [&] {
    desk.file("s.json", document.dump());
    return desk.json_of({"search", "s.json", "--evaluations", "2000", "-o", "o.csv", "--force"});
  };
  // F 1, 6, 8, I 3, then B 4 of stage 1 and B 4 of stage 0; W 6 of stage 2 meanwhile.
  const json whole = found();
  CHECK(whole["makespan_us"] == 26);
  CHECK(whole["proven"] == true);
  CHECK(says(content_of(desk.path("o.csv")), "0B0"));
  document["overheads"]["optimizer_us"] = 5;
  const json updated = found();
  CHECK(updated["makespan_us"] == 31);
  CHECK(updated["proven"] == true);
  // One stage whose backward has no parts leaves the others theirs.
  document["model"]["stages"][1] = {{"forward_us", 6}, {"backward_us", 4}};
  const json some = found();
  CHECK(some["makespan_us"] == 31);
  CHECK(some["proven"] == true);
}

/// 70B on 8 ranks of 4 H100 with 8 replicas, in two chunks, priced by the catalogue.
json priced_scenario() {
  return {{"model",
           {{"file", PENSTOCK_ROOT "/experiments/models/llama-3.1-70b.json"},
            {"sequence", 4096},
            {"microbatch", 1}}},
          {"hardware", {{"name", "dgx-h100"}, {"devices", 256}}},
          {"partition", {{"name", "balanced"}}},
          {"parallel",
           {{"pipeline", 8}, {"chunks", 2}, {"tensor", 4}, {"data", 8}, {"sequence", true}}},
          {"schedule", {{"name", "interleaved-1f1b"}, {"microbatches", 32}}},
          {"memory", {{"zero", 1}}}};
}

TEST_CASE(
    "search: p 8, m 32 at catalogue prices: within 1.5 % of the bound, 1 % below named orders") {
  const Desk desk;
  desk.file("s.json", priced_scenario().dump());
  for (const char* memory : {"79GiB", "55GiB"}) {
    CAPTURE(memory);
    const json found =
        desk.json_of({"search", "s.json", "--memory", memory, "--evaluations", "20000"});
    const auto makespan = found["makespan_us"].get<double>();
    CHECK(found["bound_us"].get<double>() <= makespan);
    CHECK(makespan <= 1.015 * found["bound_us"].get<double>());
    for (const json& named : found["named"]) {
      if (named["fits"] == true) CHECK(makespan <= 0.99 * named["makespan_us"].get<double>());
    }
    CHECK(found["evaluations"].get<int>() <= 40000);
  }
}

TEST_CASE("search: reductions behind the last pass count, so an order without a gap is proven") {
  const Desk desk;
  json document = priced_scenario();
  document["parallel"]["chunks"] = 1;
  document["schedule"]["name"] = "zb-h2";
  desk.file("s.json", document.dump());
  const json found = desk.json_of({"search", "s.json", "--evaluations", "2000"});
  CHECK(found["bound_us"].get<double>() <= found["makespan_us"].get<double>());
  CHECK(found["makespan_us"].get<double>() <= 1.002 * found["bound_us"].get<double>());
}

TEST_CASE("search: what links and received activations add is searched on with the engine") {
  const Desk desk;
  json document = json::parse(scenario("zb-h1", 3, 1, 3, 0));
  document["hardware"] = {{"name", "ideal"}, {"devices", 3}, {"bandwidth_bytes_per_s", 1e6}};
  for (json& stage : document["model"]["stages"]) stage["activation_bytes"] = 25;
  desk.file("s.json", document.dump());
  for (const char* memory : {"100GB", "60"}) {
    CAPTURE(memory);
    const json found =
        desk.json_of({"search", "s.json", "--memory", memory, "--evaluations", "3000"});
    CHECK((found["proven"] == true || found["evaluations"] >= 3000));
    CHECK(found["bound_us"].get<double>() <= found["makespan_us"].get<double>());
  }
}

TEST_CASE("search --communication: weights are gathered ahead, and the order found runs so") {
  const Desk desk;
  desk.file("late.csv",
            "0UNSHARD,0F0,1UNSHARD,1F0,1B0,1RESHARD,1REDUCE_GRAD,0B0,0RESHARD,0REDUCE_GRAD\n");
  const json stage{{"forward_us", 2}, {"backward_us", 2}, {"parameter_bytes", 4}};
  json document{{"model", {{"stages", {stage, stage}}}},
                {"hardware", {{"name", "ideal"}, {"devices", 2}, {"bandwidth_bytes_per_s", 1e6}}},
                {"parallel", {{"data", 2}}},
                {"memory", {{"zero", 3}}},
                {"schedule", {{"file", "late.csv"}, {"communication", "written"}}}};
  const std::string given = desk.file("given.json", document.dump());
  const json found =
      desk.json_of({"search", given, "--communication", "--evaluations", "40", "-o", "early.csv"});
  // Gather 0-2, F 2-4, gather 4-6, F 6-8, B 8-10 and 10-12, the second reduction 12-14; the second
  // gather behind the first saves 2.
  CHECK(found["given_us"] == 14);
  CHECK(found["makespan_us"] == 12);
  CHECK(says(found["origin"].get<std::string>(), "UNSHARD"));
  document["schedule"]["file"] = "early.csv";
  const std::string moved = desk.file("moved.json", document.dump());
  CHECK(desk.json_of({"run", moved})["makespan_us"] == 12);
}

}  // namespace penstock::testing
