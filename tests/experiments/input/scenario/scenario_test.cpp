#include "experiments/input/scenario/scenario.hpp"

#include <doctest/doctest.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "tests/support/says.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

/// Four layers of f = 1, b = 2 on two ranks.
const std::string layered = R"({
  "model":    { "layers": [ {"forward_us": 1, "backward_us": 2}, {"forward_us": 1, "backward_us": 2},
                            {"forward_us": 1, "backward_us": 2}, {"forward_us": 1, "backward_us": 2} ] },
  "hardware": { "devices": 2 },
  "schedule": { "name": "1f1b", "microbatches": 4 }
})";

/// The same with settings alone.
template <class... Settings>
std::string scenario_with(const Settings&... settings) {
  return outcome_of(scenario_plain, {settings...});
}

const std::string known_schedules = [] {
  std::string known = outcome_of(scenario_plain, {"/schedule/name=?"});
  return known.substr(known.find("known: "));
}();

}  // namespace

TEST_CASE("a scenario runs, and what it does not say has its default") {
  CHECK(outcome_of(scenario_plain) == "makespan 15");
  CHECK(outcome_of(layered) == "makespan 30");
  const Scenario scenario = parse_scenario(scenario_plain, "folder/s.json");
  CHECK(scenario.source == "folder/s.json");
  CHECK(scenario.folder == "folder");
  CHECK(scenario.hardware.name == "ideal");
  CHECK(scenario.partition.name == "even");
  CHECK(scenario.schedule.overlap == Overlap::serial);
  CHECK_FALSE(scenario.memory.capacity_bytes.has_value());
}

TEST_CASE("unknown keys are refused with those that are known there") {
  CHECK(
      scenario_with("/modle=1") ==
      "s.json: /modle: unknown key \"modle\"; did you mean \"model\"? known: batch, chance, codec, "
      "description, expect, hardware, "
      "memory, model, modules, "
      "offload, overheads, parallel, partition, penstock, recompute, schedule");
  CHECK(
      scenario_with("/model/stages/1/forwad_us=1") ==
      "s.json: /model/stages/1/forwad_us: unknown key \"forwad_us\"; did you mean "
      "\"forward_us\"? known: activation_bytes, "
      "backward_input_us, backward_us, backward_weight_us, exchange_us, forward_us, module, name, "
      "parameter_bytes, "
      "pending_weight_bytes, recompute_us, recomputed_bytes, repeat, selective_recompute_us, "
      "selective_recomputed_bytes, selective_stash_bytes, stash_bytes, workspace_bytes");
  CHECK(scenario_with("/parallel/pipelines=2") ==
        "s.json: /parallel/pipelines: unknown key \"pipelines\"; did you mean \"pipeline\"? known: "
        "bucket_bytes, chunks, context, data, description, dispatcher, expert, expert_tensor, "
        "narrow_gathers, overlap_experts, overlap_gathers, overlap_shared_expert, overlap_sums, "
        "overlap_tensor, pipeline, scatter_gather, sequence, tensor");
}

TEST_CASE("a value of the wrong type or size is refused with what would be right") {
  CHECK(scenario_with("/model/stages/0/forward_us=\"1\"") ==
        "s.json: /model/stages/0/forward_us: \"1\" is not a number from 0 to 1e+12, "
        "or one with a unit, such as \"2ms\"");
  CHECK(scenario_with("/model/stages/0/forward_us=1e13")
            .starts_with("s.json: /model/stages/0/forward_us: 10000000000000 is not "));
  CHECK(scenario_with("/model=[]") ==
        "s.json: /model: [] is not an object (what is trained: stages, layers "
        "or a file)");
  CHECK(scenario_with("/schedule/microbatches=4.5")
            .starts_with(
                "s.json: /schedule/microbatches: 4.5 is not a whole number from 1 to 16777216"));
  CHECK(scenario_with("/schedule/overlap=half")
            .starts_with("s.json: /schedule/overlap: \"half\" is not one of "
                         "\"serial\", \"fused\""));
  CHECK(scenario_with("/schedule/group=[2]")
            .starts_with("s.json: /schedule/group: [2] is not a text or a whole number"));
  CHECK(outcome_of("[]") == "s.json: [] is not an object");
  CHECK(outcome_of("3") == "s.json: 3 is not an object");
}

