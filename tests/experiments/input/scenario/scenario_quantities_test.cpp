#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

const std::string quantity_plain = R"({
  "model":    { "stages": [ {"forward_us": "1us", "backward_us": "2000 ns"},
                            {"forward_us": 1, "backward_us": 2} ] },
  "schedule": { "name": "1f1b", "microbatches": 4 }
})";

}  // namespace

TEST_CASE("sizes and times of a scenario may have units, in the file and in settings") {
  CHECK(outcome_of(quantity_plain) == "makespan 15");
  for (const char* micro : {"us", "µs", "μs"}) {
    CHECK(outcome_of(quantity_plain, {std::string("/hardware/transfer_us=1") + micro}) ==
          "makespan 19");
  }
  const Scenario scenario = parse_scenario(
      quantity_plain, "s.json",
      {"/memory/capacity_bytes=80GiB", "/hardware/bandwidth_bytes_per_s=\"400Gb/s\""});
  CHECK(scenario.memory.capacity_bytes == 80ull << 30);
  CHECK(scenario.hardware.stated.bandwidth_bytes_per_s == 50e9);
}

TEST_CASE("true and false are numbers of a layer only where these go from 0 to 1") {
  const auto outcome = [](const std::string& layer) {
    return outcome_of(
        R"({"model": {"sequence": 8, "layers": [{"kind": "mlp", "intermediate": 8, )" + layer +
        R"(}]}, "hardware": {"name": "dgx-h100", "devices": 1},
           "schedule": {"name": "1f1b", "microbatches": 1}})");
  };
  CHECK(outcome(R"("hidden": true)") ==
        "s.json: /model/layers/0/hidden: true is not a number (hidden size)");
  CHECK(outcome(R"("hidden": 8, "gated": true)") == outcome(R"("hidden": 8, "gated": 1)"));
  CHECK(outcome(R"("hidden": 8, "gated": false)") == outcome(R"("hidden": 8)"));
}

TEST_CASE("the schema allows the texts that a scenario may have, and no others") {
  const Schema schema(scenario_schema());
  const auto fits = [&](const std::string& text) {
    return refused_at([&] { schema.check(nlohmann::json::parse(text)); }) == "accepted";
  };
  CHECK(fits(quantity_plain));
  const auto with_capacity = [&](const std::string& value) {
    return fits(R"({"model": {"stages": [{"forward_us": 1}]}, "memory": {"capacity_bytes": )" +
                value + "}}");
  };
  for (const char* good : {"8e10", "\"64GiB\"", "\"64 GB\"", "\"1.5e3MB\"", "\".5TiB\""}) {
    CAPTURE(good);
    CHECK(with_capacity(good));
  }
  for (const char* bad : {"\"64\"", "\"64Gb\"", "\"GiB\"", "\"-1GB\"", "\"2us\"", "true"}) {
    CAPTURE(bad);
    CHECK_FALSE(with_capacity(bad));
  }
  CHECK(fits(R"({"model": {"layers": [{"kind": "measured", "forward_us": "2ms"}]},
                 "hardware": {"topology": {"kind": "x", "nic_bandwidth_bytes_per_s": "400Gb/s"}}})"));
  CHECK_FALSE(fits(R"({"model": {"layers": [{"kind": "mlp", "hidden": "2ms"}]}})"));
}

TEST_CASE("a wrong unit is refused at its key, and limits hold for what it comes to") {
  CHECK(outcome_of(quantity_plain, {"/memory/capacity_bytes=80Gb"}) ==
        "s.json: /memory/capacity_bytes: \"80Gb\" is not a size; did you mean \"80GB\"?");
  CHECK(outcome_of(quantity_plain, {"/model/stages/1/forward_us=2GB"})
            .starts_with("s.json: /model/stages/1/forward_us: \"2GB\" is not a time: "));
  CHECK(outcome_of(quantity_plain, {"/model/stages/1/forward_us=-1us"})
            .starts_with("s.json: /model/stages/1/forward_us: -1.0 is not "));
  CHECK(outcome_of(quantity_plain, {"/schedule/microbatches=4us"})
            .starts_with("s.json: /schedule/microbatches: \"4us\" is not "));
}

TEST_CASE("an unknown key is named before the unit of its text, and before what is missing") {
  CHECK(outcome_of(quantity_plain, {"/hardware/latncy_us=2parsecs"})
            .starts_with("s.json: /hardware/latncy_us: unknown key \"latncy_us\"; did you mean "
                         "\"latency_us\"? known: "));
  CHECK(outcome_of(quantity_plain, {"/schedule/forward_us=adam"}) ==
        "s.json: /schedule/forward_us: unknown option \"forward_us\"; 1f1b takes no options");
  CHECK(outcome_of(quantity_plain, {R"(/schedule={"name": "1f1b", "microbatchs": 8})"}) ==
        "s.json: /schedule/microbatchs: unknown option \"microbatchs\"; 1f1b takes no options; did "
        "you mean \"microbatches\"?");
  CHECK(outcome_of(quantity_plain, {R"(/schedule={"policy": "first-come", "placment": "vee"})"})
            .starts_with(
                "s.json: /schedule/placment: unknown option \"placment\"; first-come takes "));
  CHECK(outcome_of(quantity_plain, {"/memory/capacity_bytes=1e400GB"})
            .starts_with("s.json: /memory/capacity_bytes: \"1e400GB\" is not a size: "));
}

