#include <doctest/doctest.h>
#include <fmt/format.h>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/layers/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/megatron_arguments.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {

TEST_CASE("the optimizer is the command's; one that is not known keeps what Adam keeps") {
  const auto optimizer = [](const std::string& arguments) {
    return parse_model_file(least + arguments).command.optimizer;
  };
  CHECK(optimizer("") == Optimizer::adam);
  CHECK(optimizer("--optimizer adam") == Optimizer::adam);
  CHECK(optimizer("--optimizer sgd") == Optimizer::momentum);  // 0.9 by default
  CHECK(optimizer("--optimizer sgd --sgd-momentum 0.0") == Optimizer::sgd);
  CHECK(optimizer("--optimizer muon") == Optimizer::adam);
  CHECK(has_note(parse_model_file(least + "--optimizer muon"),
                 "--optimizer muon: two moments per parameter are assumed, as for Adam"));
}

TEST_CASE("a number that does not go with a degree is told by the kind of its layer") {
  const ModelFile file = parse_model_file(least);
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
    CHECK(says(megatron_args_refusal(first_line + rest), why));
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
  CHECK(says(megatron_args_refusal(least + "--hidden-size 65"), "add --kv-channels"));
  CHECK(megatron_args_refusal("--num-layers 4 --num-attention-heads 8")
            .starts_with("--hidden-size is missing"));
}

TEST_CASE("a misspelt argument is named with the one that it was meant for") {
  CHECK(megatron_args_refusal("python x.py \\\n --num-layers 4 --num-attention-heads 8 \\\n "
                              "--hiden-size 64") ==
        "line 3: --hiden-size is not known; did you mean --hidden-size?");
  // Also one that has a default.
  CHECK(megatron_args_refusal(least + " --micro-batchsize 4") ==
        "line 1: --micro-batchsize is not known; did you mean --micro-batch-size?");
  const ModelFile others = parse_model_file(
      least + " --lr 1 --train-iters 2 --num-workers 8 --min-lr 0 --fp8-format e4m3");
  CHECK_FALSE(has_note(others, "did you mean"));
  CHECK(has_note(others,
                 "arguments that are not read: --lr, --min-lr, --num-workers, --train-iters"));
}

TEST_CASE("arguments of Megatron-LM and of what launches it are no misspellings") {
  const ModelFile file = parse_model_file(
      "srun --nodes=8 torchrun --nproc-per-node 8 --nnodes 8 examples/pretrain_gpt.py " + least +
      "--bf16 --vocab-file V --merge-file M --fp4-recipe nvfp4");
  CHECK(file.command.devices == 64);
  CHECK(has_note(file, "arguments that are not read: --fp4-recipe, --nodes, --vocab-file"));
  CHECK(megatron_args_refusal("torchrun pretrain_gpt.py " + least + "--nnode 8")
            .starts_with("line 1: --nnode is not known; did you mean --nnodes?"));
  CHECK(megatron_args_refusal("mpirun --np 8 pretrain_gpt.py " + least) == "accepted");
}

TEST_CASE("in front of the program an argument is compared with those of torchrun") {
  const auto refusal = [](const std::string& arguments) {
    return megatron_args_refusal("torchrun " + arguments + " pretrain_gpt.py " + least);
  };
  CHECK(refusal("--nproc-per-nod 8 --nnodes 2") ==
        "line 1: --nproc-per-nod is not known; did you mean --nproc-per-node?");
  CHECK(refusal("--nproc_per_nodes 8") ==
        "line 1: --nproc_per_nodes is not known; did you mean --nproc-per-node?");
  CHECK(refusal("--nproc-per-node 8 --nnode 2") ==
        "line 1: --nnode is not known; did you mean --nnodes?");
  CHECK(refusal("--node_rank 0 --master-port 6000 --num-layer 4") == "accepted");
}

TEST_CASE("torchrun's range of nodes is refused: one number is simulated") {
  const std::string start = "torchrun --nproc-per-node=8 --nnodes=";
  CHECK(megatron_args_refusal(start + "2:4 pretrain_gpt.py " + least) ==
        "line 1: --nnodes: \"2:4\" is not a whole number from 1 to 16384");
  CHECK(parse_model_file(start + "2:2 pretrain_gpt.py " + least).command.devices == 16);
  CHECK(has_note(parse_model_file(start + "$NODES pretrain_gpt.py " + least),
                 "line 1: --nnodes is not known here"));
}