TEST_CASE("what must be there and is not, is named") {
  CHECK(outcome_of("{}") == "s.json: /model: \"model\" is missing");
  CHECK(
      scenario_with("/model/layers=[{\"forward_us\":1}]") ==
      "s.json: /model: it must have one of \"stages\", \"layers\" and \"file\"; it has \"stages\" "
      "and \"layers\"; --set '/model={\"stages\": …}' or --set '/model={\"layers\": …}' replaces "
      "the section");
  CHECK(scenario_with("/schedule/file=o.csv") ==
        "s.json: /schedule: it must have one of \"name\", \"policy\" and \"file\"; it has \"name\" "
        "and \"file\"; --set '/schedule={\"name\": …}' or --set '/schedule={\"file\": …}' replaces "
        "the section");
}

TEST_CASE("another version of the format is refused as such") {
  CHECK(scenario_with("/penstock=1") == "makespan 15");
  CHECK(scenario_with("/penstock=\"1\"") ==
        "s.json: /penstock: format version \"1\" is unknown; this program reads 1");
  // Even when nothing else of that version can be understood.
  CHECK(outcome_of(R"({"penstock": 2, "modell": 3})") ==
        "s.json: /penstock: format version 2 is unknown; this program reads 1");
}

TEST_CASE("unknown names are refused with the known ones") {
  CHECK(scenario_with("/schedule/name=1f1b-flush") ==
        "s.json: /schedule/name: unknown name \"1f1b-flush\"; " + known_schedules);
  CHECK(says(known_schedules, "1f1b, "));
  CHECK(says(known_schedules, "gpipe, "));
  CHECK(outcome_of(layered, {"/partition/name=odd"})
            .starts_with("s.json: /partition/name: unknown name \"odd\"; known: "));
}

TEST_CASE("an option or size that a rule does not have is refused with the rule") {
  CHECK(scenario_with("/schedule/group=2") ==
        "s.json: /schedule/group: unknown option \"group\"; 1f1b takes no options");
  CHECK(scenario_with("/parallel/chunks=2", "/parallel/pipeline=1") ==
        "s.json: /schedule: 1f1b: needs 1 chunk per rank, got 2: set /parallel/chunks=1 and "
        "/parallel/pipeline=2");
  CHECK(scenario_with("/parallel/chunks=1", "/parallel/pipeline=2") == "makespan 15");
  // Chunks alone are the remedy where the number of ranks follows from them, or is right as it is.
  CHECK(scenario_with("/parallel/chunks=2").ends_with("got 2: set /parallel/chunks=1"));
  CHECK(scenario_with("/parallel/chunks=2", "/hardware={\"name\": \"ideal\", \"devices\": 2}")
            .ends_with("got 2: set /parallel/chunks=1"));
  CHECK(scenario_with("/schedule/name=interleaved-1f1b", "/schedule/group=0") ==
        "s.json: /schedule: interleaved-1f1b: group is \"0\": must be a positive whole number");
  // Two stages on two ranks, one chunk each: a group of 1 is smaller than the ranks are many.
  CHECK(
      scenario_with("/schedule/name=interleaved-1f1b", "/parallel/pipeline=2", "/schedule/group=1")
          .starts_with("s.json: /schedule: interleaved-1f1b: group 1 does not fit 2 ranks and 4 "
                       "microbatches"));
}

TEST_CASE("numbers beyond the limits are refused before anything is allocated") {
  CHECK(scenario_with("/parallel/pipeline=1000000")
            .starts_with("s.json: /parallel/pipeline: 1000000 is not a whole "
                         "number from 1 to 16384"));
  CHECK(scenario_with("/schedule/microbatches=16777216") ==
        "s.json: /schedule: 1f1b: 2 stages times 16777216 microbatches are too many: at most "
        "100000000 actions");
  CHECK(scenario_with("/schedule/microbatches=18446744073709551616")
            .starts_with("s.json: /schedule/microbatches: "));
  CHECK(scenario_with("/parallel/pipeline=16384", "/parallel/chunks=65536",
                      "/schedule/name=interleaved-1f1b") ==
        "s.json: /parallel/chunks: 16384 ranks times 65536 chunks are too many stages; at most "
        "65536");
}

