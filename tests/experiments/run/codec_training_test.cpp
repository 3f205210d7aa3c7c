#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/run/codec_report.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/result_json.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

/// Two ranks, of which the first holds two activations of 1600 bytes: F 10, B 20, m 4, so 5 * 30 us
/// as they are. With 4 bits, 450 bytes, coding takes 2 and 4 us: 5 * 36 us, 2 * 450 + 1600 bytes.
const std::string two_ranks = R"({
  "model":    { "stages": [ {"forward_us": 10, "backward_us": 20, "stash_bytes": 1600},
                            {"forward_us": 10, "backward_us": 20, "stash_bytes": 1600} ] },
  "codec":    { "training": { "phases": [ {"iterations": 3, "stash": "bfp"}, {"iterations": 1, "stash": "none"} ] },
                "encode_bytes_per_s": 1.025e9, "decode_bytes_per_s": 5.125e8 },
  "schedule": { "name": "1f1b", "microbatches": 4 } })";

RunResult ran(const std::vector<std::string>& settings = {}) {
  return run(parse_scenario(two_ranks, "s.json", settings));
}

}  // namespace

TEST_CASE("codec training: every phase is what a run of it alone comes to") {
  const RunResult result = ran();
  REQUIRE(result.codec_training);
  const CodecTraining& training = *result.codec_training;
  const char* rates = R"("encode_bytes_per_s": 1.025e9, "decode_bytes_per_s": 5.125e8)";
  for (const CodecTraining::Phase& phase : training.phases) {
    const RunResult alone = ran({R"(/codec={"stash": )" +
                                 encoding_json(phase.iteration.stash).dump() + ", " + rates + "}"});
    CHECK(!alone.codec_training);
    CHECK(phase.iteration.makespan == alone.report->makespan);
    CHECK(phase.iteration.peak_bytes == alone.report->ranks[0].memory.bytes);
  }
  CHECK(result.report->makespan == training.phases[0].iteration.makespan);
  // 3 * 180 + 150.
  CHECK(training.time_us() == doctest::Approx(690));
  CHECK(training.peak_bytes() == 3200);
  CHECK(training.iterations() == 4);
}

TEST_CASE("codec training: a phase that the training does not come to counts for nothing") {
  // The metric gets better all the time, so the first format stays.
  const RunResult result = ran(
      {R"(/codec/training={"iterations": 10, "formats": ["bfp", "none"], "metric": {"values": [3, 2, 1], "every": 3}})",
       "/memory/capacity_bytes=2500"});
  REQUIRE(result.codec_training);
  CHECK(result.findings.empty());  // the second would not fit
  CHECK(result.codec_training->phases[1].iterations == 0);
  CHECK(result.codec_training->peak_bytes() == 2500);
  CHECK(result.codec_training->time_us() == doctest::Approx(1800));
}

TEST_CASE("codec training: what a phase finds is told with its number") {
  const RunResult result = ran({"/memory/capacity_bytes=2500"});
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].kind == "out_of_memory");
  CHECK(result.findings[0].text.starts_with("phase 1 (none): rank 0 needs"));
}

TEST_CASE("codec training: without room to run at all it takes no time that could be told") {
  const RunResult result = ran({R"(/memory={"capacity_bytes": 2000, "policy": "stall"})"});
  REQUIRE(result.codec_training);
  CHECK(!result.report);
  CHECK(!result.codec_training->time_us());
  CHECK(result_json(result)["makespan_us"].is_null());
}

TEST_CASE("codec training: the text has each phase, and what it would be throughout") {
  const std::string text =
      codec_training_text(*ran({"/memory/capacity_bytes=3000"}).codec_training);
  CAPTURE(text);
  CHECK(says(text, "formats over 4 iterations"));
  CHECK(says(text, "bfp"));
  CHECK(says(text, "none throughout"));
  CHECK(says(text, "0.00069"));  // s
  CHECK(says(text, "-13.0 %"));  // 600 / 690
}

}  // namespace penstock::testing
