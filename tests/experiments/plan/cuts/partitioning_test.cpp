#include "experiments/plan/cuts/partitioning.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/layers.hpp"
#include "tests/support/program.hpp"
#include "tests/support/scratch.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// Recorded optima; empty where nobody says where they are.
json recorded() {
  if (const auto optima = testing::oracle("partition/optima.json")) return *optima;
  return {{"chain", json::object()}, {"ideals", json::array()}, {"simulated_1f1b", json::array()}};
}

PartitionRequest request_for(const std::string& model, std::uint32_t ranks) {
  PartitionRequest request;
  request.model.path =
      std::getenv("PENSTOCK_ORACLES") + ("/partition/pipedream/" + model + "/graph.txt");
  request.ranks = ranks;
  return request;
}

double value(const PartitionRequest& request) { return partition_model(request).cut.value; }

bool close(double a, double b, double within = 1e-9) { return std::abs(a - b) <= within * b; }

void set_transfers(const json& entry, CutTransfers transfers, PartitionRequest& request) {
  if (!entry.contains("bandwidth") || entry["bandwidth"].is_null()) return;
  request.bandwidth_bytes_per_s = entry["bandwidth"].get<double>();
  request.settings.transfers = transfers;
}

void check_chain_case(const std::string& model, const json& entry) {
  const std::string cost = entry["cost"];
  CAPTURE(entry.dump());
  PartitionRequest request = request_for(model, entry["k"]);
  if (cost.starts_with("D7") || cost.starts_with("D8")) request.method = "memory";
  request.microbatches = entry.value("microbatches", 1U);
  set_transfers(entry, cost.starts_with("D2") ? CutTransfers::serial : CutTransfers::overlap,
                request);
  if (entry.contains("memory_cap")) request.memory_bytes = entry["memory_cap"].get<double>();
  const Cut cut = partition_model(request).cut;
  const bool in_bytes = entry.contains("value_bytes");
  CHECK(cut.value_in_bytes == in_bytes);
  CHECK(close(cut.value, entry[in_bytes ? "value_bytes" : "value_s"]));
}

const char* const diamond =
    "node1 -- Input0 -- forward_compute_time=0.5, backward_compute_time=0, activation_size=1, "
    "parameter_size=0\n"
    "node2 -- Linear -- forward_compute_time=1, backward_compute_time=2, activation_size=10, "
    "parameter_size=100\n"
    "node4 -- ReLU -- forward_compute_time=1, backward_compute_time=2, activation_size=20, "
    "parameter_size=0\n"
    "node3 -- Linear -- forward_compute_time=2, backward_compute_time=4, activation_size=[3; 4], "
    "parameter_size=50\n"
    "node5 -- __getitem__(0) -- forward_compute_time=0, backward_compute_time=0, "
    "activation_size=1, parameter_size=0\n"
    "\tnode1 -- node2\n\tnode2 -- node3\n\tnode2 -- node4\n\tnode3 -- node4\n\tnode4 -- node5\n";

}  // namespace

TEST_CASE("partition: recorded optima of chains are met in every case") {
  const json optima = recorded();
  for (const auto& [model, own] : optima["chain"].items()) {
    CAPTURE(model);
    for (const json& entry : own["cases"]) check_chain_case(model, entry);
  }
}

TEST_CASE("partition: recorded optima over all down-closed sets are met in every case") {
  const json optima = recorded();
  for (const json& entry : optima["ideals"]) {
    CAPTURE(entry.dump());
    for (const char* method : {"ideals", "pipedream"}) {
      PartitionRequest request = request_for(entry["model"], entry["machines"]);
      request.method = method;
      request.exactly = true;
      if (!entry["straight"]) request.devices = entry["machines"].get<std::uint32_t>();
      set_transfers(entry, entry["comm"] ? CutTransfers::overlap : CutTransfers::none, request);
      CHECK(close(value(request), entry["value_s"]));
      request.settings.counts_first_output = true;
      CHECK(close(value(request), entry["value_with_first_stage_output_s"]));
      request.settings.counts_first_output = false;
      request.settings.published = true;
      CHECK(value(request) >= entry["value_s"].get<double>() * (1 - 1e-9));
    }
  }
}

TEST_CASE("partition: recorded fastest cuts by simulation are met in every case") {
  const json optima = recorded();
  for (const json& entry : optima["simulated_1f1b"]) {
    CAPTURE(entry.dump());
    PartitionRequest request = request_for(entry["model"], entry["k"]);
    request.method = "simulated";
    request.microbatches = entry["microbatches"];
    set_transfers(entry, CutTransfers::overlap, request);
    // Transfers without a bandwidth were recorded over a very fast link.
    const double within = entry["bandwidth"].is_null() ? 1e-8 : 1e-9;
    CHECK(close(value(request), entry["sim_optimum_s"], within));
  }
}

