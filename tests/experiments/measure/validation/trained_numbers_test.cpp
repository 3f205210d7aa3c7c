#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/measure/validation/validation.hpp"
#include "experiments/run/run.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/says.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

const char* const tied_layers = R"({
  "penstock": 1,
  "model": { "sequence": 4, "microbatch": 1, "layers": [
    { "kind": "embedding", "vocab": 8, "hidden": 4 },
    { "name": "block", "repeat": 2, "kind": "mlp", "hidden": 4, "intermediate": 8 },
    { "kind": "head", "hidden": 4, "vocab": 8, "tied": 1 } ] },
  "hardware": { "name": "roofline", "device": "a100-sxm4-80gb", "link": "nvlink-3", "devices": 2 },
  "schedule": { "name": "1f1b", "microbatches": 4 } })";

const char* const four_blocks = R"({
  "penstock": 1,
  "model": { "sequence": 8, "microbatch": 1, "layers": [
    { "kind": "embedding", "vocab": 8, "hidden": 8 },
    { "name": "block", "repeat": 4, "parts": [
      { "kind": "norm", "hidden": 8 },
      { "kind": "attention", "hidden": 8, "heads": 2, "flash": 0 },
      { "kind": "mlp", "hidden": 8, "intermediate": 12 } ] },
    { "kind": "head", "hidden": 8, "vocab": 8 } ] },
  "hardware": { "name": "roofline", "device": "a100-sxm4-80gb", "link": "nvlink-3", "devices": 4 },
  "schedule": { "name": "1f1b", "microbatches": 8 } })";

const char* const six_bits =
    "/codec={\"stash\": {\"name\": \"bfp\", \"bits\": 6}, \"encode_bytes_per_s\": 1e12, "
    "\"decode_bytes_per_s\": 1e12}";

/// Layers that are really run, and come to the numbers of the model in one piece.
Validation trained(const std::string& text, const std::vector<std::string>& settings) {
  Validation result = validate(parse_scenario(text, "small.json", settings), cpu_logical(), {});
  REQUIRE_FALSE(result.fault);
  CHECK(result.why_busy == "");
  CHECK(result.job.layers);
  REQUIRE(result.numbers.error.value_or(1) < most_numbers_error);
  if (!result.measured.iterations.empty()) CHECK(result.errors.structure == 0);
  return result;
}

/// Updates included.
Validation trained_tied(const std::vector<std::string>& settings) {
  Validation result = trained(tied_layers, settings);
  CHECK(result.numbers.of_weights);
  return result;
}

}  // namespace

// Two mlp layers on two ranks, no loss of their own: a pipeline of a few thousand FLOP.
TEST_CASE("validation: small layers are really run, and come to what the model in one piece does") {
  const Validation result = trained(scenario_two_mlps, {});
  CHECK(validation_json(result)["bodies"] == "layers");
  CHECK(validation_json(result)["numbers_error"] == *result.numbers.error);
  const std::string text = validation_text(result);
  CHECK(says(text,
             "actions: the model's layers\nloss, gradients and weights after the optimizer "
             "step: equal to the unpartitioned model within "));
}

// Two replicas on ranks of their own, each with two microbatches of four.
TEST_CASE("validation: data replicas really run, and come to one model on the whole batch") {
  for (const char* optimizer : {"sgd", "adam"}) {
    const Validation result = trained(
        scenario_two_mlps,
        {"/parallel/data=2", "/hardware/devices=4", std::string("/memory/optimizer=") + optimizer});
    CHECK(result.job.priced.plan.ranks == 4);
    CHECK(result.job.priced.plan.microbatches == 4);
    CHECK(result.numbers.of_weights);
  }
}

// With ZeRO-3, and with ZeRO-2 whose sums do not overlap, passes include the sums: the plan has no
// task for them, and its time stays what it was.
TEST_CASE("validation: sums inside passes reach the updates of all data replicas") {
  for (const char* sharding : {"/memory/zero=3", "/memory/zero=2"}) {
    CAPTURE(sharding);
    std::vector<std::string> settings{"/parallel/data=2", "/hardware/devices=4",
                                      "/memory/optimizer=adam", sharding};
    if (sharding == std::string("/memory/zero=2"))
      settings.emplace_back("/parallel/overlap_sums=false");
    const Validation result = trained(scenario_two_mlps, settings);
    CHECK(result.numbers.of_weights);
    CHECK(result.scenario ==
          run(parse_scenario(scenario_two_mlps, "small.json", settings)).report->makespan);
  }
}

TEST_CASE("validation: an order without flushes is held against the weights that its rule states") {
  for (const char* name : {"pipedream", "pipedream-2bw"}) {
    trained(scenario_two_mlps, {std::string("/schedule/name=") + name, "/schedule/microbatches=6"});
  }
}

// The first and the last stage hold the same table. On two ranks they exchange their gradients; of
// zb-v one rank holds both; of two replicas each sums what all send.
TEST_CASE("validation: both ends of a tied model step their table as the model in one piece does") {
  for (const char* optimizer : {"sgd", "adam"}) {
    for (const char* change : {"/schedule/name=1f1b", "/schedule/name=zb-v", "/parallel/data=2",
                               "/parallel/pipeline=1"}) {
      CAPTURE(optimizer);
      CAPTURE(change);
      std::vector<std::string> settings{std::string("/memory/optimizer=") + optimizer, change};
      if (std::string(change) == "/parallel/data=2") settings.emplace_back("/hardware/devices=4");
      if (std::string(change) == "/parallel/pipeline=1")
        settings.emplace_back("/hardware/devices=1");
      trained_tied(settings);
    }
  }
}

