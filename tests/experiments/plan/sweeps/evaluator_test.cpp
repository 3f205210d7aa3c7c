#include "experiments/plan/sweeps/evaluator.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/plan/sweeps/configured.hpp"
#include "experiments/plan/sweeps/run_sweep.hpp"
#include "experiments/plan/sweeps/space/condition.hpp"
#include "experiments/show/results/result_json.hpp"
#include "sim/base/error.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

json one_stage() {
  return {{"forward_us", 100},           {"backward_input_us", 120}, {"backward_weight_us", 80},
          {"activation_bytes", 1 << 20}, {"stash_bytes", 1 << 24},   {"parameter_bytes", 1 << 22}};
}

/// Four stages on ideal links.
json four_stages() {
  return {{"model", {{"stages", {one_stage(), one_stage(), one_stage(), one_stage()}}}},
          {"hardware",
           {{"name", "ideal"}, {"devices", 4}, {"latency_us", 2}, {"bandwidth_bytes_per_s", 25e9}}},
          {"schedule", {{"name", "1f1b"}, {"microbatches", 8}}}};
}

SweepSpace space_of(const json& base, const std::vector<std::string>& axes) {
  SweepRequest request{.source = "s.json", .base = std::make_shared<json>(base)};
  for (const std::string& axis : axes) request.axes.push_back(axes_of(axis).front());
  return SweepSpace(std::move(request));
}

/// The row of a configuration, run in full.
std::string alone(const SweepSpace& space, std::uint64_t number) {
  SimulationMemory room(UINT64_MAX);
  return Evaluator(space, catalogue(), room).row(number);
}

/// Whether one evaluator gives the rows of whole runs, and gives them again when it knows them all.
void check_rows(const SweepSpace& space) {
  SimulationMemory room(UINT64_MAX);
  Evaluator evaluator(space, catalogue(), room);
  std::vector<std::string> rows;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    rows.push_back(alone(space, i));
    CHECK(evaluator.row(i) == rows[i]);
  }
  for (std::uint64_t i = 0; i < space.size(); ++i) CHECK(evaluator.row(i) == rows[i]);
}

std::string rows_of(const SweepSpace& space, std::size_t jobs, Shard shard = {}) {
  std::string rows;
  run_sweep(space, catalogue(),
            {.shard = shard, .done = 0, .jobs = jobs, .asked_to_stop = {}, .on_progress = {}},
            [&](std::string_view text) { rows += text; });
  return rows;
}

}  // namespace

TEST_CASE("sweep: prices in place give the rows of whole runs, whatever ran before") {
  const std::vector<std::vector<std::string>> cases{
      {"/model/stages/1/forward_us=50,100,333.3,0", "/model/stages/*/backward_input_us=120,7"},
      {"/schedule/name=1f1b,gpipe,zb-h1,naive", "/model/stages/2/activation_bytes=0,1e6,1e9"},
      {"/hardware/bandwidth_bytes_per_s=1e8..1e11*10", "/hardware/latency_us=0,1,500"},
      {"/hardware/bandwidth_bytes_per_s=2GB/s,2e9,400Gb/s,3parsec,\"5\",5,1e13,1e19",
       "/model/stages/1/forward_us=1ms,10us,10"},
      {"/schedule/microbatches=4,8", "/model/stages/*/stash_bytes=1e7,3e7",
       "/model/stages/0/backward_weight_us=1..201:100"},
      {"/model/stages/0/forward_us=-1,100,1e13", "/model/stages/0/backward_us=1,2"}};
  for (const auto& axes : cases) {
    CAPTURE(axes.front());
    json base = four_stages();
    for (const bool capped : {false, true}) {
      if (capped) base["memory"] = {{"capacity_bytes", 60'000'000}};
      check_rows(space_of(base, axes));
    }
  }
}

TEST_CASE("sweep: files and costs of layers that are kept give the rows of whole runs") {
  const std::string source = PENSTOCK_ROOT "/experiments/scenarios/llama_8b_on_a_dgx_h100.json";
  const json base = json::parse(content_of(source));
  const std::vector<std::vector<std::string>> cases{
      {"/hardware/efficiency=0.4,0.7", "/hardware/nic_efficiency=0.5,0.9"},
      {"/hardware/name=dgx-h100,dgx-a100,nonsense", "/schedule/name=1f1b,zb-h1"},
      {"/parallel/tensor=1,2&/parallel/pipeline=8,4", "/recompute/mode=none,selective,full"},
      {"/model/sequence=4096,8192,-1", "/model/microbatch=1,2"},
      {"/model/file=../models/llama-3.1-8b.json,nothing.json", "/model/dtype=bf16,fp32"}};
  for (const auto& axes : cases) {
    CAPTURE(axes.front());
    SweepRequest request = space_of(base, axes).request();
    request.source = source;
    check_rows(SweepSpace(std::move(request)));
  }
}

