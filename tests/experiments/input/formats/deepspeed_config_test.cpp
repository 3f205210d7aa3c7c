#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/base/error.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// Llama 3.1 8B on DGX H100, trained as a config says.
Layout trained_by(const std::string& config, const std::vector<std::string>& settings) {
  const Scratch scratch;
  scratch.file("ds.json", config);
  return settle(parse_scenario(
      R"({"model": {"command": "ds.json", "sequence": 4096, "file": ")" PENSTOCK_ROOT
      R"(/experiments/models/llama-3.1-8b.json"}, "hardware": {"name": "dgx-h100"}})",
      scratch.path("scenario.json"), settings));
}

}  // namespace

TEST_CASE("DeepSpeed: a config's batch, ZeRO level, pipeline and precision are read") {
  const ModelFile file = parse_model_file(R"({
      "train_batch_size": 64, "train_micro_batch_size_per_gpu": 2,
      "gradient_accumulation_steps": 8, "zero_optimization": {"stage": 1},
      "bf16": {"enabled": true}, "tensor_parallel": {"autotp_size": 2},
      "pipeline": {"stages": 4, "partition": "type:transformer",
                   "activation_checkpoint_interval": 1},
      "steps_per_print": 10, "gradient_clipping": 1.0})");
  const TrainingCommand& command = file.command;
  CHECK(command.global_batch == 64);
  CHECK(command.microbatch == 2);
  CHECK(command.microbatches == 8);
  CHECK(command.zero == 1);
  CHECK(command.dtype == "bf16");
  CHECK(command.tensor == 2);
  CHECK(command.pipeline == 4);
  CHECK(command.schedule == "1f1b");
  CHECK(command.recompute == RecomputeMode::full);
  CHECK(file.notes.front() == "keys that are not read: gradient_clipping, steps_per_print");
}

TEST_CASE(
    "DeepSpeed: of batch, microbatch and accumulation what is missing follows from the others") {
  const auto batch_of = [](const std::string& keys) {
    const Layout layout = trained_by("{" + keys + R"(, "zero_optimization": {"stage": 3}})",
                                     {"/hardware/devices=32"});
    return std::pair(layout.microbatches, layout.batch.microbatch.value_or(0));
  };
  CHECK(batch_of(R"("train_batch_size": 64)") == std::pair(1U, 2.0));
  CHECK(batch_of(R"("train_batch_size": 64, "gradient_accumulation_steps": 1)") ==
        std::pair(1U, 2.0));
  CHECK(batch_of(R"("train_batch_size": 64, "train_micro_batch_size_per_gpu": 1)") ==
        std::pair(2U, 1.0));
  CHECK(batch_of(R"("train_micro_batch_size_per_gpu": 4)") == std::pair(1U, 4.0));
  CHECK_THROWS_WITH_AS(batch_of(R"("train_batch_size": 64, "train_micro_batch_size_per_gpu": 1,
                                   "gradient_accumulation_steps": 3)"),
                       doctest::Contains("the command's batch is 64, but 3 microbatches of 1 on 32 "
                                         "replicas are 96 examples"),
                       InputError);
  CHECK_THROWS_WITH_AS(batch_of(R"("train_batch_size": 48)"),
                       doctest::Contains("does not divide into 32 microbatches"), InputError);
}

TEST_CASE(
    "DeepSpeed: sums overlap with ZeRO-3 alone unless it says more; a pipeline has no ZeRO-2") {
  CHECK(parse_model_file(R"({"zero_optimization": {"stage": 3}})").command.overlap_sums == true);
  CHECK(parse_model_file(R"({"zero_optimization": {"stage": 1}})").command.overlap_sums == false);
  CHECK(parse_model_file(R"({"zero_optimization": {"stage": 1, "overlap_comm": true}})")
            .command.overlap_sums == true);
  CHECK(refusal_of_model(R"({"zero_optimization": {"stage": 2}, "pipeline": {"stages": 4}})") ==
        "/zero_optimization/stage: a pipeline runs with ZeRO-0 and ZeRO-1");
}

