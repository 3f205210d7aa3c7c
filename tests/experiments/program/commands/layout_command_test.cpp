#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/program.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

using Texts = std::vector<std::string>;
using nlohmann::json;

Texts question_with(const Texts& more) {
  return with_words(
      {"layout", PENSTOCK_ROOT "/experiments/models/llama-3.1-8b.json", "--hardware", "dgx-h100",
       "--devices", "8", "--only", "/schedule/name=1f1b,/parallel/context=1"},
      more);
}

ProgramRun layouts_with(const Texts& more, const std::string& folder = ".") {
  return run_penstock(question_with(more), folder);
}

json plan_with(const Texts& more) { return Desk().json_of(question_with(more)); }

std::uint64_t fullest(const json& layouts) {
  std::uint64_t bytes = 0;
  for (const json& one : layouts) {
    bytes = std::max(bytes, one["peak_memory_bytes"].get<std::uint64_t>());
  }
  return bytes;
}

TEST_CASE("layout lists families that leave headroom, and with none fuller ones") {
  const json usual = plan_with({}), full = plan_with({"--headroom", "0"});
  const json half = plan_with({"--headroom", "0.5"});
  CHECK(fullest(usual["layouts"]) < fullest(full["layouts"]));
  CHECK(fullest(half["layouts"]) < fullest(usual["layouts"]));
  CHECK(usual["layouts"][0]["makespan_us"] >= full["layouts"][0]["makespan_us"]);
  CHECK(half["layouts"][0]["makespan_us"] >= usual["layouts"][0]["makespan_us"]);
  // What is faster without headroom stands apart.
  CHECK(half["tight"][0]["makespan_us"] < half["layouts"][0]["makespan_us"]);
  CHECK(
      says(layouts_with({"--headroom", "0.5"}).output, "with less memory to spare (--headroom):"));
}

TEST_CASE("layout ends with 1 where none fits with the headroom, and lists what fits with less") {
  const ProgramRun none = layouts_with({"--headroom", "0.9"});
  CHECK(none.code == 1);
  CHECK(says(none.output, "no layout fits with headroom\n"));
  CHECK(says(none.output, "with less memory to spare (--headroom):"));
}

TEST_CASE("layout as JSON has rows, the front, and how sure each is") {
  const json plan = plan_with({"--best", "3"});
  REQUIRE(plan["layouts"].size() == 3);
  CHECK(plan["stopped"] == false);
  CHECK(plan["whole_front"] == true);
  CHECK(plan["layouts"][0]["faster_with"] == 0.5);
  CHECK(plan["layouts"][0]["differs"] == "");
  CHECK(plan["layouts"][2]["faster_with"] < 0.5);
  CHECK(plan["layouts"][2]["differs"] != "");
  CHECK_FALSE(plan.contains("compared"));
  for (const char* key : {"schedule_options", "recompute_unit", "offload_keep", "stash_codec"}) {
    CHECK(plan["layouts"][0].contains(key));
  }
  const json& front = plan["front"];
  REQUIRE(front.size() > 1);
  CHECK(front[0]["makespan_us"] == plan["layouts"][0]["makespan_us"]);
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i]["peak_memory_bytes"] < front[i - 1]["peak_memory_bytes"]);
    CHECK(front[i]["makespan_us"] > front[i - 1]["makespan_us"]);
  }
}

TEST_CASE("layout says that a budget ended it, and how much faster others may be") {
  const Texts asked{
      "layout",     std::string(PENSTOCK_ROOT) + "/experiments/models/llama-3.1-70b.json",
      "--hardware", "dgx-h200",
      "--devices",  "256",
      "--budget",   "0.1"};
  const ProgramRun run = run_penstock(asked, ".");
  CHECK(run.code == 0);
  CHECK(says(run.output, "stopped early (--budget): none of the others is more than "));
  CHECK(says(run.output, "left when the time was up"));
  CHECK_FALSE(says(layouts_with({}).output, "stopped early"));
}

TEST_CASE("layout compares machines and numbers of devices") {
  const json plan = plan_with(
      {"--compare-hardware", "dgx-b200", "--compare-devices", "16", "--only", "/memory/zero=1"});
  REQUIRE(plan["compared"].size() == 1);
  const json& rows = plan["compared"][0];
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["speed"]["ratio"] == 1.0);
  CHECK(rows[0]["layouts"][0]["makespan_us"] == plan["layouts"][0]["makespan_us"]);
  CHECK(rows[1]["devices"] == 16);
  CHECK(rows[1]["hardware"] == "dgx-h100");
  CHECK(rows[2]["hardware"] == "dgx-b200");
  CHECK(rows[3]["devices"] == 16);
  const ProgramRun unknown = layouts_with({"--compare-hardware", "dgx-h1000"});
  CHECK(unknown.code == 2);
  CHECK(unknown.output.empty());
  CHECK(says(unknown.errors, "\"dgx-h1000\""));
  CHECK(says(unknown.errors, "dgx-h100"));
}