TEST_CASE("sweep: a configuration too large for the memory is a row, and others are as ever") {
  const SweepSpace space = space_of(four_stages(), {"/schedule/microbatches=4,20000,8"});
  SimulationMemory room(10'000'000);  // for 25,000 actions
  Evaluator evaluator(space, catalogue(), room);
  CHECK(evaluator.row(0) == alone(space, 0));
  const json row = json::parse(evaluator.row(1));
  CHECK_FALSE(row.contains("result"));
  CHECK(row["findings"][0]["text"] == "the simulation needs more memory than this process may use");
  CHECK(evaluator.row(2) == alone(space, 2));
}

TEST_CASE("sweep: memory is handed out once, and never more than there is") {
  SimulationMemory room(100);
  CHECK(room.take(101) == nullptr);
  auto most = room.take(70);
  std::atomic<bool> all = false;
  std::thread waiting([&] {
    const auto everything = room.take_all();
    all = true;
  });
  auto rest = room.take(30);
  CHECK_FALSE(all);
  rest.reset();
  most.reset();
  waiting.join();
  CHECK(all);
}

TEST_CASE("sweep: a row has the figures of run --json") {
  const SweepSpace space = space_of(four_stages(), {"/schedule/name=1f1b,zb-h1"});
  for (std::uint64_t i = 0; i < 2; ++i) {
    const json row = json::parse(alone(space, i));
    const json document =
        result_json(run(scenario_from(configured(space, space.values(i)), "s.json")));
    CHECK(row["configuration"]["/schedule/name"] == document["schedule"]);
    CHECK(row["result"]["makespan_us"] == document["makespan_us"]);
    CHECK(row["result"]["bubble"] == document["bubble"]);
    CHECK(row["result"]["throughput"]["samples_per_s"] == document["throughput"]["samples_per_s"]);
    const std::size_t worst = row["result"]["peak_memory_rank"];
    CHECK(row["result"]["peak_memory_bytes"] == document["ranks"][worst]["peak_memory_bytes"]);
    CHECK(row["item"] == i);
    CHECK(row["of"] == 2);
  }
}

TEST_CASE("sweep: further results are values of run --json, null where it has none") {
  SweepRequest request = space_of(four_stages(), {"/schedule/microbatches=4,8"}).request();
  request.results = {"/ranks/3/idle_by_cause_us/warmup", "/ranks/9/idle_us"};
  const json row = json::parse(alone(SweepSpace(request), 0));
  CHECK(row["result"]["/ranks/3/idle_by_cause_us/warmup"].get<double>() > 300);
  CHECK(row["result"]["/ranks/9/idle_us"].is_null());
}

TEST_CASE("sweep: a configuration that cannot be is a row with its reason") {
  const SweepSpace space = space_of(four_stages(), {"/schedule/name=1f1b,zb-v,nonsense"});
  const json refused = json::parse(alone(space, 1));
  CHECK(!refused.contains("result"));
  CHECK(refused["findings"][0]["kind"] == "refused");
  // Without the name of the scenario's file, which is another elsewhere.
  CHECK(refused["findings"][0]["text"].get<std::string>().starts_with("/"));
  CHECK(says(json::parse(alone(space, 2))["findings"][0]["text"].get<std::string>(), "nonsense"));
}

TEST_CASE("sweep: rows name files as the scenario does, whatever folder it starts in") {
  const Scratch scratch;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directories(scratch.path("a/a"));
  const std::string source = scratch.file("a/s.json", four_stages().dump());
  for (const char* name : {"wrong.csv", "a/wrong.csv", "a/a/wrong.csv"}) {
    scratch.file(name, "nonsense\n");
  }
  scratch.file("here.csv", "0F0,0B0\n");  // where only a hint finds it
  const auto rows_from = [&](const std::string& folder, const std::string& name) {
    std::filesystem::current_path(scratch.path(folder));
    SweepRequest request =
        space_of(four_stages(), {R"(/schedule={"file":"here.csv"},{"file":"wrong.csv"},)"
                                 R"({"file":"a/wrong.csv"},{"file":"../wrong.csv"})"})
            .request();
    request.source = name;
    const std::string rows = rows_of(SweepSpace(request), 1);
    std::filesystem::current_path(before);
    return rows;
  };
  const std::string rows = rows_from("a", "s.json");
  CHECK(rows_from("", "a/s.json") == rows);
  CHECK(rows_from("", source) == rows);
  CHECK(rows_from("a/a", "../s.json") == rows);
  std::vector<std::string> texts;
  std::istringstream lines(rows);
  for (std::string line; std::getline(lines, line);) {
    texts.push_back(json::parse(line)["findings"][0]["text"].get<std::string>());
  }
  REQUIRE(texts.size() == 4);
  CHECK(texts[0] ==
        "here.csv: cannot open: No such file or directory; \"here.csv\" of /schedule/file is "
        "relative to the folder of s.json");
  CHECK(texts[1].starts_with("wrong.csv: row 0, column 0: "));
  CHECK(texts[2].starts_with("a/wrong.csv: row 0, column 0: "));
  CHECK(texts[3].starts_with("../wrong.csv: row 0, column 0: "));
}