TEST_CASE("what Megatron-LM refuses to train is refused") {
  CHECK(megatron_args_refusal(least + "--bf16 --fp16") ==
        "line 1: --fp16: it conflicts with --bf16; give one of them");
  const std::string experts = least + "--bf16 --num-experts 8 --tensor-model-parallel-size 2 ";
  CHECK(megatron_args_refusal(experts) ==
        "line 1: --num-experts: Megatron-LM refuses experts in tensor groups without "
        "--sequence-parallel; add it");
  CHECK(megatron_args_refusal(experts + "--sequence-parallel") == "accepted");
  const std::string context = least + "--bf16 --context-parallel-size ";
  CHECK(
      megatron_args_refusal(context + "2 --recompute-activations --recompute-modules $M") ==
      "line 1: --recompute-modules: $M has no value here; nothing is run, so write the value out");
  CHECK(megatron_args_refusal(context + "2 --cp-comm-type a2a") ==
        "line 1: --cp-comm-type: \"a2a\" is not simulated; known: p2p");
  CHECK(megatron_args_refusal(context + "2 --cp-comm-type $TYPE") ==
        "line 1: --cp-comm-type: $TYPE has no value here; nothing is run, so write the value out");
  CHECK(megatron_args_refusal(context + "1 --cp-comm-type $TYPE") == "accepted");
  CHECK(megatron_args_refusal(context + "1 --cp-comm-type a2a") == "accepted");
  CHECK(megatron_args_refusal(context + "2 --cp-comm-type p2p") == "accepted");
}

TEST_CASE("sequence parallelism that experts need may be in text that is left out") {
  const ModelFile file = parse_model_file(
      "if [ $SP = true ]; then\n  OPTIONS=--sequence-parallel\nfi\ntorchrun pretrain_gpt.py " +
      least + "--bf16 --num-experts 8 --tensor-model-parallel-size 2 $OPTIONS");
  CHECK(file.command.sequence_parallel == true);
  CHECK(has_note(file,
                 "Megatron-LM refuses experts in tensor groups without --sequence-parallel, which "
                 "is assumed: text of the script is left out"));
  const std::string dense = "python x.py " + least + "--bf16 --tensor-model-parallel-size 2 $MORE";
  CHECK(parse_model_file(dense).command.sequence_parallel == false);
}

TEST_CASE("what Megatron-LM's FSDP shards is a ZeRO level") {
  const auto zero = [](const std::string& arguments) {
    return parse_model_file(least + "--bf16 " + arguments).command.zero;
  };
  const std::string strategy = "--data-parallel-sharding-strategy ";
  CHECK(zero("--use-distributed-optimizer") == 1);
  CHECK(zero(strategy + "optim_grads_params") == 0);  // without effect
  CHECK(zero("--use-megatron-fsdp") == 0);
  CHECK(zero("--use-megatron-fsdp " + strategy + "optim") == 1);
  CHECK(zero("--use-custom-fsdp " + strategy + "optim_grads") == 2);
  CHECK(zero("--use-megatron-fsdp --use-distributed-optimizer " + strategy +
             "optim_grads_params") == 3);
  CHECK(zero("--use-torch-fsdp2") == 3);
  CHECK(zero("--use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward") == 2);
  // Its kernels are Megatron-LM's at any level, also one that only the scenario states.
  CHECK(parse_model_file(least + "--bf16").command.stack == "megatron-bridge");
}

TEST_CASE("without a global batch each replica has one microbatch, as in Megatron-LM") {
  CHECK(parse_model_file(least + "--bf16").command.microbatches == 1);
  CHECK_FALSE(parse_model_file(least + "--global-batch-size 8").command.microbatches);
}