TEST_CASE("layout refuses shares, seconds and questions that mean nothing") {
  for (const Texts& wrong :
       {Texts{"--headroom", "1"}, Texts{"--headroom", "8%"}, Texts{"--budget", "0"},
        Texts{"--budget", "soon"}, Texts{"--compare-devices", "0"}, Texts{"--why", "ties"},
        Texts{"--uncertainty", "0.03"}}) {
    CAPTURE(wrong.front() + " " + wrong.back());
    const ProgramRun run = layouts_with(wrong);
    CHECK(run.code == 2);
    CHECK(says(run.errors, wrong.front()));
  }
}

TEST_CASE("layout answers in JSON too") {
  const json plan = plan_with({"--only", "/memory/zero=1", "--why", "/parallel/pipeline=4",
                               "--change", "/hardware/nic_efficiency=0.5"});
  REQUIRE(plan["why"].size() == 1);
  CHECK(plan["why"][0]["values"] == "/parallel/pipeline=4");
  REQUIRE(plan["changes"].size() == 1);
  CHECK(plan["changes"][0]["change"] == "/hardware/nic_efficiency=0.5");
  CHECK_FALSE(plan.contains("stacks"));
}

TEST_CASE("layout --from takes any setting of its scenario, and refuses what it would ignore") {
  const std::string scenario = std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json";
  const ProgramRun set =
      run_penstock({"layout", "--from", scenario, "--set", "/schedule/name=gpipe"}, ".");
  CHECK(set.code == 0);
  CHECK(says(set.output, "gpipe, 4 ranks, 8 microbatches\nnow: "));
  const ProgramRun framework =
      run_penstock({"layout", "--from", scenario, "--for", "megatron"}, ".");
  CHECK(framework.code == 2);
  CHECK(says(framework.errors, "--for does not go with --from"));
}

TEST_CASE("layout answers, draws and writes what it lists") {
  const Scratch scratch;
  const ProgramRun run = layouts_with({"--best", "2", "--why", "rules", "--why",
                                       "/parallel/pipeline=4", "-o", "made", "--png", "front.png"},
                                      scratch.path(""));
  REQUIRE(run.code == 0);
  CHECK(says(run.output, "excluded because"));
  CHECK(says(run.output, "why not /parallel/pipeline=4"));
  CHECK(std::filesystem::exists(scratch.path("made/layout_2.json")));
  CHECK_FALSE(std::filesystem::exists(scratch.path("made/layout_3.json")));
  CHECK(std::filesystem::file_size(scratch.path("front.png")) > 1000);
}

TEST_CASE("layout replaces what it wrote, names what is older, and looks before it searches") {
  const Scratch scratch;
  const auto files_of = [&](const char* framework, const char* best) {
    return layouts_with({"--for", framework, "--best", best, "-o", "made"}, scratch.path(""));
  };
  for (const char* framework : {"megatron", "torchtitan", "deepspeed"}) {
    CAPTURE(framework);
    REQUIRE(files_of(framework, "2").code == 0);
    const ProgramRun again = files_of(framework, "1");
    CAPTURE(again.errors);
    CHECK(again.code == 0);
    CHECK(says(again.errors, "made/layout_2.json: older, not of this answer"));
  }
  scratch.file("made/layout_2.json", "{}");
  const ProgramRun refused = files_of("megatron", "2");
  CHECK(refused.code == 2);
  CHECK(says(refused.errors, "made/layout_2.json: it exists, and nothing in it says"));
  CHECK(refused.output.empty());
}

TEST_CASE("layout: an error begins with the option that is wrong") {
  const std::vector<std::pair<Texts, std::string>> cases{
      {{"--compare-hardware", "nope"}, "--compare-hardware: unknown machine \"nope\"; known: "},
      {{"--change", "/hardware/nic_efficiency=2"},
       "--change /hardware/nic_efficiency=2: 2 is not a number from 1e-06 to 1 "},
      {{"--change", "/hardware/stack=nope"}, "--change /hardware/stack=nope: unknown name "},
      {{"--set", "/hardware/nic_efficiency=0.5,/hardware/nope=1"},
       "--set /hardware/nic_efficiency=0.5,/hardware/nope=1: unknown key \"nope\"; known: "},
      {{"--set", "/schedule/communication=written"},
       "--set /schedule/communication=written: tensors of layouts move as soon as they are there"},
      {{"--set", "/batch={}"}, "--set /batch={}: /batch/lengths: \"lengths\" is missing"}};
  for (const auto& [options, error] : cases) {
    CAPTURE(error);
    const ProgramRun refused = layouts_with(options);
    CHECK(refused.code == (options.front() == "--compare-hardware" ? 2 : 3));
    CHECK(refused.errors.starts_with("penstock: error: " + error));
  }
}

}  // namespace
}  // namespace penstock::testing