TEST_CASE("sweep: out of memory is a result with findings") {
  json base = four_stages();
  base["memory"] = {{"capacity_bytes", 60'000'000}};
  const json row = json::parse(alone(space_of(base, {"/schedule/name=1f1b"}), 0));
  CHECK(row["result"]["peak_memory_rank"] == 0);
  CHECK(row["findings"][0]["kind"] == "out_of_memory");
}

TEST_CASE("sweep: an expectation that is not met is a result with a finding, as in run") {
  // One stage: a step is 8 times 100 + 200 us, and of its times each is a price in place.
  json base = {{"model", {{"stages", json::array({one_stage()})}}},
               {"hardware", {{"name", "ideal"}, {"devices", 1}}},
               {"schedule", {{"name", "gpipe"}, {"microbatches", 8}}},
               {"expect", {{"makespan_us", 2400}}}};
  const SweepSpace times = space_of(base, {"/model/stages/0/forward_us=100,200"});
  SimulationMemory room(UINT64_MAX);
  Evaluator evaluator(times, catalogue(), room);
  for (const std::uint64_t i : {0u, 1u, 0u}) {
    const json row = json::parse(evaluator.row(i));
    CHECK(row["result"]["makespan_us"] == (i == 1 ? 3200 : 2400));
    CHECK(row.contains("findings") == (i == 1));
    CHECK(is_answer(evaluator.row(i)));
    if (i == 1) CHECK(row["findings"][0]["kind"] == "expectation");
  }
  const auto answers = [](const std::string& kind) {
    return is_answer(R"({"configuration":{},"result":{"makespan_us":1},"findings":[{"kind":")" +
                     kind + R"("}]})");
  };
  CHECK(answers("expectation"));
  CHECK_FALSE(answers("out_of_memory"));
  base.erase("expect");
  const SweepSpace axis = space_of(base, {"/expect/makespan_us=1,2400"});
  CHECK(json::parse(alone(axis, 0))["findings"][0]["kind"] == "expectation");
  CHECK_FALSE(json::parse(alone(axis, 1)).contains("findings"));
}

TEST_CASE("sweep: rows do not depend on the number of threads, and shards have their share") {
  const SweepSpace space = space_of(
      four_stages(), {"/schedule/name=1f1b,gpipe,zb-v", "/model/stages/0/forward_us=1..50"});
  const std::string all = rows_of(space, 1);
  CHECK(std::count(all.begin(), all.end(), '\n') == 150);
  CHECK(rows_of(space, 2) == all);
  std::string expected;
  for (std::uint64_t i = 1; i < 150; i += 4) expected += alone(space, i);
  CHECK(rows_of(space, 2, {2, 4}) == expected);
}

TEST_CASE("sweep: a mistyped pointer is an error, a wrong value is not") {
  CHECK_THROWS_AS(check_pointers(space_of(four_stages(), {"/hardware/latencyus=1"})), InputError);
  CHECK_THROWS_AS(check_pointers(space_of(four_stages(), {"/model/layers/*/forward_us=1"})),
                  InputError);
  CHECK_THROWS_AS(check_pointers(space_of(four_stages(), {"/model/stages/*/forwad_us=1"})),
                  InputError);
  CHECK_THROWS_AS(check_pointers(space_of(four_stages(), {R"(/model/stages/*={"forwad_us":1})"})),
                  UsageError);
  CHECK_NOTHROW(check_pointers(space_of(four_stages(), {"/schedule/microbatches=-1,4"})));
}

// Lengths of documents differ between replicas: here the one that the report shows is not the one
// that needs most.
TEST_CASE("sweep: rows have the memory of the data replica that needs most, and its findings") {
  json base = four_stages();
  base["parallel"] = {{"data", 4}};
  base["hardware"].erase("devices");
  base["batch"] = json::parse(R"({"tokens": 1024, "pack": "none",
    "lengths": {"distribution": "lognormal", "mean": 300, "sigma": 1.2, "max": 1024}})");
  const SweepSpace seeds = space_of(base, {"/batch/seed=1..8"});
  bool any_other = false;
  for (std::uint64_t number = 0; number < seeds.size(); ++number) {
    const json row = json::parse(alone(seeds, number));
    const RunResult whole =
        run(parse_scenario(configured(seeds, seeds.values(number)).dump(), "s.json"));
    const std::uint64_t worst = highest_peak(*whole.report, whole.batch).bytes;
    CHECK(row["result"]["peak_memory_bytes"] == worst);
    any_other =
        any_other || worst > whole.report->ranks[index(worst_of(*whole.report))].memory.bytes;
  }
  CHECK(any_other);
  base["memory"] = {{"capacity_bytes", 1e6}};
  const json row = json::parse(alone(space_of(base, {"/batch/seed=1"}), 0));
  CHECK(row["findings"][0]["kind"] == "out_of_memory");
}

}  // namespace penstock::testing