TEST_CASE("DeepSpeed: gradients of bf16 are bf16 with ZeRO, and fp32 without, or as stated") {
  const auto config = [](int zero, const std::string& more = "") {
    return fmt::format(R"({{"zero_optimization": {{"stage": {}}}, "bf16": {{"enabled": true}}{}}})",
                       zero, more);
  };
  const auto stated = [](const std::string& type) {
    return fmt::format(R"(, "data_types": {{"grad_accum_dtype": "{}"}})", type);
  };
  const auto gradients = [](const std::string& text) {
    return parse_model_file(text).command.gradients;
  };
  CHECK_FALSE(gradients(config(0)));
  CHECK(gradients(config(1)) == Precision::bf16);
  CHECK(gradients(config(3)) == Precision::bf16);
  CHECK(gradients(config(1, stated("fp32"))) == Precision::fp32);
  CHECK(gradients(config(0, stated("bf16"))) == Precision::bf16);
  CHECK(refusal_of_model(config(2, stated("fp32"))) ==
        "/data_types/grad_accum_dtype: fp32 gradients of bf16 go with ZeRO-0 and ZeRO-1");
  const auto kept = [](const std::string& text) {
    return trained_by(text, {"/hardware/devices=8", "/model/microbatch=1"}).memory.kept;
  };
  CHECK(kept(config(1)).gradient == 2);
  CHECK(kept(config(1)).optimizer == 12);  // master weights and two moments
  CHECK(kept(config(0)).gradient == 4);
}

TEST_CASE("DeepSpeed: older keys are read or refused, and what is not read is named") {
  const auto dtype = [](const std::string& keys) {
    return parse_model_file(R"({"zero_optimization": {"stage": 1}, )" + keys + "}").command.dtype;
  };
  CHECK(dtype(R"("bfloat16": {"enabled": true})") == "bf16");
  CHECK(dtype(R"("bf16": {"enabled": false}, "bfloat16": {"enabled": true})") == "fp32");
  const ModelFile file = parse_model_file(R"({
      "zero_optimization": {"stage": 1, "reduce_bucket_size": 5e8, "contiguous_gradients": true},
      "optimizer": {"type": "Lion"}, "steps_per_print": 10})");
  CHECK(file.notes ==
        std::vector<std::string>{
            "optimizer Lion: two moments per parameter are assumed, as for Adam",
            "keys that are not read: steps_per_print, zero_optimization.contiguous_gradients, "
            "zero_optimization.reduce_bucket_size"});
  for (const char* adam : {"AdamW", "OneBitAdam", "Lamb", "SGD"}) {
    CAPTURE(adam);
    CHECK(parse_model_file(
              fmt::format(R"({{"zero_optimization": {{}}, "optimizer": {{"type": "{}"}}}})", adam))
              .notes.empty());
  }
  for (const char* key : {"torch_autocast", "amp"}) {
    CHECK(refusal_of_model(
              fmt::format(R"({{"zero_optimization": {{}}, "{}": {{"enabled": true}}}})", key)) ==
          fmt::format("/{}/enabled: weights in fp32 whose products run in another type are not "
                      "simulated; state bf16 or fp16",
                      key));
  }
  for (const char* key : {"cpu_offload", "cpu_offload_params"}) {
    CHECK(refusal_of_model(fmt::format(R"({{"zero_optimization": {{"{}": true}}}})", key)) ==
          fmt::format("/zero_optimization/{}: optimizer state and parameters on the host are not "
                      "simulated",
                      key));
  }
}

TEST_CASE("DeepSpeed: MiCS are groups of the replicas that make up the batch") {
  const auto config = [](int batch, int size) {
    return fmt::format(R"({{"train_batch_size": {}, "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": 4,
        "zero_optimization": {{"stage": 3, "mics_shard_size": {}}}}})",
                       batch, size);
  };
  CHECK(parse_model_file(config(128, 8)).command.shard_groups == 2);
  CHECK_FALSE(parse_model_file(config(128, -1)).command.shard_groups);
  CHECK(refusal_of_model(config(128, 6)) ==
        "/zero_optimization/mics_shard_size: its groups are those of train_batch_size / "
        "(train_micro_batch_size_per_gpu x gradient_accumulation_steps) replicas, which they must "
        "divide");
}