TEST_CASE("partition: a profile of PipeDream is planned without inputs and unpacked outputs") {
  const testing::Scratch scratch;
  const std::string path = scratch.file("graph.txt", diamond);
  PartitionRequest request;
  request.model.path = path;
  request.ranks = 3;
  request.exactly = true;
  const PartitionResult result = partition_model(request);
  REQUIRE(result.model.to_cut.problem.size() == 3);
  CHECK(result.cut.cuts == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(result.cut.value == doctest::Approx(6e-3));
  // Behind node2 its 10 bytes; behind node3 these, which node4 reads too, and its own 7.
  CHECK(result.cut.stages[0].output_bytes == 10);
  CHECK(result.cut.stages[1].output_bytes == 17);
  // All five layers are in a stage: the input with its reader, the output with what it reads.
  const ordered_json document = partition_json(result);
  CHECK(document["stages"][0]["layers"] == json({0, 1}));
  CHECK(document["stages"][1]["layers"] == json({2}));
  CHECK(document["stages"][2]["layers"] == json({3, 4}));
  CHECK(document["value_s"] == doctest::Approx(6e-3));
  // The input has 0.5 ms, the output nothing. Before that, what a run notes of such a file.
  REQUIRE(document["notes"].size() == 4);
  CHECK(document["notes"][0] ==
        "times and sizes are those of one whole profiled minibatch, which "
        "is taken as a microbatch");
  CHECK(document["notes"][3] ==
        "no stage has the time of node1 Input0, 0.5 ms a microbatch, as in "
        "PipeDream's optimizer; a run counts it");
}

TEST_CASE("partition: a finding has no value, no cuts and no stages") {
  const testing::Scratch scratch;
  PartitionRequest request;
  request.model.path = scratch.file("graph.txt", diamond);
  request.ranks = 2;
  request.method = "memory";
  request.memory_bytes = 10;
  const ordered_json document = partition_json(partition_model(request));
  CHECK(document["value_s"].is_null());
  CHECK(document["cuts"].empty());
  CHECK(document["stages"].empty());
  CHECK(document["findings"][0]["kind"] == "out_of_memory");
}

TEST_CASE("partition: a model of fewer layers than stages has fewer stages, and says so") {
  const testing::Scratch scratch;
  PartitionRequest request;
  request.model.path = scratch.file("graph.txt", diamond);
  const auto notes = [&](const std::string& method, std::uint32_t ranks) {
    request.method = method;
    request.ranks = ranks;
    const Cut cut = partition_model(request).cut;
    CHECK(cut.stages.size() == 3);
    return std::count(cut.notes.begin(), cut.notes.end(),
                      fmt::format("3 of {} stages: the model has 3 layers to cut; --exactly "
                                  "refuses fewer",
                                  ranks));
  };
  for (const char* method : {"balanced", "memory", "gpipe", "ideals", "simulated"}) {
    CAPTURE(method);
    CHECK(notes(method, 4) == 1);
    CHECK(notes(method, 3) == 0);
  }
}

TEST_CASE("partition: layers by kind come from a file or from standard input") {
  const std::string model = PENSTOCK_ROOT "/experiments/models/llama-3.1-8b.json";
  const auto cut = [](const std::string& from) {
    return testing::run_penstock({"partition", from, "--hardware", "dgx-h100", "--ranks", "4"},
                                 ".");
  };
  const testing::StandardInput input(model);
  const auto from_input = cut("-");
  CHECK(from_input.code == 0);
  CHECK(from_input.output == cut(model).output);
}

TEST_CASE("partition: --hardware is a machine or its file; an unknown one is wrong usage") {
  const testing::Desk desk;
  const auto cut = [&](const std::string& hardware) {
    return desk.run({"partition", PENSTOCK_ROOT "/experiments/models/llama-3.1-8b.json", "--ranks",
                     "4", "--hardware", hardware});
  };
  desk.file("mine.json",
            testing::content_of(PENSTOCK_ROOT "/hardware_models/catalogue/dgx-h100.json"));
  desk.file("bad.json", R"({"penstock": 1, "is": "cluster"})");
  const testing::ProgramRun own = cut("mine.json");
  CHECK(own.code == 0);
  CHECK(own.output == cut("dgx-h100").output);
  const testing::ProgramRun bad = cut("bad.json");
  CHECK(bad.code == 3);
  CHECK(bad.errors.starts_with("penstock: error: bad.json: /is: "));
  const testing::ProgramRun unknown = cut("dgx-h10");
  CHECK(unknown.code == 2);
  CHECK(unknown.errors.starts_with(
      "penstock: error: --hardware: unknown machine \"dgx-h10\"; did you mean \"dgx-h100\"? "));
}

TEST_CASE("partition: options that shape layers by kind are refused where layers have times") {
  const testing::Scratch scratch;
  const std::string path = scratch.file("graph.txt", diamond);
  for (const std::string option : {"--hardware", "--sequence", "--microbatch", "--tensor"}) {
    const std::string value = option == "--hardware" ? "dgx-h100" : "1";
    const auto cut = testing::run_penstock({"partition", path, "--ranks", "2", option, value}, ".");
    CHECK(cut.code == 2);
    CHECK(cut.errors.starts_with("penstock: error: " + option +
                                 ": a file of the format pipedream-graph has times of one "));
  }
}

TEST_CASE("partition: options that a method does not read are refused") {
  const testing::Scratch scratch;
  const std::string path = scratch.file("graph.txt", diamond);
  const auto errors = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"partition", path, "--ranks", "2", "--method"});
    return testing::run_penstock(options, ".").errors;
  };
  CHECK(
      errors({"gpipe", "--memory", "1GB"})
          .starts_with("penstock: error: --memory: the partitioner \"gpipe\" does not read it; it "
                       "goes with devices, memory, simulated"));
  CHECK(errors({"balanced", "--devices", "4"})
            .starts_with("penstock: error: --devices: the partitioner \"balanced\" does not read "
                         "it; it goes with ideals, pipedream"));
  const std::string linked =
      ": the partitioner \"gpipe\" does not read it; it goes with balanced, devices, ideals, "
      "interleaved, memory, pipedream, simulated";
  CHECK(errors({"gpipe", "--bandwidth", "1GB/s"})
            .starts_with("penstock: error: --bandwidth" + linked));
  CHECK(errors({"gpipe", "--transfers", "none"})
            .starts_with("penstock: error: --transfers" + linked));
  CHECK(errors({"memory", "--memory", "1GB", "--bandwidth", "1GB/s"}).empty());
}

}  // namespace penstock
