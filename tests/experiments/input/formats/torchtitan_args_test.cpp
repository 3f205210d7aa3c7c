#include <doctest/doctest.h>

#include <string>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

const std::string start = "torchrun --nnodes 2 --nproc_per_node=8 -m torchtitan.train ";

TrainingCommand titan(const std::string& arguments) {
  return parse_model_file(start + arguments).command;
}

}  // namespace

TEST_CASE("torchtitan: overrides of a command are read, and defaults hold for the rest") {
  const TrainingCommand command = titan(
      "--parallelism.pipeline_parallel_degree 4 --parallelism.tensor-parallel-degree=2 \\\n"
      "  --parallelism.pipeline_parallel_schedule Interleaved1F1B \\\n"
      "  --training.local_batch_size 16 --parallelism.pipeline_parallel_microbatch_size 2 \\\n"
      "  --training.seq_len 8192 --metrics.log_freq 1");
  CHECK(command.devices == 16);
  CHECK(command.pipeline == 4);
  CHECK(command.tensor == 2);
  CHECK(command.sequence_parallel == true);
  CHECK(command.schedule == "interleaved-1f1b");
  CHECK(command.chunks == 2);
  CHECK(command.partition == "even_with_ends");
  CHECK(command.microbatch == 2);
  CHECK(command.microbatches == 8);
  CHECK(command.sequence == 8192);
  CHECK(command.zero == 2);  // a pipeline keeps its weights gathered
  CHECK(command.recompute == RecomputeMode::selective);
  CHECK(command.dtype == "bf16");
}

TEST_CASE("torchtitan: its launcher starts NGPU processes on one machine, 8 by default") {
  const auto devices = [](const std::string& variables) {
    return parse_model_file(variables + "./run_train.sh --parallelism.tensor_parallel_degree 2")
        .command.devices;
  };
  CHECK(devices("") == 8);
  CHECK(devices("NGPU=4 CONFIG_FILE=c.toml ") == 4);
  CHECK(devices("export NGPU=\"16\"\n") == 16);
  CHECK_FALSE(devices("NGPU=$(nvidia-smi -L | wc -l) "));
}

TEST_CASE("torchtitan: the processes of its launcher are noted, and NGPU is named where wrong") {
  const auto file = [](const std::string& pipeline) {
    return parse_model_file(
        "./run_train.sh --parallelism.tensor_parallel_degree 4 "
        "--parallelism.pipeline_parallel_degree " +
        pipeline);
  };
  CHECK(file("2").command.devices == 8);
  CHECK(has_note(file("2"), "run_train.sh starts 8 processes; NGPU=N in front"));
  CHECK_FALSE(file("4").command.devices);  // 16 devices at least
  CHECK(has_note(file("4"), "run_train.sh starts 8 processes, which the degrees do not divide"));
  CHECK(refusal_of_model("NGPU=x ./run_train.sh --parallelism.tensor_parallel_degree 4") ==
        "line 1: NGPU: \"x\" is not a whole number from 1 to 1e9");
}

TEST_CASE("torchtitan: the older name of compilation chooses the stack, too") {
  CHECK(titan("").stack == "fsdp-eager");
  CHECK(titan("--training.compile").stack == "fsdp-compiled");
  CHECK(titan("--training.compile --compile.enable false").stack == "fsdp-eager");
}

TEST_CASE("torchtitan: converters of products are today's and older names; others are refused") {
  const auto dtype = [](const std::string& names) {
    return titan("--model.converters " + names).dtype;
  };
  CHECK(dtype("quantize.linear.float8") == "fp8");
  CHECK(dtype("float8") == "fp8");
  CHECK(dtype("mx") == "mxfp8");
  CHECK(dtype("quantize.grouped_mm.mx,quantize.linear.mx") == "mxfp8");
  const std::string names = start + "--model.converters ";
  CHECK(refusal_of_model(names + "quantize.grouped_mm.mx") ==
        "line 1: --model.converters: products of experts in another type than the others are not "
        "simulated");
  CHECK(refusal_of_model(names + "quantize.linear.float8,eco") ==
        "line 1: --model.converters: \"eco\" is not simulated; known: quantize.linear.float8, "
        "quantize.linear.mx");
}

TEST_CASE("torchtitan: what is sharded is ZeRO-2 or -3, and whole replicas are ZeRO-0") {
  const auto zero = [](const std::string& arguments) { return *titan(arguments).zero; };
  CHECK(zero("") == 3);
  CHECK(zero("--parallelism.fsdp_reshard_after_forward never") == 2);
  CHECK(zero("--parallelism.pipeline_parallel_degree 2 "
             "--parallelism.fsdp_reshard_after_forward always") == 3);
  CHECK(zero("--parallelism.data_parallel_shard_degree 1 "
             "--parallelism.data_parallel_replicate_degree 16") == 0);
  CHECK(zero("--parallelism.data_parallel_shard_degree 1 "
             "--parallelism.context_parallel_degree 2") == 3);
}

TEST_CASE("torchtitan: without a pipeline the local batch is one microbatch") {
  const TrainingCommand command =
      titan("--training.local_batch_size 4 --training.global_batch_size 512");
  CHECK(command.microbatch == 4);
  CHECK(command.global_batch == 512);
  CHECK_FALSE(command.microbatches);
  CHECK(titan("").microbatches == 1);
}

