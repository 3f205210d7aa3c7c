#include "experiments/run/layout/exchanges.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "validate/backends/gpu/gpu_backend.hpp"
#include "validate/backends/nccl/comm_plan.hpp"
#include "validate/job/rank_program.hpp"

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

/// The scenario with an order from a file.
std::string in_order_of(const std::string& file) {
  return replaced(experts_by_kind, R"("name": "1f1b", "microbatches": 4)",
                  fmt::format(R"("file": "{}")", file));
}

double run_us(const std::string& scenario, const ExpertSettings& settings = {}) {
  const RunResult result = run(parse_scenario(scenario, "s.json", settings));
  REQUIRE(result.report);
  return to_us(result.report->makespan);
}

double exchanged_step_us(const ExpertSettings& settings) {
  return run_us(experts_by_kind, settings);
}

std::string exchange_refusal(const ExpertSettings& settings) {
  return refused_with<InputError>([&] { layout_of_experts(settings); });
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
  CHECK(title_of(layout) == title_of(layout_of_experts({})));
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

TEST_CASE("exchanges apart: pieces are updated together, so that steps stay comparable") {
  for (const char* more : {"/memory/zero=1", "/overheads/optimizer_us=100000",
                           "/schedule/name=zb-h1", "/parallel/overlap_sums=false"}) {
    CAPTURE(std::string(more));
    const double inside = exchanged_step_us({more}), apart = exchanged_step_us(apart_and({more}));
    CHECK(apart == doctest::Approx(inside).epsilon(0.01));
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
  const std::string text = in_order_of(scratch.file("order.csv", csv));
  const Layout read = settle(parse_scenario(text, "s.json", {written[0]}));
  CHECK(read.partition.stages == made.partition.stages);
  CHECK(read.placement == made.placement);
  CHECK(run_us(text, {written[0]}) == exchanged_step_us(apart_and(written)));
  CHECK(run_us(text, {"/schedule/communication=implicit"}) ==
        exchanged_step_us(apart_and({written[1], written[2]})));
}

TEST_CASE(
    "exchanges apart: the order of a run that is not written has its EXCHANGEs, and no more") {
  const Scratch scratch;
  const Layout made = layout_of_experts(apart_and({}));
  const std::string csv = write_torch_csv(made.schedule, cells_to_write(made)).text;
  CHECK(csv.starts_with("0F0,0EXCHANGE_F0,1F0,1EXCHANGE_F0,2F0,"));
  CHECK_FALSE(says(csv, "SEND"));
  const std::string text = in_order_of(scratch.file("order.csv", csv));
  CHECK(run_us(text) == exchanged_step_us(apart_and({})));
  const std::string written = "/schedule/communication=written";
  CHECK(run_us(text, {written}) == exchanged_step_us(apart_and({written})));
  CHECK_THROWS_WITH(run_us(text, {"/schedule/exchanges=inside"}),
                    doctest::Contains("has EXCHANGEs"));
}

TEST_CASE("exchanges apart: layers that are cut already stay as they are") {
  std::string text = experts_by_kind;
  const std::string block = R"({"parts": [{"kind": "attention")";
  const std::string moe =
      R"("kind": "moe", "hidden": 1024, "experts": 32, "chosen": 4, "expert_intermediate": 512, "shared_intermediate": 512)";
  const auto begin = text.find(block), end = text.find("{\"kind\": \"head\"");
  const auto piece = [&](int number) { return fmt::format(R"({{{}, "piece": {}}})", moe, number); };
  std::string blocks;
  for (int i = 0; i < 8; ++i) {
    blocks += fmt::format(
        R"({{"parts": [{{"kind": "attention", "hidden": 1024, "heads": 8}}, {}]}}, {}, {},)",
        piece(1), piece(2), piece(3));
  }
  text.replace(begin, end - begin, blocks);
  const auto layout = [&](const ExpertSettings& settings) {
    return settle(parse_scenario(text, "s.json", settings));
  };
  const Layout apart = layout({"/schedule/exchanges=apart"});
  CHECK(all_parameter_bytes(apart) == all_parameter_bytes(layout_of_experts({})));
  CHECK(exchanges_text(apart) == exchanges_text(layout_of_experts(apart_and({}))));
}

TEST_CASE("exchanges apart: written orders of pieces move weights and gradients on their own") {
  const std::string written = "/schedule/communication=written";
  const Layout layout = layout_of_experts(apart_and({written}));
  CHECK(any_cell(layout.communication.rows, is_send));
  CHECK_FALSE(any_cell(layout.communication.rows, [](Comm comm) { return !has_microbatch(comm); }));
  CHECK(exchanged_step_us(apart_and({written})) ==
        doctest::Approx(exchanged_step_us(apart_and({}))).epsilon(0.02));
}

TEST_CASE("exchanges apart: documents of different lengths exchange what they have") {
  const ExpertSettings short_ones{R"(/batch/lengths={"distribution": "fixed", "mean": 4096})",
                                  "/batch/pack=none", "/schedule/name=forward-only",
                                  "/model/sequence=8192"};
  const double inside = exchanged_step_us(short_ones);
  CHECK(exchanged_step_us(apart_and(short_ones)) == doctest::Approx(inside).epsilon(1e-6));
  CHECK(inside < 0.6 * exchanged_step_us({short_ones[2], short_ones[3]}));
}

TEST_CASE("exchanges apart: stages that state them, within a rank, beside another, in one stage") {
  const Scratch scratch;
  const auto step = [&](const std::string& order, const std::string& more) {
    const std::string file = scratch.file("order.csv", order);
    return run_us(fmt::format(R"({{"model": {{"stages": [
            {{"forward_us": 10, "backward_us": 20, "exchange_us": 6}},
            {{"forward_us": 10, "backward_us": 20}}]}},
            "schedule": {{"file": "{}"}} {}}})",
                              file, more));
  };
  const std::string alone = "0F0,1F0,1B0,0B0\n", beside = "0F0,0F1,1F0,1F1,1B0,1B1,0B0,0B1\n";
  CHECK(step(alone, "") == 10 + 6 + 10 + 20 + 6 + 20);
  CHECK(step(beside, "") == 120);
  // On another rank it is a part of the passes.
  CHECK(step("0F0,0B0\n1F0,1B0\n", "") == 16 + 10 + 20 + 26);
  CHECK_THROWS_WITH(
      step(alone,
           R"(, "hardware": {"name": "ideal", "latency_us": 1, "transfers": {"blocking": true}})"),
      doctest::Contains("an exchange holds up no sender"));
}

