#include "experiments/show/explanation/memory_explanation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "schedules/registry.hpp"
#include "tests/support/says.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

struct Explained {
  Scenario scenario;
  RunResult result;
  MemoryExplanation explanation;
};

Explained explained(const std::string& text, const std::vector<std::string>& settings = {}) {
  Explained all;
  all.scenario = parse_scenario(text, "s.json", settings);
  all.result = run_for_memory(all.scenario);
  all.explanation = explain_memory(all.scenario, all.result);
  return all;
}

/// 1f1b over 4 ranks: rank r holds 4 - r activations of 10 bytes beside 90 of adam and weights.
const std::string pipeline = R"({
  "model":    { "stages": [
      {"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1, "recompute_us": 1,
       "parameter_bytes": 10, "stash_bytes": 10, "selective_stash_bytes": 9, "selective_recompute_us": 0.5},
      {"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1, "parameter_bytes": 10, "stash_bytes": 10},
      {"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1, "parameter_bytes": 10, "stash_bytes": 10},
      {"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1, "parameter_bytes": 10, "stash_bytes": 10} ] },
  "recompute": { "mode": "none" },
  "memory":   { "optimizer": "adam", "capacity_bytes": 125 },
  "parallel": { "data": 4 },
  "schedule": { "name": "1f1b", "microbatches": 8 } })";

const TriedChange* change_of(const Explained& all, const std::string& name) {
  const auto& changes = all.explanation.changes;
  const auto found = std::find_if(changes.begin(), changes.end(), [&](const TriedChange& one) {
    return one.change.text() == name;
  });
  return found == changes.end() ? nullptr : &*found;
}

std::uint64_t worst_peak(const RunResult& result) {
  std::uint64_t worst = 0;
  for (const RankReport& rank : result.report->ranks) worst = std::max(worst, rank.memory.bytes);
  return worst;
}

/// A scenario of some schedule with memory of every kind.
Scenario with_memory(const ScheduleEntry& entry) {
  nlohmann::json stages;
  for (std::uint32_t s = 0; s < 4 * entry.default_chunks / entry.copies; ++s) {
    stages.push_back({{"forward_us", 1},
                      {"backward_input_us", 1},
                      {"backward_weight_us", 1},
                      {"parameter_bytes", 100 + s},
                      {"stash_bytes", 40},
                      {"recomputed_bytes", 7},
                      {"workspace_bytes", 5},
                      {"pending_weight_bytes", 3},
                      {"activation_bytes", 2}});
  }
  const int replicas = entry.weights == WeightUse::flushed ? 2 : 1;
  return scenario_from({{"model", {{"stages", stages}}},
                        {"schedule", {{"name", entry.name}, {"microbatches", 8}}},
                        {"parallel", {{"pipeline", 4}, {"data", replicas}}},
                        {"memory",
                         {{"optimizer", "adam"},
                          {"context_bytes", 50},
                          {"capacity_bytes", 2000},
                          {"reserve", 0.1}}}},
                       "s.json");
}

}  // namespace

TEST_CASE("the worst rank is named, with what it holds more than the mean") {
  // Peaks 130, 120, 110, 100: 115 on average, and the first rank holds 15 more, all of it stash.
  const Explained all = explained(pipeline);
  CHECK(index(all.explanation.worst) == 0);
  CHECK(all.result.report->ranks[0].memory.bytes == 130);
  CHECK(all.explanation.mean_bytes == 115);
  REQUIRE(all.explanation.above_mean.size() == 1);
  CHECK(all.explanation.above_mean[0].kind == BufferKind::stash);
  CHECK(all.explanation.above_mean[0].bytes == 15);
  CHECK(all.explanation.stages[0] == std::vector<Stage>{Stage{0}});
  CHECK(all.explanation.aim == MemoryAim::fit);
}

TEST_CASE("what lowers the worst peak is listed with the peak and the time it leads to") {
  // ZeRO over 4 replicas: of 60 bytes of the optimizer 15 stay, so 130 - 45; gradients of a
  // pipeline stay whole.
  const Explained all = explained(pipeline);
  REQUIRE(change_of(all, "/memory/zero=1"));
  CHECK(change_of(all, "/memory/zero=1")->peak_bytes == 85);
  REQUIRE(change_of(all, "/memory/zero=2"));
  CHECK(change_of(all, "/memory/zero=2")->peak_bytes == 85);
  CHECK(change_of(all, "/memory/zero=2")->fits() == true);
  CHECK(to_us(change_of(all, "/memory/zero=2")->makespan) == 33);
  // Rank 0 holds 4 activations of 9 bytes then: 90 + 36, which is still more than 125.
  REQUIRE(change_of(all, "/recompute/mode=selective"));
  CHECK(change_of(all, "/recompute/mode=selective")->peak_bytes == 126);
  CHECK(change_of(all, "/recompute/mode=selective")->fits() == false);
  // BPipe evens 4, 3, 2, 1 out to 3 and what is on its way.
  REQUIRE(change_of(all, "/schedule/name=bpipe"));
  // GPipe holds more, so it is none.
  CHECK(change_of(all, "/schedule/name=gpipe") == nullptr);
  // It has no backward at all; it would not train.
  CHECK(change_of(all, "/schedule/name=forward-only") == nullptr);
  // They use other weights.
  CHECK(change_of(all, "/schedule/name=pipedream") == nullptr);
}

TEST_CASE("what fits stands first, and among those the fastest") {
  const auto& changes = explained(pipeline).explanation.changes;
  REQUIRE(changes.size() > 3);
  CHECK(changes.front().fits() == true);
  CHECK(changes.back().fits() == false);
  for (std::size_t c = 1; c < changes.size(); ++c) {
    CHECK(changes[c - 1].fits() >= changes[c].fits());
    if (changes[c - 1].fits() == changes[c].fits()) {
      CHECK(changes[c - 1].makespan <= changes[c].makespan);
    }
  }
}

TEST_CASE("a change that is named does, when it is set, what was told of it") {
  const Explained all = explained(pipeline);
  REQUIRE(!all.explanation.changes.empty());
  for (const TriedChange& change : all.explanation.changes) {
    CAPTURE(change.change.text());
    const RunResult again = run(parse_scenario(pipeline, "s.json", change.change.settings));
    CHECK(worst_peak(again) == change.peak_bytes);
    CHECK(again.report->ranks[index(change.worst)].memory.bytes == change.peak_bytes);
    CHECK(again.report->makespan == change.makespan);
  }
}

TEST_CASE("where everything fits, what is faster and still fits is listed") {
  // With recomputation rank 0 takes longer; 1000 bytes have room for whole activations.
  const Explained all =
      explained(pipeline, {"/memory/capacity_bytes=1000", "/recompute/mode=full"});
  CHECK(all.explanation.aim == MemoryAim::buy);
  REQUIRE(change_of(all, "/recompute/mode=none"));
  for (const TriedChange& change : all.explanation.changes) {
    CHECK(change.fits() == true);
    CHECK(change.makespan < all.result.report->makespan);
  }
}

TEST_CASE(
    "codecs are tried where it is known how long they take, and can be set as they are named") {
  // 10 bytes take 10 * 4.5 / 16 = 2.8 in 4 bits and 5.3 in 8; rounded, 90 + 4 * 3 and 90 + 4 * 5,
  // and 10 while they are coded.
  const std::vector<std::string> known{
      R"(/codec={"encode_bytes_per_s": 1e9, "decode_bytes_per_s": 1e9})"};
  const std::string four = R"(/codec/stash={"name":"bfp","bits":4})";
  const std::string eight = R"(/codec/stash={"name":"bfp","bits":8})";
  const Explained all = explained(pipeline, known);
  REQUIRE(change_of(all, four));
  CHECK(change_of(all, four)->peak_bytes == 112);
  REQUIRE(change_of(all, eight));
  CHECK(change_of(all, eight)->peak_bytes == 120);
  const RunResult again = run(parse_scenario(pipeline, "s.json", {known[0], eight}));
  CHECK(worst_peak(again) == 120);
  CHECK(again.report->makespan == change_of(all, eight)->makespan);
  CHECK(change_of(explained(pipeline), four) == nullptr);
}

TEST_CASE("a codec that is there may be given up where everything fits") {
  // Coding takes time; 130 bytes are there without.
  const Explained all = explained(
      pipeline, {R"(/codec={"stash": "bfp", "encode_bytes_per_s": 1e6, "decode_bytes_per_s": 1e6})",
                 "/memory/capacity_bytes=130"});
  CHECK(all.explanation.aim == MemoryAim::buy);
  REQUIRE(change_of(all, "/codec/stash=none"));
  CHECK(change_of(all, "/codec/stash=none")->peak_bytes == 130);
}

TEST_CASE("without a capacity nothing is said to fit, and what holds less is listed") {
  const Explained all = explained(
      R"({ "model": { "stages": [ {"forward_us": 1, "backward_us": 2, "stash_bytes": 10},
                                  {"forward_us": 1, "backward_us": 2, "stash_bytes": 10} ] },
           "schedule": { "name": "gpipe", "microbatches": 4 } })");
  CHECK(all.explanation.aim == MemoryAim::hold);
  REQUIRE(change_of(all, "/schedule/name=1f1b"));
  CHECK(change_of(all, "/schedule/name=1f1b")->peak_bytes == 20);
  CHECK(!change_of(all, "/schedule/name=1f1b")->word);
}