TEST_CASE("torchtitan: a stated shard degree is that of the data replicas") {
  CHECK(titan("--parallelism.data_parallel_shard_degree 4").data == 4);
  CHECK_FALSE(titan("").data);
  CHECK(titan("").sequence == 2048);
  CHECK(titan("--training.seq_len 8192").sequence == 8192);
}

TEST_CASE(
    "torchtitan: what a config may state is not known, and defaults that are taken are named") {
  for (const std::string names :
       {"--module llama3 --config llama3_8b ", "--job.config_file llama3_8b.toml "}) {
    const ModelFile file = parse_model_file(start + names);
    CHECK(parse_model_file("MODULE=llama3 ./run_train.sh --parallelism.tensor_parallel_degree 2")
              .command.names_config);
    CHECK(file.command.names_config);
    CHECK_FALSE(file.command.sequence);
    CHECK_FALSE(file.command.microbatch);
    const TrainingCommand stated =
        titan(names + "--training.seq_len 8192 --training.local_batch_size 1");
    CHECK(stated.sequence == 8192);
    CHECK(stated.microbatch == 1);
    REQUIRE(file.notes.size() == 1);
    CHECK(file.notes.front().starts_with(
        "the config that the command names is not read; defaults of torchtitan are assumed for "
        "--activation_checkpoint.mode, "));
    CHECK(says(file.notes.front(), "--parallelism.tensor_parallel_degree"));
    CHECK(titan(names + "--parallelism.pipeline_parallel_degree 2").microbatches == std::nullopt);
  }
  CHECK(titan("").microbatch == 8);
  CHECK(parse_model_file(start).notes.empty());
}

TEST_CASE("torchtitan: replicas of shards are groups that shard on their own") {
  const char* const both =
      "--parallelism.data_parallel_shard_degree 4 --parallelism.data_parallel_replicate_degree 2";
  CHECK(titan(both).shard_groups == 2);
  CHECK(titan(both).zero == 3);
  CHECK(titan("").shard_groups == 1);
  const TrainingCommand whole = titan(
      "--parallelism.data_parallel_shard_degree 1 --parallelism.data_parallel_replicate_degree 2");
  CHECK(whole.zero == 0);
  CHECK_FALSE(whole.shard_groups);
}

TEST_CASE("torchtitan: the order of a CSV lies beside the command") {
  const TrainingCommand command = titan(
      "--parallelism.pipeline_parallel_degree 4 --parallelism.pipeline_parallel_schedule "
      "PipelineScheduleMulti --parallelism.pipeline_parallel_schedule_csv order.csv "
      "--parallelism.no_enable_sequence_parallel --parallelism.tensor_parallel_degree 2");
  CHECK(command.order_file == "order.csv");
  CHECK(command.schedule == "");
  CHECK(command.chunks == 2);
  CHECK(command.sequence_parallel == false);
}

TEST_CASE("torchtitan: what changes the layout and is not simulated is refused by its name") {
  const std::string pipeline = "--parallelism.pipeline_parallel_degree 2 ";
  for (const auto& [arguments, refusal] : std::vector<std::pair<std::string, std::string>>{
           {"--parallelism.module_fqns_per_model_part x",
            "line 1: --parallelism.module_fqns_per_model_part: it is not read"},
           {"--activation_checkpoint.mode memory_budget",
            "line 1: --activation_checkpoint.mode: \"memory_budget\" is not simulated; known: "
            "selective, full, none"},
           {pipeline + "--parallelism.pipeline_parallel_schedule Wild",
            "line 1: --parallelism.pipeline_parallel_schedule: \"Wild\" is not simulated"},
           {pipeline + "--training.global_batch_size 64 --parallelism.data_parallel_shard_degree 4",
            "line 1: --training.global_batch_size: it is not local_batch_size x replicas, 32: "
            "several runs of a pipeline per update are not simulated"},
           {"--training.dtype bfloat16",
            "line 1: --training.dtype: \"bfloat16\" is not simulated; known: float32"},
           {"--parallelism.tensor_parallel_degree two",
            "line 1: --parallelism.tensor_parallel_degree: \"two\" is not a whole number from 1 to "
            "1e9"},
           {"--training.tensor_parallel_degree 2",
            "line 1: --training.tensor_parallel_degree: write "
            "--parallelism.tensor_parallel_degree"},
           {"--experimental.pipeline_parallel_degree 2",
            "line 1: --experimental.pipeline_parallel_degree: write "
            "--parallelism.pipeline_parallel_degree"},
           {"--training.batch_size 2",
            "line 1: --training.batch_size: write --training.local_batch_size"},
           {"--optimizer.name SGD",
            "line 1: --optimizer.name: \"SGD\" is not simulated; known: AdamW, Adam"},
           {"--training.enable_cpu_offload",
            "line 1: --training.enable_cpu_offload: weights on the host are not simulated"}}) {
    CHECK(refusal_of_model(start + arguments) == refusal);
  }
  const ModelFile file = parse_model_file(start + "--parallelism.disable_loss_parallel");
  CHECK(file.notes.front() == "arguments that are not read: --parallelism.disable_loss_parallel");
}

}  // namespace penstock::testing
