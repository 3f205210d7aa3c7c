#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {

TEST_CASE("check: an order of a bidirectional schedule needs no --chains, and the result says so") {
  const Desk desk;
  for (const char* name : {"dualpipe", "chimera"}) {
    CAPTURE(name);
    desk.file("order.csv",
              desk.run({"schedule", name, "--ranks", "4", "--microbatches", "8"}).output);
    const ProgramRun check = desk.run({"check", "order.csv"});
    CHECK(check.code == 0);
    CHECK(says(check.output, "placement bidirectional"));
    CHECK(says(check.output, "chains inferred: \"0,1,2,3;4,5,6,7\""));
    const auto document = desk.json_of({"check", "order.csv"});
    CHECK(document["inferred_chains"] == nlohmann::json{{0, 1, 2, 3}, {4, 5, 6, 7}});
    const ProgramRun given = desk.run({"check", "order.csv", "--chains", "0,1,2,3;4,5,6,7"});
    CHECK(given.code == 0);
    CHECK(!says(given.output, "inferred"));
    CHECK(desk.run({"check", "order.csv", "--chains", "0,1,2,3,4,5,6,7"}).code == 1);
  }
}

TEST_CASE("check: an order that comes with Penstock is found by name") {
  const Desk desk;
  for (const char* name : {"late_receives.csv", "experiments/scenarios/late_receives.csv"}) {
    CHECK(desk.run({"check", name}).code == 0);
  }
}

TEST_CASE("check, run: - is standard input, even beside a folder of that name") {
  const Desk desk;
  std::filesystem::create_directory(desk.path("-"));
  const StandardInput order(desk.file("order.csv", "0F0,0B0\n"));
  CHECK(desk.run({"check", "-"}).code == 0);
  const StandardInput scenario(PENSTOCK_ROOT "/experiments/scenarios/first_run.json");
  CHECK(desk.run({"run", "-"}).code == 0);
}

TEST_CASE("run, check, explain: a file of another kind is named with what reads it") {
  const Desk desk;
  const std::string scenario = PENSTOCK_ROOT "/experiments/scenarios/first_run.json";
  REQUIRE(desk.run({"run", scenario, "--timeline", "r.timeline"}).code == 0);
  desk.file("p.csv", "layer,examples,forward_us,backward_us,activation_bytes\na,2,4,8,6\n");
  desk.file("p.json", R"({"profile": 1, "layers": []})");
  desk.file("d.json", R"({"zero_optimization": {"stage": 1}})");
  desk.file("c.json", R"({"module_to_stage_map": [0], "stage_to_rank_map": {"0": [0]}})");
  desk.file("o.csv", "xF0,0F1\n");
  const std::string trace = PENSTOCK_ROOT "/tests/torch/traces/2.15.0-zb-h1/rank0.json.gz";
  struct Case {
    std::vector<std::string> words;
    std::string error;
  };
  const std::string trains =
      "d.json: its format is deepspeed-config: how DeepSpeed trains, as its config states it; read "
      "and written; a scenario names it under /model/command\n";
  const std::string cuts =
      "c.json: its format is pipedream-conf: the stages of a model and their ranks as PipeDream's "
      "runtime has them; read; a scenario names it under /partition/file\n";
  const std::string explains = "r.timeline: it is a timeline; penstock explain reads it\n";
  const std::string describes = "p.csv: its format is profile-csv: layers as they were measured";
  for (const Case& one : std::vector<Case>{
           {{"run", "r.timeline"}, explains},
           {{"check", "r.timeline"}, explains},
           {{"run", "p.csv"}, describes},
           {{"check", "p.csv"}, describes},
           {{"run", "p.json"}, "p.json: its format is profile-json: layers as they were measured"},
           {{"run", "d.json"}, trains},
           {{"check", "d.json"}, trains},
           {{"run", "c.json"}, cuts},
           {{"run", "o.csv"}, "o.csv: this is an order, which has no times; name it in a scenario"},
           {{"check", scenario}, scenario + ": it is a scenario; penstock run simulates it\n"},
           {{"explain", trace, trace}, trace + ": its format is kineto: "}}) {
    CAPTURE(one.words.back());
    const ProgramRun run = desk.run(one.words);
    CHECK(run.code == 3);
    CHECK(run.errors.starts_with("penstock: error: " + one.error));
  }
}