TEST_CASE("under every schedule kinds add up to the peak, and the worst rank can be explained") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    CAPTURE(std::string(entry->name));
    const Scenario scenario = with_memory(*entry);
    const RunResult result = run_for_memory(scenario);
    REQUIRE(result.report);
    for (const RankReport& rank : result.report->ranks) {
      const BytesByKind& kinds = rank.memory.by_kind;
      CHECK(std::accumulate(kinds.begin(), kinds.end(), std::uint64_t{0}) == rank.memory.bytes);
      CHECK(kinds[static_cast<std::size_t>(BufferKind::context)] == 50);
      CHECK(kinds[static_cast<std::size_t>(BufferKind::stash)] > 0);
    }
    const MemoryExplanation explanation = explain_memory(scenario, result);
    CHECK(result.report->ranks[index(explanation.worst)].memory.bytes == worst_peak(result));
    CHECK(explanation.tried > 0);
    CHECK(!memory_explanation_text(result, explanation).empty());
    const auto document = memory_explanation_json(result, explanation);
    CHECK(document["reserved_bytes"] == 200);
    CHECK(document["ranks"].size() == 4);
    CHECK(document["worst"]["rank"] == index(explanation.worst));
  }
}

TEST_CASE("other chunk counts are tried, of the present order and of others") {
  std::string layers;
  for (int layer = 0; layer < 16; ++layer) {
    layers += R"(,{"forward_us": 1, "backward_input_us": 1, "backward_weight_us": 1,
                   "parameter_bytes": 10, "stash_bytes": 10})";
  }
  const std::string text = R"({ "model": { "layers": [)" + layers.substr(1) + R"(] },
      "memory": { "capacity_bytes": 10000 }, "parallel": { "pipeline": 2 },
      "schedule": { "name": "1f1b", "microbatches": 8 } })";
  // Bubbles shrink with chunks: (p-1)/v of F and B on top of m.
  const Explained plain = explained(text);
  for (const char* chunks : {"", " /parallel/chunks=4", " /parallel/chunks=8"}) {
    CAPTURE(chunks);
    CHECK(change_of(plain, std::string("/schedule/name=interleaved-1f1b") + chunks));
  }
  const Explained interleaved =
      explained(text, {"/schedule/name=interleaved-1f1b", "/parallel/chunks=4"});
  CHECK(change_of(interleaved, "/parallel/chunks=8"));
  const Explained tight = explained(
      text, {"/schedule/name=interleaved-1f1b", "/parallel/chunks=4", "/memory/capacity_bytes=1"});
  CHECK(change_of(tight, "/parallel/chunks=8"));
  CHECK(change_of(tight, "/schedule/name=1f1b /parallel/chunks=1"));
  const auto document = memory_explanation_json(tight.result, tight.explanation);
  const auto named = [](const auto& change) {
    return change["change"] == "/schedule/name=1f1b /parallel/chunks=1" &&
           change["options"] == "--set '/schedule/name=1f1b' --set '/parallel/chunks=1'";
  };
  CHECK(std::any_of(document["changes"].begin(), document["changes"].end(), named));
}