TEST_CASE("sizes that contradict each other are refused at the one to change") {
  CHECK(scenario_with("/hardware/devices=3") ==
        "s.json: /model/stages: it has 2 stages, but the schedule has 3 model stages on 3 ranks: "
        "set /hardware/devices=2");
  CHECK(scenario_with("/hardware/devices=4", "/parallel/pipeline=2") ==
        "s.json: /hardware/devices: it is 4, but 2 pipeline ranks times the other "
        "degrees of /parallel take 2");
  CHECK(scenario_with("/hardware/devices=4", "/parallel/tensor=2") == "makespan 15");
  CHECK(scenario_with("/hardware/devices=5", "/parallel/tensor=2") ==
        "s.json: /hardware/devices: 5 devices cannot be divided by the 2 that one pipeline rank "
        "takes");
  CHECK(scenario_with("/parallel/pipeline=3") ==
        "s.json: /model/stages: it has 2 stages, but the schedule has 3 model stages on 3 ranks: "
        "set /parallel/pipeline=2");
  // No number of chunks holds two stages on one rank, only another number of ranks.
  CHECK(scenario_with("/hardware/devices=2", "/parallel/data=2") ==
        "s.json: /hardware/devices: 2 stages on 1 rank: 1f1b needs 1 chunk per rank, got 2: set "
        "/hardware/devices=4");
  CHECK(scenario_with("/hardware/devices=4", "/parallel/data=2") == "makespan 15");
  CHECK(scenario_with("/parallel/pipeline=1") ==
        "s.json: /parallel/pipeline: 2 stages on 1 rank: 1f1b needs 1 chunk per rank, got 2: set "
        "/parallel/pipeline=2");
  CHECK(scenario_with("/parallel/pipeline=1", "/hardware/devices=1") ==
        "s.json: /parallel/pipeline: 2 stages on 1 rank: 1f1b needs 1 chunk per rank, got 2: set "
        "/parallel/pipeline=2 and /hardware/devices=2");
  CHECK(scenario_with("/parallel/chunks=3", "/schedule/name=interleaved-1f1b") ==
        "s.json: /parallel/chunks: 2 stages cannot be divided by 3 chunks a rank");
  CHECK(outcome_of(layered, {"/parallel/pipeline=2", "/hardware={}"}) == "makespan 30");
  CHECK(outcome_of(layered, {"/hardware={}"}) ==
        "s.json: /parallel/pipeline: it is missing; a model given by layers needs the number of "
        "pipeline ranks, or \"devices\" under /hardware");
  CHECK(outcome_of(layered, {"/hardware/devices=5"}) ==
        "s.json: /model: 5 stages need at least one layer each, got 4");
}

TEST_CASE("stages over ranks are chunks, and stages over chunks are ranks") {
  // Six stages of f = 1, b = 2, m = 4. Two ranks with three chunks each wait for one chunk:
  // 4 * 3 * 3 + 3. Three ranks with two chunks, which is the rule's default, wait for two of them.
  const std::string stage = R"({"forward_us": 1, "backward_us": 2})";
  std::string six = stage;
  for (int i = 1; i < 6; ++i) six += "," + stage;
  const auto interleaved = [&](const std::vector<std::string>& settings) {
    return outcome_of("{\"model\": {\"stages\": [" + six + "]}, " +
                          R"("schedule": {"name": "interleaved-1f1b", "microbatches": 4}})",
                      settings);
  };
  CHECK(interleaved({"/parallel/pipeline=2"}) == "makespan 39");
  CHECK(interleaved({"/hardware/devices=2"}) == "makespan 39");
  CHECK(interleaved({"/parallel/chunks=3"}) == "makespan 39");
  CHECK(interleaved({"/schedule/group=4"}) == "makespan 30");
  CHECK(interleaved({"/parallel/pipeline=4"}) ==
        "s.json: /model/stages: it has 6 stages, but the schedule has 8 model stages on 4 ranks: "
        "set /parallel/pipeline=3");
}

TEST_CASE("a partition that does not fit the model or the schedule is refused") {
  CHECK(outcome_of(layered, {"/partition/stages=[[0],[1,2,3]]"}) == "makespan 39");
  CHECK(outcome_of(layered, {"/partition/stages=[[0,1],[2]]"}) ==
        "s.json: /partition/stages: layer 3 is in no stage");
  CHECK(outcome_of(layered, {"/partition/stages=[[0],[1],[2,3]]"}) ==
        "s.json: /partition/stages: it has 3 stages, but the schedule has 2 model stages on 2 "
        "ranks: set /hardware/devices=3");
  CHECK(outcome_of(layered, {"/partition={\"name\":\"even\",\"stages\":[[0,1],[2,3]]}"}) ==
        "s.json: /partition: it must have at most one of \"name\", \"stages\" and \"file\"; it has "
        "\"name\" and \"stages\"; --set '/partition={\"name\": …}' or --set "
        "'/partition={\"stages\": …}' replaces the section");
  CHECK(outcome_of(layered, {"/model/edges=[[0,4]]"}) ==
        "s.json: /model/edges/0: unknown layer 4; layers are 0 to 3");
  // Where the cycle lies within one given stage.
  CHECK(outcome_of(layered, {"/model/edges=[[1,1]]", "/partition/stages=[[0,1],[2,3]]"}) ==
        "s.json: /model/edges: layer 1 depends on itself through a cycle of edges; a model is a "
        "graph without cycles");
  CHECK(scenario_with("/model/edges=[[0,1]]") ==
        "s.json: /model/edges: stages are a chain; edges go with \"layers\"");
}