TEST_CASE("a command that lacks one of its sizes is recognised, and the error names the flag") {
  const std::string heads = "--num-attention-heads 8 --max-position-embeddings 128 ";
  for (const std::string start :
       {"", "#!/bin/bash\ntorchrun --nproc-per-node 8 pretrain_gpt.py "}) {
    CAPTURE(start);
    CHECK(refusal_of_model(start + "--num-layers 4 " + heads)
              .starts_with("--hidden-size is missing"));
    CHECK(refusal_of_model(start + "--hidden-size 64 " + heads)
              .starts_with("--num-layers is missing"));
    CHECK(refusal_of_model(start + "--num-layers 4 --hidden-size 64")
              .starts_with("--num-attention-heads is missing"));
  }
  CHECK(refusal_of_model("A=(--num-layers 4 " + heads + ")\ntorchrun x.py ${A[@]}")
            .starts_with("--hidden-size is missing"));
  // Another command that happens to take one of them does not stand for the arrays.
  CHECK(refusal_of_model("python plan.py --num-layers 9\nA=(" + least + ")\n$RUN") == "accepted");
}

TEST_CASE(
    "an argument that changes the cost and is not read is a note that says what is simulated") {
  const auto file = [](const std::string& arguments) {
    return parse_model_file("python x.py " + least + arguments);
  };
  CHECK(has_note(file("--bf16 --transformer-engine-precision fp8"),
                 "--transformer-engine-precision fp8 is not read: products are simulated at the "
                 "speed and size of /model/dtype"));
  CHECK(has_note(file("--rampup-batch-size 1 1 1 --bf16"), "--rampup-batch-size 1 is not read: "));
  CHECK_FALSE(has_note(file("--bf16 --rampup-batch-size 1 1 1"), "arguments that are not read"));
}

TEST_CASE("an argument that makes another model, layout or order is refused, with a remedy") {
  for (const char* argument :
       {"--hybrid-override-pattern M-M*-", "--is-hybrid-model", "--mamba-state-dim 128",
        "--hybrid-attention-ratio 0.08", "--hybrid-mlp-ratio 0.5", "--linear-attention-freq 4",
        "--experimental-attention-variant dsa", "--attention-output-gate", "--moe-latent-size 64",
        "--heterogeneous-layers-config-path layers.json", "--window-attn-skip-freq 4",
        "--checkpoint-activations", "--o-lora-rank 64",
        "--microbatch-group-size-per-virtual-pipeline-stage 8"}) {
    const std::string name = std::string(argument).substr(0, std::string(argument).find(' '));
    CHECK(megatron_args_refusal("python x.py " + least + "--bf16 " + argument)
              .starts_with("line 1: " + name + " is not read: "));
  }
}

TEST_CASE("an argument that is not simulated is refused where it changes the training") {
  const auto refusal = [](const std::string& arguments) {
    return megatron_args_refusal("python x.py " + least + "--bf16 " + arguments);
  };
  CHECK(refusal("--use-tp-pp-dp-mapping") == "accepted");
  CHECK(refusal("--use-tp-pp-dp-mapping --pipeline-model-parallel-size 2") ==
        "line 1: --use-tp-pp-dp-mapping: replicas outside pipelines are not simulated; leave it "
        "out");
  CHECK(refusal("--zero-stage 0") == "accepted");
  CHECK(refusal("--zero-stage 1") ==
        "line 1: --zero-stage: it is not read; leave it out and state \"zero\" in /memory");
  CHECK(refusal("--optimizer-cpu-offload --optimizer-offload-fraction 0") == "accepted");
  for (const char* fraction : {"", " --optimizer-offload-fraction 0.5"}) {
    CHECK(refusal(std::string("--optimizer-cpu-offload") + fraction) ==
          "line 1: --optimizer-cpu-offload: optimizer state on the host is not simulated");
  }
  CHECK(refusal("--checkpoint-num-layers 1") == "accepted");
}

TEST_CASE("programs of Megatron-LM that train other models are refused by name") {
  for (const std::string program : {"pretrain_mamba.py", "pretrain_bert.py", "pretrain_t5.py"}) {
    CHECK(
        megatron_args_refusal("cd x\ntorchrun --nproc_per_node 8 ../../" + program + " " + least) ==
        "line 2: " + program +
            " is not read, only pretrain_gpt.py is; other models are read from their own "
            "config.json, under /model/file");
  }
  CHECK(megatron_args_refusal("torchrun pretrain_gpt.py " + least + "--save my_pretrain_t5.py") ==
        "accepted");
}

