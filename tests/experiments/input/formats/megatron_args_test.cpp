#include <doctest/doctest.h>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/layers/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/megatron_arguments.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/model_parameters.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

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
  const ModelFile file = parse_model_file(script);
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
  CHECK(command.zero == 1);
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
    for (const BlockSpec& block : parse_model_file(least + command).spec.blocks) {
      for (const LayerSpec& part : block.parts) {
        CHECK(work_of(part, CellShape{}).kept_bytes > 0);
      }
    }
  }
}

TEST_CASE("the same arguments alone, on one line or on several, are the same model") {
  const double expected = closed_form_parameters(parse_model_file(least).spec);
  CHECK(closed_form_parameters(parse_model_file("python pretrain.py " + least).spec) == expected);
  std::string lines = least;
  for (std::size_t at = 0; (at = lines.find(" --", at)) != std::string::npos;) lines[at] = '\n';
  CHECK(closed_form_parameters(parse_model_file(lines).spec) == expected);
  CHECK(closed_form_parameters(parse_model_file("ARGS=(" + least + ")").spec) == expected);
  std::string words = lines;
  for (char& c : words) c = c == ' ' ? '\n' : c;
  CHECK(closed_form_parameters(parse_model_file(words).spec) == expected);  // one word a line
  CHECK(closed_form_parameters(parse_model_file("srun sh -c \"python x.py " + least + "\"").spec) ==
        expected);
  CHECK(closed_form_parameters(
            parse_model_file("A='" + least + "'\nB=\"python $A\"\nsrun sh -c \"$B\"").spec) ==
        expected);
}

TEST_CASE("text that is arguments alone is one command, though a line of it could be one too") {
  const ModelFile file = parse_model_file(least + "\n# and how it is cut\n--swiglu --bf16\n\n" +
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
    const ModelFile file = parse_model_file(text);
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
    return parse_model_file("python x.py " + least + arguments);
  };
  CHECK(has_note(file("--bf16 $MORE"), "line 1: left out: $MORE has no value here"));
  CHECK(has_note(file("--lr 1e-4 $MORE"), "line 1: left out: $MORE has no value here"));
  CHECK(has_note(file("--$NAME 4"), "line 1: left out: $NAME has no value here"));
  CHECK_FALSE(has_note(file("--save $DIR --bf16"), "left out"));
}

TEST_CASE("numbers that a script works out are those of its command") {
  const ModelFile file = parse_model_file(
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
  CHECK(parse_model_file(least).command.dtype == "fp32");
  CHECK(parse_model_file(least).command.recompute == RecomputeMode::none);
}

TEST_CASE("each argument of the model changes what it says") {
  // With a third matrix the width is 2/3 of 4 h, here 170.7, in steps of 64.
  CHECK(number("--swiglu", "mlp", "intermediate") == 128);
  CHECK(number("--swiglu --ffn-hidden-size 200", "mlp", "intermediate") == 200);
  CHECK(number("--quick-geglu", "mlp", "gated") == 1);
  CHECK(number("--quick-geglu", "mlp", "intermediate") == 256);  // 4 h: --swiglu alone narrows
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
    return layer(parse_model_file(start + arguments), "embedding").numbers.at("vocab");
  };
  CHECK(vocab("--vocab-size 50257") == 50304);                                 // 393 times 128
  CHECK(vocab("--vocab-size 50257 --tensor-model-parallel-size 8") == 51200);  // 50 times 1024
  CHECK(vocab("--vocab-size 50257 --make-vocab-size-divisible-by 1") == 50257);
  CHECK(vocab("--tokenizer-type GPT2BPETokenizer") == 50304);
  // 1002 times 128; the end of a document is one more.
  CHECK(vocab("--vocab-size 128256") == 128256);
  CHECK(vocab("--vocab-size 128256 --tokenizer-type NullTokenizer") == 128384);
  CHECK(vocab("--vocab-size 128256 --tokenizer-type $TOKENIZER") == 128256);
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
  const auto expert_layers_of = [](const std::string& arguments) {
    return expert_layers(parse_model_file(least + arguments));
  };
  CHECK(expert_layers_of("") == "0000");
  CHECK(expert_layers_of(experts) == "1111");
  CHECK(expert_layers_of(experts + "--moe-layer-freq 2") == "1010");
  CHECK(expert_layers_of(experts + "--moe-layer-freq '([0]*1+[1]*3)'") == "0111");
  CHECK(expert_layers_of(experts + "--moe-layer-freq ([0]*1+[1]*3)") == "0111");
  CHECK(says(megatron_args_refusal(least + experts + "--moe-layer-freq [1]*5"), "lists 5 layers"));
}

TEST_CASE("groups of experts are those of the arguments, and none without experts") {
  const std::string groups =
      "--tensor-model-parallel-size 4 --sequence-parallel --expert-model-parallel-size 8 ";
  const std::string experts = least + groups + "--num-experts 16 ";
  const TrainingCommand command =
      parse_model_file(experts + "--expert-tensor-parallel-size 2").command;
  CHECK(command.expert == 8);
  CHECK(command.expert_tensor == 2);
  CHECK(parse_model_file(experts).command.expert_tensor == 4);  // Megatron-LM's default
  CHECK_FALSE(parse_model_file(least + "--num-experts 16").command.expert_tensor);
  CHECK_FALSE(parse_model_file(least + groups).command.expert_tensor);
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
  const char* const norms = "latent attention without --qk-layernorm: norms";
  CHECK(has_note(parse_model_file(least + latent), norms));
  CHECK_FALSE(has_note(parse_model_file(least + latent + "--qk-layernorm"), norms));
}

}  // namespace penstock::testing