TEST_CASE("stages of a model may be joined, or listed once more beside their ranks") {
  // Joined, both run on one rank: 4 * (2 + 4).
  CHECK(scenario_with("/partition/stages=[[0,1]]") == "makespan 24");
  CHECK(scenario_with("/partition/stages=[[0],[1]]") == "makespan 15");
  CHECK(scenario_with("/partition={\"stages\":[[0],[1]],\"ranks\":[[1],[0]]}") == "makespan 15");
  CHECK(scenario_with("/partition/stages=[[0,1]]", "/parallel/pipeline=2") ==
        "s.json: /partition/stages: it has 1 stage, but the schedule has 2 model stages on 2 "
        "ranks: set /parallel/pipeline=1");
  CHECK(scenario_with("/partition/stages=[[1],[0]]") ==
        "s.json: /partition/stages: layer 0 of stage 1 feeds layer 1 of stage 0; activations go to "
        "the same or a later stage");
}

TEST_CASE("given ranks must fit the stages and the rule") {
  const std::string gpipe = "/schedule/name=gpipe";
  // Rank 1 takes the even microbatches of stage 1, rank 2 the odd ones. Rank 0 works 4 * 3 and
  // waits only for the first gradient: rank 1 does F0 1-2, F2 3-4, B0 4-6.
  CHECK(scenario_with(gpipe, "/partition/ranks=[[0],[1,2]]") == "makespan 14");
  CHECK(scenario_with("/partition/ranks=[[0],[1,2]]") ==
        "s.json: /schedule: 1f1b: stage 1 has 2 replicas; 1f1b supports one");
  CHECK(scenario_with(gpipe, "/partition/ranks=[[0],[0]]") ==
        "s.json: /schedule: gpipe: rank 0 holds several stages; gpipe needs one per rank");
  CHECK(scenario_with(gpipe, "/partition/ranks=[[0],[1],[2]]") ==
        "s.json: /model/stages: it has 2 stages, but the schedule has 3 model stages on 3 ranks");
  CHECK(scenario_with(gpipe, "/partition/ranks=[[0],[3]]", "/parallel/pipeline=2") ==
        "s.json: /partition/ranks: stage 1 is on rank 3; ranks are 0 to 1");
  CHECK(
      scenario_with(gpipe, "/partition/ranks=[[0],[1,1]]") ==
      "s.json: /partition/ranks: stage 1 is on rank 1 twice; its replicas are on different ranks");
}

TEST_CASE("recompute none does not spend what the stages say of recomputation") {
  const std::string spends = "/model/stages/1/recompute_us=1";
  // The second rank works 4 * (1 + 1 + 2) without a pause from 1 on, then rank 0 ends with 2.
  CHECK(scenario_with(spends) == "makespan 19");
  CHECK(scenario_with(spends, "/recompute/mode=full") == "makespan 19");
  CHECK(scenario_with(spends, "/recompute/mode=none") == "makespan 15");
}

TEST_CASE("--set adds, replaces and appends in order; text that is no JSON is a string") {
  CHECK(scenario_with("/schedule/microbatches=2") == "makespan 9");
  CHECK(scenario_with("/schedule/microbatches=2", "/schedule/microbatches=3") == "makespan 12");
  CHECK(scenario_with("/schedule/name=gpipe", "/hardware={\"transfer_us\":0.5}") == "makespan 16");
  CHECK(scenario_with("/model/stages/-={\"forward_us\":1,\"backward_us\":2}") == "makespan 18");
  CHECK(scenario_with("/model/stages/2={\"forward_us\":1,\"backward_us\":2}") == "makespan 18");
  CHECK(scenario_with("/schedule/name=\"gpipe\"") == "makespan 15");
}

TEST_CASE("8.0 is a whole number, in a file and in settings, as JSON schemas have it") {
  CHECK(scenario_with("/schedule/microbatches=2.0") == "makespan 9");
  CHECK(scenario_with("/schedule={\"name\": \"1f1b\", \"microbatches\": 2e0}") == "makespan 9");
  CHECK(parse_json("[8.0, -1.0, 0.5, 1e300]").dump() == "[8,-1,0.5,1e+300]");
}

