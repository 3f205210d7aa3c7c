#include <doctest/doctest.h>
#include <fmt/format.h>

#include "experiments/input/formats/megatron/megatron_stages.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "sim/base/error.hpp"
#include "tests/support/megatron_arguments.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

std::string layout_text(std::string_view layout) {
  return refused_with<InputError>(
      [&] { return fmt::format("{}", fmt::join(pipeline_layout_stages(layout), "|")); });
}

std::string list_text(std::string_view text) {
  return refused_with<InputError>(
      [&] { return fmt::format("{}", fmt::join(python_list(text), ",")); });
}

}  // namespace

TEST_CASE("a layout's letters are repeated as Megatron-LM repeats them") {
  // 61 layers and one of multi-token prediction over 16 ranks of 2 chunks, from its documentation.
  const auto stages = pipeline_layout_stages("Et*3|(tt|)*29,m|L");
  REQUIRE(stages.size() == 32);
  CHECK(stages[0] == "Ettt");
  CHECK(stages[1] == "tt");
  CHECK(stages[29] == "tt");
  CHECK(stages[30] == "m");
  CHECK(stages[31] == "L");
  CHECK(layout_text("E|(tt|t)*2,L") == "E|tt|ttt|tL");
  CHECK(layout_text("E(t*2|)*2L") == "Ett|tt|L");
}

TEST_CASE("a layout that cannot be read is refused at its character") {
  CHECK(layout_text("Etx|L").starts_with("at character 3 of \"Etx|L\": a layout holds E, t, m, L"));
  CHECK(layout_text("E(tt|L").starts_with("at the end of"));
  CHECK(layout_text("E(tt|)L").starts_with("at character 7 of \"E(tt|)L\": a group needs a count"));
  CHECK(layout_text("E((t|)*2)*2L").starts_with("at character 3 of"));
  CHECK(layout_text("Et*L").starts_with("at character 4 of \"Et*L\": a whole number should"));
  CHECK(says(layout_text("Et*99999999999999999999L"), "no number is above"));
  CHECK(says(layout_text("E(tttttttttt)*99999L"), "too many layers"));
  CHECK(says(layout_text("E(t*99999)*99999L"), "too many layers"));
}

TEST_CASE("a layout with a stage of no layer is refused where that stage ends") {
  const auto refused = [](const char* layout, const char* place) {
    CAPTURE(layout);
    CHECK(
        layout_text(layout) ==
        fmt::format("at {} of \"{}\": a stage without a layer ends here; each stage needs one, so "
                    "take a bar away",
                    place, layout));
  };
  refused("E|(t|)*3,m|m||L", "character 14");  // from Megatron-LM's own help
  refused("Et|*2L", "character 3");            // the bar that is there twice
  refused("|EtL", "character 1");
  refused("E(t||)*2L", "character 5");
  refused("EtL|", "the end");
  refused("", "the end");
  CHECK(megatron_args_refusal(least + "\\\n--pipeline-model-parallel-layout 'E|(t|)*4|L'")
            .starts_with("line 2: --pipeline-model-parallel-layout: at character 9 of"));
}

TEST_CASE("lists in Python's notation are worked out within limits") {
  CHECK(list_text("([0]*3+[1]*2)") == "0,0,0,1,1");
  CHECK(list_text("([1]*2 + [0])*2") == "1,1,0,1,1,0");
  CHECK(list_text("[0,1,1]") == "0,1,1");
  CHECK(says(list_text("[1]*99999"), "more than 10000 layers"));
  CHECK(says(list_text("[1]*9*9*9*9*9*9"), "more than 10000 layers"));
  CHECK(says(list_text(std::string(1000, '(')), "nested too deep"));
  CHECK(list_text("__import__").starts_with("at character 1 of"));
  CHECK(list_text("[0]*2)").starts_with("at character 6 of"));
  CHECK(list_text("").starts_with("at the end of"));
}