// Of two directions each rank holds both ends, and so does rank 0 of a V in each replica: the later
// update has the sums of both.
TEST_CASE("validation: all copies of a tied table step with the gradients of all copies") {
  for (const char* name : {"chimera", "dualpipe", "zb-v", "dualpipev", "interleaved-1f1b"}) {
    for (const char* data : {"1", "2"}) {
      for (const char* optimizer : {"sgd", "adam"}) {
        CAPTURE(name);
        CAPTURE(data);
        const Validation result = trained_tied(
            {std::string("/memory/optimizer=") + optimizer, std::string("/schedule/name=") + name,
             std::string("/parallel/data=") + data,
             std::string("/hardware/devices=") + (*data == '1' ? "2" : "4")});
        CHECK(result.job.priced.plan.ranks == (*data == '1' ? 2 : 4));
      }
    }
  }
}

// Both ends have two copies: each sends its gradient to its partner, and its partner's neighbour
// needs it too.
TEST_CASE("validation: replicas of the ends of a tied model step with the gradients of all") {
  trained_tied({"/schedule/name=gpipe",
                "/partition={\"stages\": [[0, 1], [2, 3]], \"ranks\": [[0, 1], [2, 3]]}",
                "/hardware/devices=4", "/memory/optimizer=adam"});
}

// The model in one piece drops the same values, whatever recomputes or slices them.
TEST_CASE("validation: an order with dropout trains the same model") {
  for (const char* change : {"/schedule/name=zb-h1", "/recompute/mode=full",
                             "/recompute/mode=selective", "/schedule/name=seq-1f1b"}) {
    CAPTURE(change);
    trained(four_blocks, {"/model/layers/0/dropout=0.2", "/model/layers/1/parts/1/dropout=0.2",
                          "/model/layers/1/parts/2/dropout=0.2", change});
  }
}

// What a stage keeps and what it sends goes through the reference codec; the model in one piece
// does the same, so that both come to the same numbers.
TEST_CASE("validation: activations are really encoded, and the report has the errors") {
  const char* codec =
      "/codec={\"stash\": {\"name\": \"bfp\", \"bits\": 5}, \"link\": {\"name\": \"bfp\", "
      "\"bits\": 8}, \"encode_bytes_per_s\": 1e12, \"decode_bytes_per_s\": 1e12}";
  for (const char* schedule : {"1f1b", "zb-h1"}) {
    const Validation result =
        trained(scenario_two_mlps, {codec, std::string("/schedule/name=") + schedule});
    REQUIRE(result.coding);
    CHECK(result.coding->stash.bits_per_value() >= 5);
    CHECK(result.coding->stash.sqnr_db() > 15);
    CHECK(result.coding->stash.sqnr_db() < 35);
    CHECK(result.coding->link.sqnr_db() > result.coding->stash.sqnr_db());
    CHECK(says(validation_text(result), "stash encoded: 5"));
    CHECK(validation_json(result)["coding"]["links"]["values"] == result.coding->link.values);
    if (result.measured.iterations.empty()) continue;
    REQUIRE(result.stash_peaks.size() == 2);
    CHECK(result.stash_peaks[0].counted_bytes > 0);
  }
}

// Blocks whose attention keeps its scores, so that there is something to recompute selectively.
TEST_CASE("validation: what is encoded may be recomputed, offloaded, or a slice of a sequence") {
  for (const std::vector<std::string>& change : std::vector<std::vector<std::string>>{
           {"/recompute/mode=full"},
           {"/recompute/mode=selective"},
           {"/recompute/mode=except_last", "/schedule/name=zb-h1"},
           {"/recompute/mode=full", "/recompute/early=true"},
           {"/schedule/name=bpipe"},
           {"/schedule/name=bpipe", "/recompute/mode=full"},
           {"/schedule/name=seq-1f1b"},
           {"/schedule/name=seq-1f1b", "/recompute/mode=full"},
           {"/schedule/name=seq-1f1b", "/recompute/mode=selective"},
           {"/schedule/name=seq-1f1b", "/recompute/mode=full", "/recompute/early=true"}}) {
    CAPTURE(change.front());
    std::vector<std::string> settings{six_bits};
    settings.insert(settings.end(), change.begin(), change.end());
    const Validation result = trained(four_blocks, settings);
    REQUIRE(result.coding);
    CHECK(result.coding->stash.values > 0);
    CHECK(result.coding->stash.sqnr_db() > 15);
  }
}

// What selective recomputation drops is not encoded: the scores of each attention.
TEST_CASE(
    "validation: what is encoded is what is kept, and counted in one run however many follow") {
  const Validation whole = trained(four_blocks, {six_bits});
  const Validation selective = trained(four_blocks, {six_bits, "/recompute/mode=selective"});
  REQUIRE(whole.coding);
  REQUIRE(selective.coding);
  // 4 blocks of 2 heads score 8 tokens against 8, in 8 microbatches.
  CHECK(whole.coding->stash.values - selective.coding->stash.values == 4 * 2 * 8 * 8 * 8);
  const auto backend = cpu_logical().make(whole.job);
  for (int run = 0; run < 3; ++run) {
    REQUIRE(std::holds_alternative<Timeline>(backend->run()));
    CHECK(backend->coding().value().stash.values == whole.coding->stash.values);
  }
}

}  // namespace penstock::testing
