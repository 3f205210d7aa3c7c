#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/run/batch/step_batch.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/result_json.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// Qwen3-VL 8B, with this many tokens of a sequence from pictures.
nlohmann::json with_pictures(std::uint32_t sequence, std::uint32_t pictures) {
  return {{"model",
           {{"file", PENSTOCK_ROOT "/experiments/models/qwen3-vl-8b.json"},
            {"sequence", sequence},
            {"image_tokens", pictures}}},
          {"hardware", {{"name", "dgx-h100"}}},
          {"parallel", {{"pipeline", 2}, {"tensor", 2}, {"data", 2}}},
          {"partition", {{"name", "even"}}},
          {"schedule", {{"name", "1f1b"}, {"microbatches", 4}}}};
}

/// Llama 3.1 8B, whose examples have no pictures.
nlohmann::json without_pictures() {
  nlohmann::json language = with_pictures(2048, 512);
  language["model"].erase("image_tokens");
  language["model"]["file"] = PENSTOCK_ROOT "/experiments/models/llama-3.1-8b.json";
  return language;
}

nlohmann::json with_lengths(nlohmann::json document, const nlohmann::json& lengths) {
  document["batch"]["lengths"] = lengths;
  return document;
}

RunResult run_of(nlohmann::json document, const std::string& modules) {
  if (!modules.empty()) document["modules"]["vision"] = nlohmann::json::parse(modules);
  return run(parse_scenario(document.dump(), "s.json"));
}

/// No module, one on devices of its own for each replica or for both of them together, one on every
/// rank by tensor group and by device.
const std::vector<std::string> modules{"", R"({"tensor": 2})", R"({"data": 1, "frozen": true})",
                                       R"({"devices": "shared", "tensor": 2})",
                                       R"({"devices": "shared"})"};

/// A stage of F = 10 and B = 20 for a microbatch of 100 tokens in a module, and one of 1 and 2.
RunResult run_stated(const std::string& lengths, const nlohmann::json& module) {
  static const Scratch scratch;
  const nlohmann::json document{
      {"model",
       {{"layers",
         {{{"module", "ears"}, {"forward_us", 10}, {"backward_us", 20}, {"stash_bytes", 1000}},
          {{"forward_us", 1}, {"backward_us", 2}}}}}},
      {"parallel", {{"pipeline", 1}, {"data", 2}}},
      {"modules", {{"ears", module}}},
      {"schedule", {{"name", "gpipe"}, {"microbatches", 1}}},
      {"batch", {{"lengths", {{"file", scratch.file("lengths.txt", lengths)}}}, {"tokens", 100}}}};
  return run(parse_scenario(document.dump(), "s.json"));
}

double step_us(const RunResult& result) { return to_us(result.report->makespan); }

std::uint64_t peak_of(const RunResult& result) {
  return result.report->ranks[index(worst_of(*result.report))].memory.bytes;
}

std::string refusal(const nlohmann::json& document) {
  return refused_with<InputError>([&] { run_of(document, ""); });
}

}  // namespace

TEST_CASE("modules: full and equal microbatches give the bytes of a run without documents") {
  const nlohmann::json lengths{{"distribution", "fixed"}, {"mean", 2048}};
  for (const std::string& module : modules) {
    CAPTURE(module);
    const nlohmann::json plain = with_pictures(2048, 512);
    CHECK(result_json(run_of(with_lengths(plain, lengths), module)).dump() ==
          result_json(run_of(plain, module)).dump());
  }
}

TEST_CASE("modules: a microbatch of one document costs what a run of its length does") {
  const nlohmann::json half{{"histogram", {{{"tokens", 2048}}}}};
  for (const std::string& module : modules) {
    CAPTURE(module);
    const RunResult own = run_of(with_pictures(2048, 512), module);
    const RunResult documents = run_of(with_lengths(with_pictures(4096, 1024), half), module);
    CHECK(step_us(documents) == step_us(own));
    CHECK(peak_of(documents) == peak_of(own));
    CHECK(documents.throughput.tokens_per_s == doctest::Approx(*own.throughput.tokens_per_s));
  }
}

