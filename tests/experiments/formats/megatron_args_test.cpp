#include <doctest/doctest.h>
#include <fmt/format.h>

#include "experiments/formats/megatron/megatron_patterns.hpp"
#include "experiments/formats/reading/read_model_file.hpp"
#include "experiments/model_files/model_file.hpp"
#include "hardware_models/layers/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/model_parameters.hpp"

namespace penstock::testing {
namespace {

/// What every command needs.
const std::string least =
    "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --max-position-embeddings 128 "
    "--padded-vocab-size 1000 ";

ModelFile megatron_args_model(const std::string& text) { return parse_model_file(text); }

std::string megatron_args_refusal(const std::string& text) {
  try {
    parse_model_file(text, {.format = "megatron-args", .architecture = ""});
  } catch (const InputError& error) {
    return error.where().empty() ? error.what() : error.where() + ": " + error.what();
  }
  return "accepted";
}

LayerSpec layer(const ModelFile& file, const std::string& kind) {
  for (const BlockSpec& block : file.spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      if (part.kind == kind) return part;
    }
  }
  throw std::runtime_error("no layer is of kind " + kind);
}

double number(const std::string& arguments, const std::string& kind, const std::string& name) {
  const LayerSpec found = layer(megatron_args_model(least + arguments), kind);
  const auto value = found.numbers.find(name);
  return value == found.numbers.end() ? 0 : value->second;
}

/// The layers of each stage: "0 1 | 2 3".
std::string stages(const std::string& arguments) {
  std::string text;
  for (const auto& stage : megatron_args_model(least + arguments).stages) {
    if (!text.empty()) text += "| ";
    for (const LayerIndex one : stage) text += fmt::format("{} ", index(one));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string megatron_args_expert_layers(const std::string& arguments) {
  std::string text;
  for (const BlockSpec& block : megatron_args_model(least + arguments).spec.blocks) {
    if (block.cut_evenly) text += block.parts.back().kind == "moe" ? '1' : '0';
  }
  return text;
}

bool has_note(const ModelFile& file, std::string_view part) {
  for (const std::string& note : file.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string layout_text(std::string_view layout) {
  try {
    return fmt::format("{}", fmt::join(pipeline_layout_stages(layout), "|"));
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string list_text(std::string_view text) {
  try {
    return fmt::format("{}", fmt::join(python_list(text), ","));
  } catch (const InputError& error) {
    return error.what();
  }
}

/// The GPT of 175 billion parameters as a script of the usual form starts it.
const std::string script = R"(#!/bin/bash
# Runs the model; don't mind the quote in this comment
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=${SLURM_NNODES:-"128"}
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CHECKPOINT_PATH=$1
HIDDEN="12288"; HEADS=96

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE   # on each
    --nnodes $NUM_NODES
)
GPT_MODEL_ARGS=(
    --num-layers 96
    --hidden-size $HIDDEN
    --num-attention-heads ${HEADS}
    --seq-length 2048 --max-position-embeddings 2048
    "--position-embedding-type learned_absolute"
)
TRAINING_ARGS=( --micro-batch-size 1 \
    --global-batch-size 1536 \
    --lr 6.0e-5 --vocab-size 51200 --bf16)
TRAINING_ARGS+=("--use-distributed-optimizer" '--recompute-activations')
PARALLEL=" --tensor-model-parallel-size 8 \
           --pipeline-model-parallel-size=16 "
if [ -n "${WANDB_API_KEY}" ]; then
    TRAINING_ARGS+=(--wandb-project ${WANDB_PROJECT:-"GPT"})
fi
cat <<EOF > notes.txt
it's no command: --num-layers 1 --hidden-size 1
EOF
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${GPT_MODEL_ARGS[@]} "${TRAINING_ARGS[@]}" \
    $PARALLEL --save "$CHECKPOINT_PATH" 2>&1 | tee log.txt
)";

}  // namespace

TEST_CASE("a script's arrays and variables come together to the command that it would run") {
  const ModelFile file = megatron_args_model(script);
  CHECK(file.format == "megatron-args");
  // 12 L h² (1 + 13/(12 h)) + (V + s) h + 2 h, the count of GPT-3 with a table of 51,200 tokens.
  const double h = 12288;
  CHECK(closed_form_parameters(file.spec) ==
        96 * (12 * h * h + 13 * h) + (51200 + 2048) * h + 2 * h);
  const TrainingCommand& command = file.command;
  CHECK(command.tensor == 8);
  CHECK(command.pipeline == 16);
  CHECK(command.chunks == 1);
  CHECK(command.context == 1);
  CHECK(command.expert == 1);
  CHECK(command.devices == 1024);
  CHECK(command.microbatch == 1);
  CHECK(command.global_batch == 1536);
  CHECK(command.sequence == 2048);
  CHECK(command.dtype == "bf16");
  CHECK(command.recompute == RecomputeMode::selective);
  CHECK(command.distributed_optimizer == true);
  CHECK(command.sequence_parallel == false);
  CHECK(file.max_sequence == 2048);
  CHECK(file.stages.empty());  // an even cut
  CHECK(has_note(file, "--nnodes: SLURM_NNODES is taken to be 128, its default"));
  CHECK(has_note(file, "line 28: what a condition adds to TRAINING_ARGS is left out"));
  CHECK(has_note(file, "arguments that are not read: --lr, --save"));
}

TEST_CASE("every layer that a command makes is one that its kind takes") {
  const std::string commands[] = {
      "", "--transformer-impl local --window-size 8,0 --disable-bias-linear --qk-layernorm",
      "--num-experts 8 --moe-expert-capacity-factor 1.5 --moe-layer-freq 2 --mtp-num-layers 1",
      "--multi-latent-attention --kv-lora-rank 32 --swiglu --normalization RMSNorm"};
  for (const std::string& command : commands) {
    CAPTURE(command);
    for (const BlockSpec& block : megatron_args_model(least + command).spec.blocks) {
      for (const LayerSpec& part : block.parts) {
        CHECK(work_of(part, CellShape{}).kept_bytes > 0);
      }
    }
  }
}

TEST_CASE("the same arguments alone, on one line or on several, are the same model") {
  const double expected = closed_form_parameters(megatron_args_model(least).spec);
  CHECK(closed_form_parameters(megatron_args_model("python pretrain.py " + least).spec) ==
        expected);
  std::string lines = least;
  for (std::size_t at = 0; (at = lines.find(" --", at)) != std::string::npos;) lines[at] = '\n';
  CHECK(closed_form_parameters(megatron_args_model(lines).spec) == expected);
  CHECK(closed_form_parameters(megatron_args_model("ARGS=(" + least + ")").spec) == expected);
  std::string words = lines;
  for (char& c : words) c = c == ' ' ? '\n' : c;
  CHECK(closed_form_parameters(megatron_args_model(words).spec) == expected);  // one word a line
  CHECK(closed_form_parameters(
            megatron_args_model("srun sh -c \"python x.py " + least + "\"").spec) == expected);
  CHECK(closed_form_parameters(
            megatron_args_model("A='" + least + "'\nB=\"python $A\"\nsrun sh -c \"$B\"").spec) ==
        expected);
}

TEST_CASE("text that is arguments alone is one command, though a line of it could be one too") {
  const ModelFile file =
      megatron_args_model(least + "\n# and how it is cut\n--swiglu --bf16\n\n" +
                          "--tensor-model-parallel-size 4 --micro-batch-size 2\n");
  CHECK(layer(file, "mlp").numbers.at("gated") == 1);
  CHECK(file.command.tensor == 4);
  CHECK(file.command.microbatch == 2);
  CHECK(file.command.dtype == "bf16");
}

TEST_CASE("of arguments in a variable only the word is lost that only a run would tell") {
  const std::string start =
      "A=\"" + least + "--swiglu --save $DIR --tensor-model-parallel-size 4\"\n";
  const auto check = [](const std::string& text) {
    CAPTURE(text);
    const ModelFile file = megatron_args_model(text);
    CHECK(file.command.tensor == 4);
    CHECK(layer(file, "mlp").numbers.at("gated") == 1);
    CHECK(has_note(file, "arguments that are not read: --save"));
  };
  check(start + "torchrun x.py $A --bf16");
  check(start + "DIR=`pwd`\nB=\"python -u ${DIR}/x.py $@ ${A}\"\nsrun -l sh -c \"${B}\"");
  check(start + "python x.py --fp16 \"$A\"");
  check(start + "ALL=($A)\npython x.py ${ALL[@]}");
  CHECK(megatron_args_refusal(start + "python x.py $A --num-layers $LAYERS") ==
        "line 2: --num-layers: $LAYERS has no value here; nothing is run, so write the value out");
}

TEST_CASE("what may stand for any number of arguments is left out with a note") {
  const auto file = [](const std::string& arguments) {
    return megatron_args_model("python x.py " + least + arguments);
  };
  CHECK(has_note(file("--bf16 $MORE"), "line 1: left out: $MORE has no value here"));
  CHECK(has_note(file("--lr 1e-4 $MORE"), "line 1: left out: $MORE has no value here"));
  CHECK(has_note(file("--$NAME 4"), "line 1: left out: $NAME has no value here"));
  CHECK_FALSE(has_note(file("--save $DIR --bf16"), "left out"));
}

TEST_CASE("numbers that a script works out are those of its command") {
  const ModelFile file = megatron_args_model(
      "TP=2; PP=2; GPUS=16; MBS=2\nDP=$((GPUS / TP / PP))\nGBS=$((DP*MBS*16))\n"
      "torchrun --nproc-per-node=$(($GPUS/2)) --nnodes 2 x.py " +
      least +
      "--micro-batch-size $MBS --global-batch-size $GBS --tensor-model-parallel-size $TP "
      "--pipeline-model-parallel-size $PP");
  CHECK(file.command.global_batch == 128);  // 4 replicas, each 16 microbatches of 2
  CHECK(file.command.devices == 16);
}

TEST_CASE("what nobody says is as Megatron-LM has it: GELU, LayerNorm, biases, tied, dropout") {
  CHECK(number("", "mlp", "intermediate") == 256);
  CHECK(number("", "mlp", "gated") == 0);
  CHECK(number("", "mlp", "bias") == 1);
  CHECK(number("", "mlp", "dropout") == 0.1);
  CHECK(number("", "norm", "bias") == 1);
  CHECK(number("", "head", "tied") == 1);
  CHECK(number("", "embedding", "positions") == 128);
  CHECK(number("", "attention", "kv_heads") == 8);
  CHECK(number("", "attention", "head_dim") == 8);
  CHECK(number("", "attention", "flash") == 1);
  CHECK(megatron_args_model(least).command.dtype == "fp32");
  CHECK(megatron_args_model(least).command.recompute == RecomputeMode::none);
}

TEST_CASE("each argument of the model changes what it says") {
  // With a third matrix the width is 2/3 of 4 h, here 170.7, in steps of 64.
  CHECK(number("--swiglu", "mlp", "intermediate") == 128);
  CHECK(number("--swiglu --ffn-hidden-size 200", "mlp", "intermediate") == 200);
  CHECK(number("--disable-bias-linear", "mlp", "bias") == 0);
  CHECK(number("--disable-bias-linear", "attention", "qkv_bias") == 0);
  CHECK(number("--disable-bias-linear --add-qkv-bias", "attention", "qkv_bias") == 1);
  CHECK(number("--disable-bias-linear --add-qkv-bias", "attention", "out_bias") == 0);
  CHECK(number("--normalization RMSNorm", "norm", "bias") == 0);
  CHECK(number("--untie-embeddings-and-output-weights", "head", "tied") == 0);
  CHECK(number("--position-embedding-type rope", "embedding", "positions") == 0);
  CHECK(number("--group-query-attention --num-query-groups 2", "attention", "kv_heads") == 2);
  CHECK(number("--kv-channels 16", "attention", "head_dim") == 16);
  CHECK(number("--qk-layernorm", "attention", "qk_norm") == 1);
  CHECK(number("--attention-dropout 0 --hidden-dropout 0", "attention", "dropout") == 0);
  CHECK(number("--window-size '(32,0)'", "attention", "window") == 33);  // its own token too
  CHECK(number("--window-size -1,0", "attention", "window") == 0);
  CHECK(number("--transformer-impl local", "attention", "flash") == 0);
  CHECK(number("--transformer-impl local --use-flash-attn", "attention", "flash") == 1);
  CHECK(number("--attention-backend unfused", "attention", "flash") == 0);
}

TEST_CASE("the vocabulary is padded for all devices of a tensor group alike") {
  const std::string start =
      "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --max-position-embeddings 128 ";
  const auto vocab = [&](const std::string& arguments) {
    return layer(megatron_args_model(start + arguments), "embedding").numbers.at("vocab");
  };
  CHECK(vocab("--vocab-size 50257") == 50304);                                 // 393 times 128
  CHECK(vocab("--vocab-size 50257 --tensor-model-parallel-size 8") == 51200);  // 50 times 1024
  CHECK(vocab("--vocab-size 50257 --make-vocab-size-divisible-by 1") == 50257);
  CHECK(vocab("--tokenizer-type GPT2BPETokenizer") == 50304);
  CHECK(megatron_args_refusal(start) ==
        "--vocab-size is missing; tokenizers are not read, so add it or --padded-vocab-size");
  CHECK(megatron_args_refusal("A=()\nif $X; then\nA+=(--vocab-size 9)\nfi\npython x.py ${A[@]} " +
                              start)
            .ends_with("(line 3: what a condition adds to A is left out)"));
}

TEST_CASE("experts are those of the arguments, on the layers that --moe-layer-freq names") {
  const std::string experts =
      "--num-experts 16 --moe-router-topk 4 --moe-ffn-hidden-size 96 "
      "--moe-shared-expert-intermediate-size 48 --swiglu ";
  CHECK(number(experts, "moe", "experts") == 16);
  CHECK(number(experts, "moe", "chosen") == 4);
  CHECK(number(experts, "moe", "expert_intermediate") == 96);
  CHECK(number(experts, "moe", "shared_intermediate") == 48);
  CHECK(number("--num-experts 8", "moe", "expert_intermediate") == 256);
  CHECK(megatron_args_expert_layers("") == "0000");
  CHECK(megatron_args_expert_layers(experts) == "1111");
  CHECK(megatron_args_expert_layers(experts + "--moe-layer-freq 2") == "1010");
  CHECK(megatron_args_expert_layers(experts + "--moe-layer-freq '([0]*1+[1]*3)'") == "0111");
  CHECK(megatron_args_expert_layers(experts + "--moe-layer-freq ([0]*1+[1]*3)") == "0111");
  CHECK(megatron_args_refusal(least + experts + "--moe-layer-freq [1]*5").find("lists 5 layers") !=
        std::string::npos);
  CHECK(has_note(megatron_args_model(least + experts + "--expert-model-parallel-size 4"),
                 "data times expert"));
}

TEST_CASE("latent attention is that of DeepSeek") {
  const std::string latent =
      "--multi-latent-attention --q-lora-rank 24 --kv-lora-rank 32 --qk-head-dim 16 "
      "--qk-pos-emb-head-dim 8 --v-head-dim 12 ";
  CHECK(number(latent, "mla", "q_lora_rank") == 24);
  CHECK(number(latent, "mla", "kv_lora_rank") == 32);
  CHECK(number(latent, "mla", "nope") == 16);
  CHECK(number(latent, "mla", "rope") == 8);
  CHECK(number(latent, "mla", "value") == 12);
  // By default, from Megatron-LM's arguments.py.
  CHECK(number("--multi-latent-attention", "mla", "q_lora_rank") == 0);
  CHECK(number("--multi-latent-attention", "mla", "kv_lora_rank") == 32);
  CHECK(number("--multi-latent-attention", "mla", "nope") == 128);
  CHECK(number("--multi-latent-attention", "mla", "rope") == 64);
  CHECK(number("--multi-latent-attention", "mla", "value") == 128);
}

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
  CHECK(layout_text("Et*99999999999999999999L").find("no number is above") != std::string::npos);
  CHECK(layout_text("E(tttttttttt)*99999L").find("too many layers") != std::string::npos);
  CHECK(layout_text("E(t*99999)*99999L").find("too many layers") != std::string::npos);
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
  CHECK(list_text("[1]*99999").find("more than 10000 layers") != std::string::npos);
  CHECK(list_text("[1]*9*9*9*9*9*9").find("more than 10000 layers") != std::string::npos);
  CHECK(list_text(std::string(1000, '(')).find("nested too deep") != std::string::npos);
  CHECK(list_text("__import__").starts_with("at character 1 of"));
  CHECK(list_text("[0]*2)").starts_with("at character 6 of"));
  CHECK(list_text("").starts_with("at the end of"));
}

TEST_CASE("a layout cuts embedding, blocks and head into stages") {
  CHECK(stages("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|(t|)*2tL'") ==
        "0 1 | 2 | 3 | 4 5");
  const std::string two = least + "--pipeline-model-parallel-size 2 ";
  const std::string layout = two + "--pipeline-model-parallel-layout ";
  const ModelFile file = megatron_args_model(layout + "Et*2|t*2|m|L --mtp-num-layers 1");
  CHECK(file.command.chunks == 2);
  REQUIRE(file.stages.size() == 4);
  CHECK(file.stages[2] == std::vector{LayerIndex{5}});  // "further 0"
  CHECK(megatron_args_refusal(layout + "'Et|tL'") ==
        "line 1: --pipeline-model-parallel-layout: it has 2 times t; it needs 4 transformer "
        "layers, as --num-layers says");
  CHECK(megatron_args_refusal(layout + "'Et|tt|tL'") ==
        "line 1: --pipeline-model-parallel-layout: its 3 stages do not divide among 2 pipeline "
        "ranks");
  CHECK(megatron_args_refusal(layout + "'tE|tttL'").find("must come as") != std::string::npos);
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
        "line 1: --pipeline-model-parallel-size: 4 layers do not divide into 3 stages");
  CHECK(megatron_args_model(
            least + "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1")
            .command.chunks == 2);
}

TEST_CASE(
    "recomputation that is not as Megatron-LM would do it has a note that says how it differs") {
  const auto file = [](const std::string& arguments) {
    return megatron_args_model(least + "--pipeline-model-parallel-size 2 " + arguments);
  };
  const std::string full = "--recompute-granularity full --recompute-method ";
  CHECK(file(full + "block --recompute-num-layers 1").command.recompute == RecomputeMode::full);
  CHECK(has_note(file(full + "block --recompute-num-layers 1"),
                 "all layers are recomputed, not only the first 1 of each stage"));
  // Stages have two layers.
  CHECK_FALSE(has_note(file(full + "block --recompute-num-layers 2"), "recompute"));
  CHECK_FALSE(has_note(file(full + "uniform --recompute-num-layers 1"), "recompute"));
  CHECK(has_note(file(full + "uniform --recompute-num-layers 2"),
                 "each layer keeps its input and is recomputed alone, not 2 at a time"));
  CHECK(megatron_args_refusal(least + full + "some").find("known: uniform, block") !=
        std::string::npos);
  const std::string selective = "--recompute-granularity selective ";
  CHECK(has_note(file(selective + "--recompute-modules layernorm moe_act --bf16"),
                 "--recompute-modules layernorm moe_act: only core attention is recomputed"));
  CHECK_FALSE(has_note(file(selective + "--recompute-modules core_attn"), "recompute"));
  CHECK_FALSE(has_note(file(selective), "recompute"));
}

TEST_CASE("the optimizer is the command's; one that is not known keeps what Adam keeps") {
  const auto optimizer = [](const std::string& arguments) {
    return megatron_args_model(least + arguments).command.optimizer;
  };
  CHECK(optimizer("") == Optimizer::adam);
  CHECK(optimizer("--optimizer adam") == Optimizer::adam);
  CHECK(optimizer("--optimizer sgd") == Optimizer::momentum);  // 0.9 by default
  CHECK(optimizer("--optimizer sgd --sgd-momentum 0.0") == Optimizer::sgd);
  CHECK(optimizer("--optimizer muon") == Optimizer::adam);
  CHECK(has_note(megatron_args_model(least + "--optimizer muon"),
                 "--optimizer muon: two moments per parameter are assumed, as for Adam"));
}

TEST_CASE("a number that does not go with a degree is told by the kind of its layer") {
  const ModelFile file = megatron_args_model(least);
  const LayerSpec attention = layer(file, "attention");
  CHECK_THROWS_WITH_AS((void)work_of(attention, CellShape{.tensor = 3}),
                       "a layer of kind \"attention\", heads: 8 is not divisible among 3 devices "
                       "of tensor parallelism; it must be a multiple of that",
                       InputError);
}

TEST_CASE("what only a run would tell is refused where it matters, with its line") {
  const std::string rest = "\npython x.py " + least + "--micro-batch-size $MBS";
  const auto refused_for = [&](const std::string& first_line, const char* why) {
    CAPTURE(first_line);
    CHECK(megatron_args_refusal(first_line + rest).find(why) != std::string::npos);
  };
  CHECK(megatron_args_refusal("MBS=$((8/X))" + rest) ==
        "line 2: --micro-batch-size: $((8/X)) in line 1: X has no value here; nothing is run, so "
        "write the value out");
  CHECK(megatron_args_refusal("X=0\nMBS=$((8/X))\npython x.py " + least) ==
        "accepted");  // nobody needs it
  refused_for("X=0; MBS=$((8/X))", "$((8/X)) in line 1: it divides by zero");
  refused_for("MBS=`nproc`", "`…` is not run here");
  refused_for("MBS=$(nproc)", "$(…) is not run here");
  refused_for("MBS=$1", "$1 is only known when the script runs");
  refused_for("true", "$MBS has no value here");
  refused_for("if true; then MBS=4; fi", "$MBS changes in a condition in line 1");
  refused_for("true && MBS=4", "$MBS changes in a condition in line 1");
  refused_for("for MBS in 1 2; do true; done", "$MBS changes in a loop in line 1");
  refused_for("MBS=4\nf() { MBS=8; }", "$MBS changes in a condition in line 2");
  refused_for("MBS=4\nfunction f { MBS=8; }", "$MBS changes in a condition in line 2");
  CHECK(megatron_args_refusal("MBS=8" + rest) == "accepted");
  CHECK(megatron_args_refusal("f() { X=8; }\nMBS=8" + rest) == "accepted");
  CHECK(megatron_args_refusal("X=$(nproc)\npython x.py " + least + " --lr $X") == "accepted");
}

TEST_CASE("an argument of the model with a bad value is refused with its line") {
  CHECK(megatron_args_refusal(
            "python x.py \\\n --num-layers 4 \\\n --hidden-size many --num-attention-heads 8") ==
        "line 3: --hidden-size: \"many\" is not a whole number from 1 to "
        "10000000");
  for (const char* wrong : {"0", "-1", "1.5", "1e99", "nan", "inf", "''", "0x10", "1000000000"}) {
    CAPTURE(wrong);
    CHECK(megatron_args_refusal(least + "--num-layers " + wrong)
              .starts_with("line 1: --num-layers: "));
  }
  CHECK(megatron_args_refusal(least + "--num-layers") ==
        "line 1: --num-layers: its value is missing");
  CHECK(megatron_args_refusal(least + "--num-layers --bf16") ==
        "line 1: --num-layers: its value is missing");
  CHECK(megatron_args_refusal(least + "--normalization BatchNorm") ==
        "line 1: --normalization: \"BatchNorm\" is not known; known: LayerNorm, RMSNorm");
  CHECK(megatron_args_refusal(least + "--hidden-size 65").find("add --kv-channels") !=
        std::string::npos);
  CHECK(megatron_args_refusal("--num-layers 4 --num-attention-heads 8")
            .starts_with("--hidden-size is missing"));
}

TEST_CASE("a misspelt argument is named with the one that it was meant for") {
  CHECK(megatron_args_refusal("python x.py \\\n --num-layers 4 --num-attention-heads 8 \\\n "
                              "--hiden-size 64") ==
        "line 3: --hiden-size is not known; did you mean --hidden-size?");
  const auto notes_of = [](const std::string& arguments) {
    std::string all;
    for (const std::string& note : parse_model_file(least + arguments).notes) all += note + "\n";
    return all;
  };
  CHECK(notes_of(" --micro-batchsize 4")
            .find("line 1: --micro-batchsize is not known; did you mean --micro-batch-size?\n") !=
        std::string::npos);
  const std::string others =
      notes_of(" --lr 1 --train-iters 2 --num-workers 8 --min-lr 0 --fp8-format e4m3");
  CHECK(others.find("did you mean") == std::string::npos);
  CHECK(others.find("arguments that are not read: --lr, --min-lr, --num-workers, --train-iters") !=
        std::string::npos);
}

TEST_CASE("a command that lacks one of its sizes is recognised, and the error names the flag") {
  const auto refusal = [](const std::string& text) {
    try {
      parse_model_file(text);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string heads = "--num-attention-heads 8 --max-position-embeddings 128 ";
  for (const std::string start :
       {"", "#!/bin/bash\ntorchrun --nproc-per-node 8 pretrain_gpt.py "}) {
    CAPTURE(start);
    CHECK(refusal(start + "--num-layers 4 " + heads).starts_with("--hidden-size is missing"));
    CHECK(refusal(start + "--hidden-size 64 " + heads).starts_with("--num-layers is missing"));
    CHECK(refusal(start + "--num-layers 4 --hidden-size 64")
              .starts_with("--num-attention-heads is missing"));
  }
  CHECK(refusal("A=(--num-layers 4 " + heads + ")\ntorchrun x.py ${A[@]}")
            .starts_with("--hidden-size is missing"));
  // Another command that happens to take one of them does not stand for the arrays.
  CHECK(refusal("python plan.py --num-layers 9\nA=(" + least + ")\n$RUN") == "accepted");
}

TEST_CASE(
    "an argument that changes the cost and is not read is a note that says what is simulated") {
  const auto file = [](const std::string& arguments) {
    return megatron_args_model("python x.py " + least + arguments);
  };
  CHECK(has_note(file("--bf16 --fp8-format hybrid"),
                 "--fp8-format hybrid is not read: products are simulated at the speed and size of "
                 "/model/dtype"));
  CHECK(has_note(file("--overlap-grad-reduce --bf16"), "--overlap-grad-reduce is not read: "));
  CHECK_FALSE(has_note(file("--bf16 --fp8-format hybrid"), "arguments that are not read"));
}

TEST_CASE("a command without a precision trains in fp32, with a note") {
  const ModelFile file = megatron_args_model(least);
  CHECK(file.command.dtype == "fp32");
  CHECK(has_note(file, "neither --bf16 nor --fp16: the command trains in fp32"));
  CHECK_FALSE(has_note(megatron_args_model(least + "--bf16"), "fp32"));
  CHECK_FALSE(has_note(megatron_args_model(least + "--fp16"), "fp32"));
}

TEST_CASE("hostile scripts end with a line, soon and small") {
  CHECK(megatron_args_refusal("A='" + least)
            .starts_with("line 1: the quote ' that opens here never closes"));
  CHECK(megatron_args_refusal("\n\nA=\"" + least)
            .starts_with("line 3: the quote \" that opens here never"));
  CHECK(megatron_args_refusal("A=(" + least)
            .starts_with("line 1: the array that opens here never closes"));
  CHECK(megatron_args_refusal("A=${B" + least)
            .starts_with("line 1: the ${ that opens here never closes"));
  CHECK(megatron_args_refusal("A=(|&;#" + least)
            .starts_with("line 1: the array that opens here never"));
  CHECK(megatron_args_refusal(std::string("\0--num-layers", 13)).find("bytes that no text has") !=
        std::string::npos);
  std::string doubling = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 60; ++i) doubling += "A=$A$A\n";
  CHECK(megatron_args_refusal(doubling + least).find("expands to more than 1048576 characters") !=
        std::string::npos);
  std::string arrays = "A=(x)\n";
  for (int i = 0; i < 60; ++i) arrays += "A=(\"${A[@]}\" \"${A[@]}\")\n";
  CHECK(megatron_args_refusal(arrays + least).find("expands to more than") != std::string::npos);
  std::string many = "A=" + std::string(1'000'000, 'x') + "\n";
  for (int i = 0; i < 1000; ++i) many += fmt::format("B{}=$A\n", i);
  CHECK(megatron_args_refusal(many + least).find("the script expands to more than") !=
        std::string::npos);
  std::string nested;
  for (int i = 0; i < 10'000; ++i) nested += "${A:-";
  CHECK(megatron_args_refusal("A=" + nested + std::string(10'000, '}') + "\n" + least)
            .find("nested more than 16 deep") != std::string::npos);
}

}  // namespace penstock::testing