TEST_CASE("run: a table is no order for a number and a capital letter in a cell") {
  const Desk desk;
  for (const char* table : {"name,8B,70B\n1,2,3\n", "x,3D printer,5\n", "x,4E2,2F,7G0\n"}) {
    CAPTURE(table);
    desk.file("table.csv", table);
    const ProgramRun run = desk.run({"run", "table.csv"});
    CHECK(run.code == 3);
    CHECK(run.errors.find("this is an order") == std::string::npos);
  }
}

TEST_CASE("check: a last rank without actions counts, and is named") {
  const Desk desk;
  desk.file("order.csv", "0F0,0B0\n\n");
  const ProgramRun check = desk.run({"check", "order.csv"});
  CHECK(check.code == 0);
  CHECK(check.output.starts_with("fine: p 2, 1 stage, m 1; "));
  CHECK(says(check.output, "\nranks without actions: 1\n"));
}

TEST_CASE("check: ranks have v stages only where each has as many") {
  const Desk desk;
  desk.file("one.csv", "0F0,1F0,1B0,0B0\n\n");
  CHECK(desk.run({"check", "one.csv"}).output.starts_with("fine: p 2, 2 stages, m 1; "));
  desk.file("two.csv", "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n");
  CHECK(desk.run({"check", "two.csv"}).output.starts_with("fine: p 2, v 2, m 1; "));
}

TEST_CASE("check --torch: an order that the release does not train is a fault") {
  const Desk desk;
  desk.file("order.csv", "0F0,0B0,0REDUCE_GRAD\n");
  CHECK(desk.run({"check", "order.csv"}).code == 0);
  CHECK(desk.run({"check", "order.csv", "--torch", "2.14"}).code == 0);
  const ProgramRun check = desk.run({"check", "order.csv", "--torch", "2.15"});
  CHECK(check.code == 1);
  CHECK(check.output.starts_with(
      "order.csv: row 0, column 0: PyTorch 2.15 does not train it: there each SEND and "));
}

TEST_CASE("run: an order of a bidirectional schedule from a file needs no chains") {
  const Desk desk;
  desk.file("order.csv",
            desk.run({"schedule", "dualpipe", "--ranks", "2", "--microbatches", "4"}).output);
  const std::string model = R"({ "model": { "stages": [
      {"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1},
      {"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1} ] }, )";
  desk.file("file.json", model + R"("schedule": { "file": "order.csv" } })");
  desk.file("name.json", model + R"("schedule": { "name": "dualpipe", "microbatches": 4 } })");
  const auto makespan = [&](const char* scenario) {
    return desk.json_of({"run", scenario}).at("makespan_us");
  };
  CHECK(makespan("file.json") == makespan("name.json"));
}

TEST_CASE("convert: of a scenario, overlap cells and bytes of transfers stay") {
  const Desk desk;
  const std::string stage =
      R"({"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1, "activation_bytes": 7})";
  desk.file("s.json", R"({ "model": { "stages": [)" + stage + "," + stage +
                          R"(] }, "schedule": { "name": "dualpipe", "microbatches": 4 } })");
  desk.run({"run", "s.json", "--write-order", "run.csv", "--trace", "run.json"});
  desk.run({"convert", "s.json", "converted.csv"});
  desk.run({"convert", "s.json", "converted.json", "--to", "chrome-trace"});
  const std::string order = content_of(desk.path("run.csv"));
  CHECK(says(order, "OVERLAP_F_B"));
  CHECK(content_of(desk.path("converted.csv")) == order);
  const std::string trace = content_of(desk.path("run.json"));
  CHECK(says(trace, R"("bytes":7)"));
  CHECK(content_of(desk.path("converted.json")) == trace);
}

TEST_CASE("an order that is written without its rule says what it loses") {
  const Desk desk;
  const std::string stage = R"({"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1})";
  desk.file("s.json", R"({ "model": { "stages": [)" + stage + "," + stage +
                          R"(] }, "schedule": { "name": "1f1b", "microbatches": 4 } })");
  const auto said = [&](const std::string& name) {
    const std::string setting = "/schedule/name=" + name;
    const std::string run =
        desk.run({"run", "s.json", "--set", setting, "--write-order", "a.csv", "--force"}).errors;
    CHECK(desk.run({"convert", "s.json", "b.csv", "--set", setting, "--force"}).errors == run);
    return run;
  };
  CHECK(said("1f1b") == "");
  CHECK(said("seq-1f1b") ==
        "penstock: without its rule, the 2 slices of a sequence would run as microbatches of their "
        "own\n");
  CHECK(says(said("pipedream"), "without its rule, weights would change once"));
}

}  // namespace penstock::testing