TEST_CASE("pictures: a document costs what an example with as many pictures does") {
  const nlohmann::json stated{{"histogram", {{{"tokens", 2048}, {"pictures", 1024}}}}};
  for (const std::string& module : modules) {
    CAPTURE(module);
    const RunResult own = run_of(with_pictures(2048, 1024), module);
    const RunResult documents = run_of(with_lengths(with_pictures(4096, 1024), stated), module);
    CHECK(step_us(documents) == step_us(own));
    CHECK(peak_of(documents) == peak_of(own));
    CHECK(result_json(documents)["batch"]["microbatches"][3]["picture_tokens"] == 1024);
  }
}

TEST_CASE("pictures: where they differ, the encoder of its own devices is what differs") {
  const Scratch scratch;
  const nlohmann::json lengths{
      {"file", scratch.file("lengths.txt", "2048 1024\n2048 # none\n2048 0\n")}};
  const RunResult result = run_of(with_lengths(with_pictures(2048, 512), lengths), modules[1]);
  REQUIRE(result.batch);
  const Plan& plan = *result.plan;
  const auto forward = [&](std::uint32_t stage, std::uint32_t microbatch) {
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const WorkClass& work = plan.class_of(task);
      const bool is_it = work.pass == Pass::forward && index(work.stage) == stage &&
                         index(plan.microbatch[task]) == microbatch;
      if (is_it) return to_us(result.timeline.end[task] - result.timeline.begin[task]);
    }
    return 0.0;
  };
  // Replica 0 has 1024, 512 (in proportion), 0 and 1024 of them.
  REQUIRE(result.batch->slowest == 0);
  CHECK(forward(0, 0) > 1.8 * forward(0, 1));
  CHECK(forward(0, 2) < 0.4 * forward(0, 1));
  CHECK(forward(0, 3) == forward(0, 0));
  CHECK(forward(2, 0) == forward(2, 2));
}

TEST_CASE("modules: a replica that serves two pipelines takes what both of them have") {
  // Documents of 40 and 100 tokens: the module has 140 of its 200, each pipeline its own.
  const RunResult together = run_stated("40\n100\n", {{"data", 1}});
  CHECK(step_us(together) == doctest::Approx(30 * 1.4 + 3));
  const BatchReport& report = *together.batch;
  CHECK(report.slowest == 1);
  CHECK(to_us(report.equal) == doctest::Approx(30 * 1.4 + 3 * 0.7));
  CHECK(to_us(report.replicas) == doctest::Approx(3 * 0.3));
  CHECK(peak_of(together) == 1400);
  const RunResult each = run_stated("40\n100\n", nlohmann::json::object());
  CHECK(step_us(each) == doctest::Approx(33));
  CHECK(peak_of(each) == 1000);
}

TEST_CASE("pictures: a model without any takes documents that state none of them") {
  const nlohmann::json none{{"histogram", {{{"tokens", 1024}, {"pictures", 0}}}}};
  const nlohmann::json plain{{"histogram", {{{"tokens", 1024}}}}};
  CHECK(step_us(run_of(with_lengths(without_pictures(), none), "")) ==
        step_us(run_of(with_lengths(without_pictures(), plain), "")));
}

TEST_CASE("pictures: packing by cost counts no backward of a frozen encoder") {
  const Layout frozen = settle(parse_scenario(
      with_lengths(with_pictures(2048, 512), {{"histogram", {{{"tokens", 512}, {"pictures", 64}}}}})
          .dump(),
      "s.json", {R"(/modules={"vision": {"devices": "shared", "frozen": true}})"}));
  Layout trained = frozen;
  trained.module->frozen = false;
  const auto hardware = hardware_of(frozen);
  const TokenCost less = token_cost_of(frozen, *hardware), more = token_cost_of(trained, *hardware);
  CHECK(less.per_pictured < more.per_pictured);
}

TEST_CASE("pictures: a document states at most its tokens, and a model must have some") {
  const nlohmann::json more{{"histogram", {{{"tokens", 8}, {"pictures", 9}}}}};
  CHECK(refusal(with_lengths(with_pictures(2048, 512), more)) ==
        "s.json: /batch/lengths/histogram/0/pictures: 9 tokens from pictures are more than the 8 "
        "of the "
        "document");
  const nlohmann::json some{{"histogram", {{{"tokens", 8}, {"pictures", 4}}}}};
  CHECK(refusal(with_lengths(without_pictures(), some)) ==
        "s.json: /batch/lengths: a document has 4 tokens from pictures, and the examples of the "
        "model "
        "have none; set /model/image_tokens, or leave the numbers out");
}

}  // namespace penstock::testing