TEST_CASE("a setting that cannot be applied is a wrong call") {
  CHECK(scenario_with("schedule=1") ==
        "usage: --set schedule=1: expected /POINTER=VALUE; did you mean /schedule=1?");
  CHECK(scenario_with("/schedule") ==
        "usage: --set /schedule: expected /POINTER=VALUE, such as /schedule/name=gpipe");
  CHECK(scenario_with("").starts_with("usage: --set "));
  CHECK(scenario_with("/model/stages/x=1").starts_with("usage: --set /model/stages/x=1: "));
  CHECK(scenario_with("/model/stages/01=1").starts_with("usage: --set /model/stages/01=1: "));
  CHECK(scenario_with("/~2=1").starts_with("usage: --set /~2=1: "));
  CHECK(scenario_with("/schedule/name/deeper=1")
            .starts_with("usage: --set /schedule/name/deeper=1: "));
  // An index far behind the end would fill all memory with nothing.
  CHECK(scenario_with("/model/stages/3=1") ==
        "usage: --set /model/stages/3=1: the list has 2 items; the next is 2 or -");
  CHECK(scenario_with("/model/stages/4000000000=1") ==
        "usage: --set /model/stages/4000000000=1: the list has 2 items; the next is 2 or -");
}

TEST_CASE("a text that is no JSON is refused with line and column") {
  CHECK(outcome_of("") == "s.json: the file is empty; a JSON document is needed");
  CHECK(outcome_of(" \n ") == "s.json: the file is empty; a JSON document is needed");
  CHECK(outcome_of("{\n  \"model\": ?}").starts_with("s.json: line 2, column 12: syntax error"));
  CHECK(outcome_of("?").starts_with("s.json: line 1, column 1: syntax error"));
  CHECK(outcome_of("{\"model\": 1").starts_with("s.json: line 1, column "));
  CHECK(outcome_of("{} {}").starts_with("s.json: line 1, column "));
  CHECK(outcome_of("{\"a\": NaN}").starts_with("s.json: line 1, column "));
  CHECK(outcome_of("{\"a\": Infinity}").starts_with("s.json: line 1, column "));
  CHECK(outcome_of("{\"a\": 1, // no comments\n}").starts_with("s.json: line 1, column "));
  CHECK(outcome_of("{\"a\": \"\xff\"}").starts_with("s.json: line 1, column "));
  CHECK(outcome_of("{\"a\": [0, 1e999]}") == "s.json: /a/1: number overflow parsing '1e999'");
}

TEST_CASE("a key that stands twice is refused, however deep") {
  CHECK(outcome_of(R"({"model": 1, "model": 2})") == "s.json: /model: duplicate key");
  CHECK(outcome_of(R"({"model": {"stages": [{"name": "a"}, {"name": "a", "name": "b"}]}})") ==
        "s.json: /model/stages/1/name: duplicate key");
}

TEST_CASE("nesting without end is refused, not followed") {
  const std::string deep(2'000'000, '[');
  CHECK(outcome_of(deep) == "s.json: it is nested more than 64 levels deep");
  CHECK(outcome_of(deep + std::string(2'000'000, ']')) ==
        "s.json: it is nested more than 64 levels deep");
  CHECK(says(outcome_of("{\"expect\": " + deep), "nested more than 64 levels"));
  CHECK(scenario_with("/expect/x=" + std::string(100, '[') + std::string(100, ']')) ==
        "usage: --set /expect/x=" + std::string(100, '[') + std::string(100, ']') +
            ": it is nested more than 64 levels deep");
}

/// CPU seconds to read a model of this many layers.
double seconds_to_read(std::size_t layers) {
  std::string list;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    list += R"({"forward_us": 1, "backward_us": 2},)";
  }
  list.back() = ']';
  const std::string text = R"({"schedule": {"name": "1f1b", "microbatches": 1},
                               "hardware": {"devices": 1}, "model": {"layers": [)" +
                           list + "}}";
  const std::clock_t start = std::clock();
  CHECK(parse_scenario(text, "s.json").model.graph.layers.size() == layers);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST_CASE("reading takes time in proportion to the length of a list, not to its square") {
  // ten times the layers: 10 times the time, with the square 100 times
  CHECK(seconds_to_read(100'000) < 35 * seconds_to_read(10'000));
}

}  // namespace penstock::testing
