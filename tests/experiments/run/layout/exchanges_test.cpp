#include "experiments/run/layout/exchanges.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

using ExpertSettings = std::vector<std::string>;

const std::string experts_by_kind = R"({
  "model": {"sequence": 2048, "microbatch": 1, "layers": [
    {"kind": "embedding", "vocab": 1024, "hidden": 1024},
    {"parts": [{"kind": "attention", "hidden": 1024, "heads": 8},
               {"kind": "moe", "hidden": 1024, "experts": 32, "chosen": 4,
                "expert_intermediate": 512, "shared_intermediate": 512}], "repeat": 8},
    {"kind": "head", "vocab": 1024, "hidden": 1024}]},
  "hardware": {"name": "dgx-h100", "stack": "none"},
  "parallel": {"pipeline": 2, "data": 8, "expert": 8},
  "schedule": {"name": "1f1b", "microbatches": 4}})";

ExpertSettings apart_and(ExpertSettings settings) {
  settings.push_back("/schedule/exchanges=apart");
  return settings;
}

Layout layout_of_experts(const ExpertSettings& settings) {
  return settle(parse_scenario(experts_by_kind, "s.json", settings));
}

double exchanged_step_us(const ExpertSettings& settings) {
  const RunResult result = run(parse_scenario(experts_by_kind, "s.json", settings));
  REQUIRE(result.report);
  return to_us(result.report->makespan);
}

std::string exchange_refusal(const ExpertSettings& settings) {
  try {
    layout_of_experts(settings);
  } catch (const InputError& error) {
    return error.what();
  }
  return "allowed";
}

double all_parameter_bytes(const Layout& layout) {
  double bytes = 0;
  for (const Layer& layer : layout.model.layers) bytes += layer.parameter_bytes;
  return bytes;
}

/// "11101…": what each stage puts out is exchanged, or not.
std::string exchanges_text(const Layout& layout) {
  std::string all;
  for (const bool one : exchanges_of(layout)) all += one ? '1' : '0';
  return all;
}

}  // namespace

TEST_CASE("exchanges apart: stages are cut before and behind the experts of each layer") {
  const Layout layout = layout_of_experts(apart_and({}));
  CHECK(exchanges_text(layout) == "111111110111111110");
  CHECK(layout.placement.stage_count() == 18);
  CHECK(write_torch_csv(layout.schedule).text.starts_with("0F0,1F0,2F0,3F0,4F0,5F0,6F0,7F0,8F0,"));
  CHECK(all_parameter_bytes(layout) == all_parameter_bytes(layout_of_experts({})));
  CHECK(exchanges_text(layout_of_experts({})).empty());
}

TEST_CASE("exchanges apart: with nothing beside them a step takes as long as with them inside") {
  for (const char* more : {"/model/microbatch=1", "/parallel/tensor=2", "/model/sequence=4096"}) {
    CAPTURE(std::string(more));
    const ExpertSettings settings{more, "/schedule/name=forward-only"};
    CHECK(exchanged_step_us(apart_and(settings)) ==
          doctest::Approx(exchanged_step_us(settings)).epsilon(1e-6));
  }
}

TEST_CASE("exchanges apart: pieces are updated together, and reduce their gradients earlier") {
  for (const char* more : {"/memory/zero=1", "/overheads/optimizer_us=100000",
                           "/schedule/name=zb-h1", "/parallel/overlap_sums=false"}) {
    CAPTURE(std::string(more));
    const double inside = exchanged_step_us({more}), apart = exchanged_step_us(apart_and({more}));
    CHECK(apart <= inside);
    CHECK(apart > 0.985 * inside);
  }
}

TEST_CASE("exchanges apart: an overlap cell hides those of one part behind the other") {
  const std::string name = "/schedule/name=dualpipev", more = "/schedule/microbatches=8";
  const double inside = exchanged_step_us({name, more});
  const double apart = exchanged_step_us(apart_and({name, more}));
  CHECK(apart < 0.97 * inside);
  CHECK(apart == exchanged_step_us(apart_and({name, more, "/schedule/overlap=fused"})));
}

TEST_CASE("exchanges apart: an order with its EXCHANGEs runs from its file as it was made") {
  const Scratch scratch;
  const ExpertSettings written{"/schedule/communication=written", "/schedule/name=dualpipev",
                               "/schedule/microbatches=4"};
  const Layout made = layout_of_experts(apart_and(written));
  const std::string csv = write_torch_csv(made.schedule, made.communication).text;
  CHECK(csv.starts_with("0F0,0EXCHANGE_F0,1F0,1EXCHANGE_F0,2F0,"));
  const std::string file = scratch.file("order.csv", csv);
  const auto document = [&](const char* communication) {
    std::string text = experts_by_kind;
    const std::string named = R"("name": "1f1b", "microbatches": 4)";
    text.replace(text.find(named), named.size(),
                 fmt::format(R"("file": "{}", "communication": "{}")", file, communication));
    return text;
  };
  const Layout read = settle(parse_scenario(document("written"), "s.json", {}));
  CHECK(read.partition.stages == made.partition.stages);
  CHECK(read.placement == made.placement);
  const auto step = [&](const char* communication) {
    return to_us(run(parse_scenario(document(communication), "s.json", {})).report->makespan);
  };
  CHECK(step("written") == exchanged_step_us(apart_and(written)));
  CHECK(step("implicit") == exchanged_step_us(apart_and({written[1], written[2]})));
}

TEST_CASE("exchanges apart: documents of different lengths exchange what they have") {
  const ExpertSettings short_ones{R"(/batch/lengths={"distribution": "fixed", "mean": 4096})",
                                  "/batch/pack=none", "/schedule/name=forward-only",
                                  "/model/sequence=8192"};
  const double inside = exchanged_step_us(short_ones);
  CHECK(exchanged_step_us(apart_and(short_ones)) == doctest::Approx(inside).epsilon(1e-6));
  CHECK(inside < 0.6 * exchanged_step_us({short_ones[2], short_ones[3]}));
}

TEST_CASE("exchanges apart: what does not go with them is refused by name") {
  const auto told = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(told(exchange_refusal(apart_and({"/parallel/expert=1"})), "no tokens are exchanged"));
  CHECK(told(exchange_refusal(apart_and({"/parallel/overlap_experts=true"})), "overlap_experts"));
  CHECK(told(exchange_refusal(apart_and({"/recompute/mode=full"})), "recomputation"));
  CHECK(told(
      exchange_refusal(apart_and({"/recompute/mode=selective", R"(/recompute/operators=["moe"])"})),
      "recomputation"));
  CHECK(exchange_refusal(apart_and({"/recompute/mode=selective"})) == "allowed");
  CHECK(told(exchange_refusal(apart_and({"/offload/keep=1"})), "/offload"));
  CHECK(told(exchange_refusal(apart_and({"/hardware/transfers=blocking"})), "/hardware/transfers"));
}

}  // namespace penstock::testing