TEST_CASE("exchanges apart: threads run them, GPUs and NCCL do not") {
  const Scratch scratch;
  const std::string file = scratch.file("order.csv", "0F0,0F1,1F0,1F1\n");
  const RunResult result = run(parse_scenario(
      fmt::format(
          R"({{"model": {{"stages": [{{"forward_us": 10, "exchange_us": 6}}, {{"forward_us": 10}}]}},
                      "schedule": {{"file": "{}"}}}})",
          file),
      "s.json", {}));
  CHECK_FALSE(why_no_programs(*result.plan));
  CHECK(why_no_comm_plan(*result.plan) == "exchanges within a rank run on threads alone");
  CHECK(gpu_obstacle({*result.plan, result.costs, {}}, nullptr)->text ==
        "exchanges within a rank run on threads alone");
}

TEST_CASE("exchanges apart: what does not go with them is refused by name") {
  CHECK(says(exchange_refusal(apart_and({"/parallel/expert=1"})), "no tokens are exchanged"));
  CHECK(says(exchange_refusal(apart_and({"/parallel/overlap_experts=true"})), "overlap_experts"));
  CHECK(says(exchange_refusal(apart_and({"/recompute/mode=full"})), "recomputation"));
  CHECK(says(
      exchange_refusal(apart_and({"/recompute/mode=selective", R"(/recompute/operators=["moe"])"})),
      "recomputation"));
  CHECK(exchange_refusal(apart_and({"/recompute/mode=selective"})) == "accepted");
  CHECK(says(exchange_refusal(apart_and({"/offload/keep=1"})), "/offload"));
  CHECK(says(exchange_refusal(apart_and({"/memory/zero=3"})), "/memory/zero 3"));
}

}  // namespace penstock::testing