TEST_CASE("Megatron-LM reduces gradients behind the last backward unless the command says so") {
  CHECK(parse_model_file("python x.py " + least + "--bf16").command.overlap_sums == false);
  CHECK(parse_model_file("python x.py " + least + "--bf16 --overlap-grad-reduce")
            .command.overlap_sums == true);
}

TEST_CASE(
    "Megatron-LM: experts drop tokens above their capacity, and are padded where it is said") {
  const auto capacity = [](const std::string& arguments) {
    return number("--bf16 --num-experts 8 --moe-router-topk 2 " + arguments, "moe",
                  "capacity_factor");
  };
  CHECK(capacity("--moe-expert-capacity-factor 1.5") == 0);
  CHECK(capacity("--moe-expert-capacity-factor 0.5") == 0.5);
  CHECK(capacity("--moe-expert-capacity-factor 1.5 --moe-pad-expert-input-to-capacity") == 1.5);
}

TEST_CASE("recipes of low precision, and what gathers and attends in it, are those of a command") {
  const auto command = [](const std::string& arguments) {
    return parse_model_file("python x.py " + least + arguments).command;
  };
  CHECK(command("--bf16 --fp8-format hybrid").dtype == "fp8");
  CHECK(command("--bf16 --fp8-format e4m3 --fp8-recipe tensorwise").dtype == "fp8");
  CHECK(command("--bf16 --fp8-format e4m3 --fp8-recipe blockwise").dtype == "fp8-block");
  CHECK(command("--bf16 --fp8-format e4m3 --fp8-recipe mxfp8").dtype == "mxfp8");
  CHECK(command("--bf16 --fp4-format e2m1").dtype == "nvfp4");
  CHECK(command("--bf16 --fp8-recipe mxfp8").dtype == "bf16");
  CHECK(command("--fp8-format hybrid").dtype == "fp32");
  const TrainingCommand narrow = command(
      "--bf16 --fp8-format hybrid --fp8-param-gather --fp8-dot-product-attention "
      "--moe-shared-expert-overlap");
  CHECK((narrow.narrow_gathers == true && narrow.fp8_attention == true &&
         narrow.overlap_shared_expert == true));
  const TrainingCommand plain = command("--bf16 --fp8-format hybrid");
  CHECK((plain.narrow_gathers == false && plain.fp8_attention == false &&
         plain.overlap_shared_expert == false));
  CHECK(command("--bf16 --fp8-format e4m3 --fp8-recipe mxfp8 --fp8-param-gather "
                "--reuse-grad-buf-for-mxfp8-param-ag")
            .narrow_gathers == false);
}

TEST_CASE("a command without a precision trains in fp32, with a note") {
  const ModelFile file = parse_model_file(least);
  CHECK(file.command.dtype == "fp32");
  CHECK(has_note(file, "neither --bf16 nor --fp16: the command trains in fp32"));
  CHECK_FALSE(has_note(parse_model_file(least + "--bf16"), "fp32"));
  CHECK_FALSE(has_note(parse_model_file(least + "--fp16"), "fp32"));
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
  CHECK(says(megatron_args_refusal(std::string("\0--num-layers", 13)), "bytes that no text has"));
  std::string doubling = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 60; ++i) doubling += "A=$A$A\n";
  CHECK(says(megatron_args_refusal(doubling + least), "expands to more than 1048576 characters"));
  std::string arrays = "A=(x)\n";
  for (int i = 0; i < 60; ++i) arrays += "A=(\"${A[@]}\" \"${A[@]}\")\n";
  CHECK(says(megatron_args_refusal(arrays + least), "expands to more than"));
  std::string many = "A=" + std::string(1'000'000, 'x') + "\n";
  for (int i = 0; i < 1000; ++i) many += fmt::format("B{}=$A\n", i);
  CHECK(says(megatron_args_refusal(many + least), "the script expands to more than"));
  std::string nested;
  for (int i = 0; i < 10'000; ++i) nested += "${A:-";
  CHECK(says(megatron_args_refusal("A=" + nested + std::string(10'000, '}') + "\n" + least),
             "nested more than 16 deep"));
}

}  // namespace penstock::testing
