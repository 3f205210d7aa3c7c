#include "experiments/run/stage_formats.hpp"

#include <doctest/doctest.h>

#include "experiments/run/run.hpp"

namespace penstock::testing {
namespace {

/// 1f1b over four ranks, which hold 4, 3, 2 and 1 activations of 1600 bytes (800 values). Of bfp 25
/// dB take 6 bits, 606.25 bytes in blocks of 128; 7 bits take 706.25, 8 bits 806.25. While they are
/// coded, 1600 bytes more are held.
const std::string stage_formats_pipeline = R"({
  "model":    { "stages": [
      {"forward_us": 10, "backward_us": 20, "stash_bytes": 1600}, {"forward_us": 10, "backward_us": 20, "stash_bytes": 1600},
      {"forward_us": 10, "backward_us": 20, "stash_bytes": 1600}, {"forward_us": 10, "backward_us": 20, "stash_bytes": 1600} ] },
  "codec":    { "stash": {"name": "auto", "among": ["bfp"]}, "encode_bytes_per_s": 1e9, "decode_bytes_per_s": 1e9 },
  "schedule": { "name": "1f1b", "microbatches": 8 } })";

/// The bits of each stage's stash; 0 where it stays as it is.
std::vector<double> bits(const std::vector<std::string>& settings) {
  const Layout layout =
      with_codecs(settle(parse_scenario(stage_formats_pipeline, "s.json", settings)));
  std::vector<double> all;
  for (const StageCoding& stage : layout.codings) {
    all.push_back(stage.stash ? stage.stash->codec.numbers.at("bits") : 0);
  }
  return all;
}

}  // namespace

TEST_CASE("auto: with less room more stages are packed, and in fewer bits") {
  const auto with = [](const char* bytes) {
    return bits({std::string("/memory/capacity_bytes=") + bytes});
  };
  CHECK(with("6400") == std::vector<double>{0, 0, 0, 0});
  CHECK(with("6399") == std::vector<double>{8, 0, 0, 0});  // 4 * 806 + 1600 = 4824
  CHECK(with("4824") == std::vector<double>{8, 0, 0, 0});
  CHECK(with("4823") == std::vector<double>{7, 0, 0, 0});
  CHECK(with("4424") == std::vector<double>{7, 8, 0, 0});  // 3 * 806 + 1600 = 4018
  CHECK(with("4100") == std::vector<double>{6, 8, 0, 0});
  CHECK(with("4017") == std::vector<double>{6, 7, 0, 0});  // rank 0 does not fit; the fewest bits
}

TEST_CASE("auto: what would hold more with a codec stays as it is, though it does not fit") {
  // Rank 3 holds one activation of 1600 bytes; packed it would hold 606 and 1600 besides. Rank 2
  // holds 2 * 1600; packed 2 * 606 + 1600 = 2812.
  CHECK(bits({"/memory/capacity_bytes=1500"}) == std::vector<double>{6, 6, 6, 0});
}

TEST_CASE("auto: stages of one rank are packed alike, and so are those of both directions") {
  const std::vector<double> chunks =
      bits({"/schedule/name=interleaved-1f1b", "/parallel={\"pipeline\": 2, \"chunks\": 2}",
            "/memory/capacity_bytes=7000"});
  REQUIRE(chunks.size() == 4);
  CHECK(chunks[0] == chunks[2]);
  CHECK(chunks[1] == chunks[3]);
  CHECK(chunks[0] > 0);
}

TEST_CASE("auto: a capacity to stall at is one to fit") {
  const std::vector<double> expected{6, 8, 0, 0};
  CHECK(bits({"/memory={\"capacity_bytes\": 4100, \"policy\": \"stall\"}"}) == expected);
}

TEST_CASE("auto: under a policy formats are chosen for what it decides") {
  const RunResult result =
      run(parse_scenario(stage_formats_pipeline, "s.json",
                         {"/schedule={\"policy\": \"memory-bounded\", \"microbatches\": 8}",
                          "/memory/capacity_bytes=4100"}));
  REQUIRE(result.report);
  CHECK(result.findings.empty());
  REQUIRE(result.layout.codings.size() == 4);
  CHECK(result.layout.codings[0].stash);
  CHECK(!result.layout.codings[3].stash);
}

}  // namespace penstock::testing