TEST_CASE("a run that comes to a halt for want of memory is explained without its limit") {
  // 10 of weights and 10 of an activation do not fit into 15 bytes.
  const Explained all = explained(
      R"({ "model": { "stages": [ {"forward_us": 1, "backward_us": 2, "stash_bytes": 10, "parameter_bytes": 10} ] },
           "memory": { "capacity_bytes": 15, "policy": "stall" },
           "schedule": { "name": "1f1b", "microbatches": 4 } })");
  REQUIRE(all.result.findings.size() == 2);
  CHECK(all.result.findings[0].kind == "deadlock");
  CHECK(all.result.findings[1].kind == "out_of_memory");
  CHECK(all.explanation.aim == MemoryAim::fit);
}

TEST_CASE("averaging over stages would hide a third of the heaviest one") {
  // NVIDIA-NeMo/Megatron-Bridge#5077: 8 layers as [1, 2, 2, 3], 6,792 parameters by the average and
  // 9,952 on the heaviest stage. Both figures hold for layers of 3160 and 472 at the end: 8 * 3160
  // / 4 + 472 and 3 * 3160 + 472; 31.8 % less. (That split of theirs is worked out here, not read.)
  std::string layers;
  for (int layer = 0; layer < 8; ++layer) {
    layers += R"({"forward_us": 1, "backward_us": 2, "parameter_bytes": 3160},)";
  }
  const Explained all = explained(R"({ "model": { "layers": [)" + layers + R"(
      {"forward_us": 1, "backward_us": 2, "parameter_bytes": 472} ] },
    "partition": { "stages": [[0], [1, 2], [3, 4], [5, 6, 7, 8]] },
    "schedule": { "name": "1f1b", "microbatches": 4 } })");
  CHECK(index(all.explanation.worst) == 3);
  const auto document = memory_explanation_json(all.result, all.explanation);
  CHECK(document["worst"]["peak_memory_bytes"] == 9952);
  CHECK(1 - 6792.0 / 9952 == doctest::Approx(0.318).epsilon(0.002));
  // Over ranks: (3160 + 6320 + 6320 + 9952) / 4 = 6438.
  CHECK(document["worst"]["mean_bytes"] == 6438);
  CHECK(document["worst"]["hidden_by_mean"].get<double>() == doctest::Approx(1 - 6438.0 / 9952));
}