TEST_CASE("a layout cuts embedding, blocks and head into stages") {
  CHECK(stages("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|(t|)*2tL'") ==
        "0 1 | 2 | 3 | 4 5");
  const std::string two = least + "--pipeline-model-parallel-size 2 ";
  const std::string layout = two + "--pipeline-model-parallel-layout ";
  const ModelFile file = parse_model_file(layout + "Et*2|t*2|m|L --mtp-num-layers 1");
  CHECK(file.command.chunks == 2);
  REQUIRE(file.stages.size() == 4);
  CHECK(file.stages[2] == std::vector{LayerIndex{5}});  // "further 0"
  CHECK(megatron_args_refusal(layout + "'Et|tL'") ==
        "line 1: --pipeline-model-parallel-layout: it has 2 times t; it needs 4 transformer "
        "layers, as --num-layers says");
  CHECK(megatron_args_refusal(layout + "'Et|tt|tL'") ==
        "line 1: --pipeline-model-parallel-layout: its 3 stages do not divide among 2 pipeline "
        "ranks");
  CHECK(says(megatron_args_refusal(layout + "'tE|tttL'"), "must come as"));
  CHECK(megatron_args_refusal(layout + "'E?'")
            .starts_with("line 1: --pipeline-model-parallel-layout: at character 2 of"));
}

TEST_CASE("the other ways to cut unevenly give the same kind of stages") {
  CHECK(stages("--pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 1 "
               "--decoder-last-pipeline-num-layers 1") == "0 1 | 2 3 | 4 5");
  CHECK(stages("--pipeline-model-parallel-size 2 --decoder-last-pipeline-num-layers 1") ==
        "0 1 2 3 | 4 5");
  // Embedding and loss count as a layer each: 6 over 3 ranks.
  CHECK(stages("--pipeline-model-parallel-size 3 --account-for-embedding-in-pipeline-split "
               "--account-for-loss-in-pipeline-split") == "0 1 | 2 3 | 4 5");
  // Chunks of a rank share its layers evenly: 2 and 2 in two chunks.
  CHECK(stages("--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 2 "
               "--num-virtual-stages-per-pipeline-rank 2") == "0 1 | 2 | 3 | 4 5");
  CHECK(megatron_args_refusal(
            least + "--pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 1")
            .starts_with("line 1: --decoder-first-pipeline-num-layers: the other 3 layers"));
  CHECK(megatron_args_refusal(least + "--pipeline-model-parallel-size 3") ==
        "line 1: --pipeline-model-parallel-size: 4 layers cannot be divided into 3 stages");
  CHECK(parse_model_file(
            least + "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1")
            .command.chunks == 2);
}

TEST_CASE("recomputation is that of a Megatron-LM command; what it cannot be has a note") {
  const auto file = [](const std::string& arguments) {
    return parse_model_file(least + "--pipeline-model-parallel-size 2 " + arguments);
  };
  const std::string full = "--recompute-granularity full --recompute-method ";
  const TrainingCommand block = file(full + "block --recompute-num-layers 1").command;
  CHECK(block.recompute == RecomputeMode::full);
  CHECK(block.recompute_layers == 1);
  CHECK_FALSE(block.recompute_together);
  CHECK_FALSE(file(full + "uniform --recompute-num-layers 1").command.recompute_together);
  const TrainingCommand uniform = file(full + "uniform --recompute-num-layers 2").command;
  CHECK(uniform.recompute_together == 2);
  CHECK_FALSE(uniform.recompute_layers);
  CHECK(says(megatron_args_refusal(least + full + "some"), "known: uniform, block"));
  const std::string selective = "--recompute-granularity selective ";
  const auto operators = [&](const std::string& modules) {
    return file(selective + "--recompute-modules " + modules).command.recompute_operators;
  };
  using Names = std::vector<std::string>;
  CHECK(operators("core_attn mlp moe --bf16") == Names{"core_attention", "mlp", "moe"});
  CHECK(operators("layernorm moe_act") == Names{"norm", "moe_activation"});
  CHECK(operators("mla_up_proj shared_experts") == Names{"mla_up_projection", "shared_experts"});
  CHECK(has_note(file(selective + "--recompute-modules layernorm other --bf16"),
                 "--recompute-modules other: not modelled; recomputed: norm"));
  CHECK(file("--cpu-offloading-num-layers 1").command.offload_layers == 1);
  CHECK_FALSE(file("--cpu-offloading-num-layers 0").command.offload_layers);
  CHECK_FALSE(has_note(file(selective), "recompute"));
}

}  // namespace penstock::testing