TEST_CASE("layers with stated times repeat as layers by kind do") {
  const std::string layers = R"({
    "model":    { "layers": [ {"name": "a", "forward_us": 1, "backward_us": 2, "repeat": 4} ] },
    "hardware": { "devices": 2 },
    "schedule": { "name": "1f1b", "microbatches": 4 }
  })";
  CHECK(outcome_of(layers) == "makespan 30");
  const Scenario scenario = parse_scenario(layers, "s.json");
  REQUIRE(scenario.model.graph.layers.size() == 4);
  CHECK(scenario.model.graph.layers[3].name == "a 3");
  CHECK(scenario.model.graph.layers[3].source == "/model/layers/0");
  CHECK(outcome_of(layers, {"/model/layers/0/repeat=1000000",
                            R"(/model/layers/1={"forward_us": 1, "backward_us": 2})"}) ==
        "s.json: /model/layers/1/repeat: these are more than 1000000 layers in all, which is the "
        "most there can be");
}

TEST_CASE("kept bytes of a measured layer have the name that stages use, and the old one") {
  const auto stash_of = [](const std::string& key) {
    const std::string text = R"({
      "model": {"layers": [{"kind": "measured", "forward_us": 1, "backward_us": 2, ")" +
                             key +
                             R"(": 7}]},
      "hardware": {"devices": 1}, "schedule": {"name": "1f1b", "microbatches": 1}})";
    return run(parse_scenario(text, "s.json")).layout.model.layers[0].stash_bytes;
  };
  CHECK(stash_of("stash_bytes") == 7);
  CHECK(stash_of("kept_bytes") == 7);
  CHECK_THROWS_WITH_AS(stash_of(R"(stash_bytes": 7, "kept_bytes)"),
                       doctest::Contains("/model/layers/0/kept_bytes: this is the old name of "
                                         "\"stash_bytes\", which is there too"),
                       InputError);
}

TEST_CASE("the config of a model is no scenario: the error says what makes one of it") {
  CHECK(
      outcome_of(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})") ==
      "s.json: this is the config of a model, not a scenario; for one: penstock new --model s.json "
      "--hardware MACHINE --devices N, or a scenario with \"model\": {\"file\": …}");
}

TEST_CASE("a setting with dots, and a value for a whole section, name the pointer that was meant") {
  CHECK(outcome_of(quantity_plain, {"schedule.name=gpipe"}) ==
        "usage: --set schedule.name=gpipe: expected /POINTER=VALUE; did you mean "
        "/schedule/name=gpipe?");
  CHECK(outcome_of(quantity_plain, {"gpipe"}) ==
        "usage: --set gpipe: expected /POINTER=VALUE, such as /schedule/name=gpipe");
  CHECK(outcome_of(quantity_plain, {"/schedule=gpipe"})
            .ends_with("; did you mean /schedule/name=gpipe?"));
  CHECK(outcome_of(quantity_plain, {"/recompute/mode=ful"}).ends_with("; did you mean \"full\"?"));
}

TEST_CASE("a NUL byte in a scenario is refused") {
  std::string text = quantity_plain;
  text[4] = '\0';
  CHECK(outcome_of(text) == "s.json: line 2, column 3: a NUL byte; a JSON document has none");
  CHECK(outcome_of(quantity_plain + '\0') ==
        "s.json: line 5, column 2: a NUL byte; a JSON document has none");
}

TEST_CASE("an error about a file says what its path was resolved against, and which is right") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("deep"));
  const std::string path = scratch.file("deep/s.json", quantity_plain);
  const auto refusal = [&](const std::string& file) -> std::string {
    return refused_with<InputError>(
        [&] { run(read_scenario(path, {R"(/schedule={"file": ")" + file + "\"}"})); });
  };
  CHECK(refusal("o.csv") == scratch.path("deep/o.csv") +
                                ": cannot open: No such file or directory; \"o.csv\" of "
                                "/schedule/file is relative to the folder of " +
                                path);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path(""));
  scratch.file("o.csv", "0F0,0B0\n1F0,1B0\n");
  const std::string with_hint = refusal("o.csv");
  std::filesystem::current_path(before);
  CHECK(with_hint.ends_with("; for the one of the working folder write ../o.csv"));
}

}  // namespace penstock::testing