TEST_CASE("the text says which rank, how much too much, what helps, and what is left out") {
  const Explained all = explained(pipeline);
  const std::string text = memory_explanation_text(all.result, all.explanation);
  CHECK(says(text, "capacity per rank: 125 B\n"));
  CHECK(says(text, "fit          does not fit\n"));
  CHECK(says(text, "   0       0  130 B      -5 B"));
  CHECK(says(text,
             "worst rank: 0 (stage 0), 130 B, 13.0 % above the mean\n"
             "difference from the mean: stash +15 B\n"));
  CHECK(says(text, "it does not fit; changes that reduce the peak, each simulated alone\n"));
  CHECK(says(text, "\n--set '/"));
  for (const auto& change : memory_explanation_json(all.result, all.explanation)["changes"]) {
    CHECK(change["options"].get<std::string>().starts_with("--set '"));
  }
  CHECK(says(text, "/memory/context_bytes is 0"));
  CHECK(says(text, "finding: out of memory: "));
}

TEST_CASE("what the scenario accounts for is not said to be missing") {
  const auto missing = [](const std::vector<std::string>& settings) {
    const Explained all = explained(pipeline, settings);
    std::string texts;
    for (const std::string& one : all.explanation.not_modelled) texts += one + "\n";
    return texts;
  };
  CHECK(says(missing({}), "/memory/reserve is 0"));
  CHECK(!says(missing({"/memory/reserve=0.1"}), "/memory/reserve is 0"));
  CHECK(says(missing({"/memory/optimizer=none"}), "weight gradients"));
}

}  // namespace penstock::testing