TEST_CASE("DeepSpeed: what changes the layout and is not simulated is refused by its pointer") {
  const auto with = [](const std::string& more) {
    return R"({"zero_optimization": {"stage": 3}, )" + more + "}";
  };
  for (const auto& [more, refusal] : std::vector<std::pair<std::string, std::string>>{
           {R"("sequence_parallel_size": 4)",
            "/sequence_parallel_size: sequences that are split by heads (Ulysses) are not "
            "simulated"},
           {R"("pipeline": {"stages": 2, "partition": "parameters"})",
            "/pipeline/partition: only \"type:transformer\" is simulated: equally many "
            "transformer layers"},
           {R"("activation_checkpointing": {"cpu_checkpointing": true})",
            "/activation_checkpointing/cpu_checkpointing: checkpoints on the host are not "
            "simulated"},
           {R"("model_parallel": {"size": 2})",
            "/model_parallel: it changes the layout and is not read"}}) {
    CHECK(refusal_of_model(with(more)) == refusal);
  }
  CHECK(refusal_of_model(R"({"zero_optimization": {"stage": 4}})") ==
        "/zero_optimization/stage: 4 is not a whole number from 0 to 3");
  CHECK(refusal_of_model(with(R"("bf16": {"enabled": true}, "fp16": {"enabled": true})")) ==
        "/fp16/enabled: it conflicts with bf16; enable one of them");
  CHECK(refusal_of_model(R"({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}})") ==
        "/zero_optimization/zero_hpz_partition_size: a second copy of the weights inside machines "
        "(hpZ) is not simulated");
  CHECK(
      refusal_of_model(R"({"zero_optimization": {"stage": 3, "zero_quantized_weights": true}})") ==
      "/zero_optimization/zero_quantized_weights: gathers and sums of quantized values are not "
      "simulated");
  CHECK(refusal_of_model(
            R"({"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}})") ==
        "/zero_optimization/offload_param/device: optimizer state and parameters on the host are "
        "not simulated");
}

TEST_CASE("DeepSpeed: what Hugging Face's Trainer fills in is refused where it is read") {
  const std::string why = "\"auto\" is filled in by Hugging Face's Trainer; write its value";
  const auto refusal = [](const std::string& keys) {
    return refusal_of_model(
        R"({"zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"}, )" + keys + "}");
  };
  CHECK(refusal(R"("train_batch_size": "auto")") == "/train_batch_size: " + why);
  CHECK(refusal(R"("bf16": {"enabled": "auto"})") == "/bf16/enabled: " + why);
  CHECK(refusal(R"("gradient_clipping": "auto", "optimizer": {"type": "AdamW", "params":
                   {"lr": "auto"}})") == "accepted");
}

TEST_CASE("a launch file goes under /model/command, and a model under /model/file") {
  const Scratch scratch;
  const std::string config = scratch.file("ds.json", R"({"zero_optimization": {"stage": 3}})");
  const auto refusal = [&](const std::string& model) {
    const std::string text = R"({"penstock": 1, "hardware": {"name": "dgx-h100", "devices": 8},
                                 "model": )" +
                             model + "}";
    return refused_with<InputError>([&] { parse_scenario(text, scratch.path("scenario.json")); });
  };
  const std::string llama = PENSTOCK_ROOT "/experiments/models/llama-3.1-8b.json";
  CHECK(refusal(R"({"file": ")" + config + "\"}")
            .ends_with("this file says how a model is trained but not what it is; it goes under "
                       "/model/command"));
  CHECK(refusal(R"({"file": ")" + llama + R"(", "command": ")" + llama + "\"}")
            .ends_with("a file of the format hf-config states no training; it goes under "
                       "/model/file"));
  CHECK(refusal(R"({"file": ")" + llama + R"(", "command": "ds.json"})") == "accepted");
}

}  // namespace penstock::testing
