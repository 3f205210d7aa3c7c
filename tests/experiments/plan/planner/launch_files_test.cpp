#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/input/scenario/settle_hardware.hpp"
#include "experiments/plan/planner/space/framework.hpp"
#include "experiments/run/layout/launch_of.hpp"
#include "experiments/run/layout/layout.hpp"
#include "hardware_models/links/wiring.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

struct StartedCase {
  std::string model;  // a file, or the text of one
  std::uint32_t devices;
  std::uint32_t global_batch;
  std::vector<std::string> only = {};
  std::vector<std::string> settings = {};
};

constexpr const char* mixtral =
    R"({"model_type": "mixtral", "architectures": ["MixtralForCausalLM"],
  "hidden_size": 1024, "intermediate_size": 3584, "num_hidden_layers": 14, "num_attention_heads": 16,
  "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000,
  "max_position_embeddings": 4096, "tie_word_embeddings": false, "hidden_act": "silu"})";
/// With latent attention, shared experts, layers without experts and one of multi-token prediction.
std::string small_deepseek() {
  nlohmann::json config = nlohmann::json::parse(read_file(shared_model("deepseek-v3.json")));
  config["num_hidden_layers"] = 9;
  config["n_routed_experts"] = 16;
  return config.dump();
}

const std::string llama_model = shared_model("llama-3.1-8b.json");

/// The file that is read back: "layout.sh", "layout.deepspeed.json".
std::string write_files(const Scenario& scenario, const Layout& layout, const Framework& framework,
                        const Scratch& scratch) {
  const auto files = launch_files(launch_of(scenario, layout, "layout"), framework.format);
  for (const LaunchFile& file : files) scratch.file("layout" + file.suffix, file.text);
  return "layout" + files.front().suffix;
}

/// What a launch file leaves to the scenario: the model, the machine, and what prices them.
nlohmann::json scenario_of(const TrainingTask& task, const std::string& command) {
  nlohmann::json document{{"penstock", 1},
                          {"model", {{"file", task.model}, {"command", command}}},
                          {"hardware", {{"name", task.hardware}, {"devices", task.devices}}}};
  if (task.sequence) document["model"]["sequence"] = *task.sequence;
  return document;
}

void check_same(const Layout& back, const Layout& layout) {
  CHECK(back.partition.stages == layout.partition.stages);
  CHECK(back.schedule == layout.schedule);
  CHECK(back.shape == layout.shape);
  CHECK(back.microbatches == layout.microbatches);
  CHECK(back.degrees.data == layout.degrees.data);
  CHECK(back.degrees.scatters == layout.degrees.scatters);
  CHECK(back.degrees.overlaps_experts == layout.degrees.overlaps_experts);
  CHECK(back.degrees.overlaps_shared == layout.degrees.overlaps_shared);
  CHECK(back.degrees.narrow_gathers == layout.degrees.narrow_gathers);
  CHECK(back.memory.zero == layout.memory.zero);
  CHECK(back.memory.shard_groups == layout.memory.shard_groups);
  CHECK(back.recompute.mode == layout.recompute.mode);
  CHECK(back.recompute.layers == layout.recompute.layers);
  CHECK(back.recompute.together == layout.recompute.together);
}

/// What the layouts of a task share: files that scenarios name, the machine and its links.
struct Shared {
  KnownSections known;
  MachinesByName machines{1};
  std::shared_ptr<Clusters> clusters = std::make_shared<Clusters>();

  Layout settled(const Scenario& scenario) {
    return settle(scenario,
                  {.catalogue = &catalogue(), .machines = &machines, .clusters = clusters});
  }
};

void check_layout(const TrainingTask& task, const JudgedLayout& judged, Shared& shared) {
  CAPTURE(text_of(judged.choice));
  const Scratch scratch;
  const Scenario scenario = scenario_from(
      nlohmann::json::parse(layout_document(task, judged.choice)), task.source, shared.known);
  const Layout layout = shared.settled(scenario);
  const std::string command = write_files(scenario, layout, *task.framework, scratch);
  const Scenario back = scenario_from(scenario_of(task, command), scratch.path("back.json"));
  check_same(shared.settled(back), layout);
  const Trial trial = try_layout(back, catalogue(), shared.clusters);
  CHECK(trial.refusal == "");
  CHECK(trial.makespan == judged.trial.makespan);
  CHECK(trial.peak_bytes == judged.trial.peak_bytes);
}

/// Returns how many layouts of a framework were written and read.
std::size_t check_read_back(const StartedCase& one, const std::string& framework) {
  CAPTURE(framework);
  const Scratch scratch;
  const bool is_text = one.model.starts_with("{");
  TrainingTask task =
      read_task({.model = is_text ? scratch.file("model.json", one.model) : one.model,
                 .hardware = "dgx-h100",
                 .devices = one.devices,
                 .global_batch = one.global_batch,
                 .settings = one.settings});
  set_framework(framework_of(framework), catalogue(), task);
  const LayoutPlan plan =
      planned(task, {.space = {.only = Restrictions(one.only),
                               .partitions = {"even", "even_with_ends", "balanced", "simulated"}},
                     .best = 6});
  Shared shared;
  for (const JudgedLayout& judged : plan.fitting) check_layout(task, judged, shared);
  return plan.fitting.size();
}

/// The first file of a framework for a layout.
LaunchFile first_file(const TrainingTask& task, const LayoutChoice& choice,
                      const std::string& framework) {
  return launch_files_beside("layout.json", layout_document(task, choice),
                             framework_of(framework)->format)
      .front();
}

/// That for two replicas of two devices each.
LaunchFile started(const std::string& model, const std::string& framework,
                   const std::vector<std::string>& settings = {}, std::uint32_t zero = 0) {
  const Scratch scratch;
  const TrainingTask task = read_task({.model = scratch.file("model.json", model),
                                       .hardware = "dgx-h100",
                                       .devices = 4,
                                       .settings = settings});
  return first_file(task, {.tensor = 2, .data = 2, .zero = zero}, framework);
}

std::string started_text(const std::string& model, const std::string& framework,
                         const std::vector<std::string>& settings = {}) {
  return started(model, framework, settings).text;
}

}  // namespace

TEST_CASE("launch files: every layout of a framework is the same scenario when read back") {
  std::size_t read = 0;
  for (const char* framework : {"megatron", "torchtitan", "deepspeed"}) {
    for (const StartedCase& one :
         {StartedCase{llama_model, 16, 64, {"/parallel/pipeline=1"}},
          StartedCase{llama_model, 12, 48, {"/parallel/pipeline=2,3,4"}},
          StartedCase{llama_model, 16, 64, {"/parallel/pipeline=4,/parallel/tensor=2"}},
          StartedCase{mixtral, 16, 64, {"/parallel/pipeline=1,2"}},
          StartedCase{mixtral, 16, 64, {"/parallel/tensor=2,/recompute/mode=full"}}}) {
      read += check_read_back(one, framework);
    }
  }
  CHECK(read > 60);
}

TEST_CASE(
    "launch files: Megatron-LM gets operators, layers, overlap and types that settings state") {
  const std::string few =
      "/recompute/mode=full,/parallel/pipeline=2,/model/microbatch=1,/memory/zero=1";
  std::size_t read = 0;
  for (const StartedCase& one :
       {StartedCase{mixtral,
                    16,
                    64,
                    {"/recompute/mode=selective", "/parallel/overlap_experts=true"},
                    {R"(/recompute/operators=["norm","moe_activation"])"}},
        StartedCase{mixtral, 4, 16, {few, "/recompute/layers=1"}},
        StartedCase{mixtral, 4, 16, {few}, {"/recompute/together=2"}},
        StartedCase{llama_model, 8, 64, {"/offload/layers=4"}},
        StartedCase{mixtral, 8, 16, {"/parallel/tensor=2"}, {"/model/dtype=fp8"}},
        StartedCase{
            llama_model,
            8,
            64,
            {"/memory/zero=1", "/parallel/tensor=2"},
            {"/model/dtype=fp8", "/model/fp8_attention=true", "/parallel/narrow_gathers=true"}},
        StartedCase{small_deepseek(),
                    16,
                    32,
                    {"/parallel/expert=8", "/parallel/overlap_experts=false"},
                    {"/parallel/overlap_shared_expert=true"}},
        StartedCase{mixtral, 8, 16, {"/parallel/pipeline=2"}, {"/parallel/scatter_gather=true"}},
        StartedCase{mixtral, 8, 16, {"/parallel/expert=8"}, {"/parallel/dispatcher=alltoall"}},
        StartedCase{mixtral,
                    8,
                    16,
                    {"/parallel/data=4"},
                    {"/parallel/overlap_sums=false", "/parallel/overlap_gathers=false"}},
        StartedCase{small_deepseek(), 16, 32, {"/parallel/pipeline=2,4,/recompute/mode=full"}}}) {
    read += check_read_back(one, "megatron");
  }
  CHECK(read > 25);
}

TEST_CASE("launch files: Megatron-LM overlaps the reduction of gradients where the scenario does") {
  for (const char* overlaps : {"true", "false"}) {
    const TrainingTask task =
        llama_task({.devices = 8, .settings = {std::string("/parallel/overlap_sums=") + overlaps}});
    const std::string text = first_file(task, {.data = 8, .zero = 1}, "megatron").text;
    CHECK(says(text, "--overlap-grad-reduce") == (std::string(overlaps) == "true"));
  }
}

TEST_CASE("launch files: DeepSpeed gets SGD, and that sums are not overlapped") {
  for (const char* setting :
       {"/memory/optimizer=sgd", "/memory/optimizer=momentum", "/parallel/overlap_sums=false"}) {
    const StartedCase one{llama_model, 16, 64, {"/parallel/pipeline=2"}, {setting}};
    CHECK(check_read_back(one, "deepspeed") > 2);
  }
}

TEST_CASE("launch files: each framework gets the groups of replicas that shard on their own") {
  for (const auto& [framework, zero, said] :
       {std::tuple{"megatron", "1", "--num-distributed-optimizer-instances 2"},
        std::tuple{"torchtitan", "2,3", "--parallelism.data_parallel_replicate_degree 2"},
        std::tuple{"deepspeed", "3", "\"mics_shard_size\": 2"}}) {
    const std::string zeros = std::string("/memory/zero=") + zero;
    for (const std::string& model : {llama_model, std::string(mixtral)}) {
      const StartedCase one{
          model, 16, 64, {zeros, "/parallel/data=4,8,16"}, {"/memory/shard_groups=2"}};
      CHECK(check_read_back(one, framework) > 0);
    }
    const TrainingTask task = llama_task({.devices = 4, .settings = {"/memory/shard_groups=2"}});
    const auto level = static_cast<std::uint32_t>(zero[0] - '0');
    CHECK(says(first_file(task, {.data = 4, .zero = level}, framework).text, said));
  }
}

TEST_CASE("launch files: Megatron-LM gets what it asks of experts and of tensor groups") {
  const std::string text = started_text(mixtral, "megatron");
  CHECK(says(text, "--moe-token-dispatcher-type flex"));
  CHECK(says(text, "--moe-grouped-gemm"));
  CHECK(says(started_text(mixtral, "megatron", {"/parallel/dispatcher=alltoall"}),
             "--moe-token-dispatcher-type alltoall"));
  CHECK(says(text, "\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun "));
}

TEST_CASE("launch files: Megatron-LM gets positions and norms of a config, or what it lacks") {
  nlohmann::json config = nlohmann::json::parse(mixtral);
  config["rope_theta"] = 500000.0;
  config["rms_norm_eps"] = 1e-5;
  config["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 32.0}};
  const std::string text = started_text(config.dump(), "megatron");
  for (const char* argument : {"--rotary-base 500000", "--norm-epsilon 1e-05", "--use-rope-scaling",
                               "--rope-scaling-factor 32"}) {
    CAPTURE(argument);
    CHECK(says(text, argument));
  }
  CHECK_FALSE(says(text, "# No argument"));
  config["rope_scaling"] = {{"type", "yarn"}, {"factor", 4.0}};
  const std::string yarn = started_text(config.dump(), "megatron");
  CHECK(says(yarn, "# No argument says: rope_scaling yarn\n"));
  CHECK_FALSE(says(yarn, "--use-rope-scaling"));
}

TEST_CASE("launch files: Megatron-LM gets rotary shares and latent norms; activations are named") {
  nlohmann::json config = nlohmann::json::parse(mixtral);
  config["partial_rotary_factor"] = 0.75;
  config["hidden_act"] = "gelu_pytorch_tanh";
  const std::string gelu = started_text(config.dump(), "megatron");
  CHECK(says(gelu, "--rotary-percent 0.75"));
  CHECK(says(gelu, "# No argument says: hidden_act gelu_pytorch_tanh\n"));
  config = nlohmann::json::parse(small_deepseek());
  config["scoring_func"] = "sigmoid";
  config["rope_scaling"] = {{"type", "yarn"}, {"factor", 40.0}};
  const std::string latent = started_text(config.dump(), "megatron");
  CHECK(says(latent, "--multi-latent-attention \\\n  --qk-layernorm"));
  CHECK(says(latent, "# No argument says: rope_scaling yarn\n"));
}

TEST_CASE("launch files: Megatron-LM gathers weights in the type of their products") {
  for (const auto& [dtype, gather] :
       {std::pair{"mxfp8", "--fp8-param-gather"}, {"nvfp4", "--fp4-param-gather"}}) {
    CAPTURE(dtype);
    const TrainingTask task = llama_task(
        {.hardware = "dgx-b200",
         .devices = 4,
         .settings = {std::string("/model/dtype=") + dtype, "/parallel/narrow_gathers=true"}});
    CHECK(says(first_file(task, {.data = 4, .zero = 1}, "megatron").text, gather));
  }
}

TEST_CASE("launch files: a command names what none of its arguments says") {
  const char* const sums = "/parallel/overlap_sums=false";
  CHECK(says(started_text(mixtral, "torchtitan", {sums, "/memory/optimizer=sgd"}),
             "# No argument says: /memory/optimizer=sgd; /parallel/overlap_sums=false\n"));
  CHECK(says(started_text(mixtral, "torchtitan", {"/model/dtype=fp8", "/model/fp8_attention=true"}),
             "# No argument says: /model/fp8_attention=true\n"));
}

TEST_CASE("launch files: precision and optimizer that no argument states are named") {
  const std::vector<std::string> settings{"/memory/precision=fp32", "/memory/optimizer=none"};
  CHECK(says(started_text(mixtral, "megatron", settings),
             "# No argument says: /memory/precision=fp32; /memory/optimizer=none\n"));
  CHECK(says(started_text(mixtral, "torchtitan", settings),
             "# No argument says: /memory/optimizer=none; /memory/precision=fp32\n"));
  using Names = std::vector<std::string>;
  CHECK(started(mixtral, "deepspeed", settings).left_out ==
        Names{"/memory/precision=fp32", "/memory/optimizer=none"});
  const std::string gathers = "/parallel/overlap_gathers=";
  CHECK(started(mixtral, "deepspeed", {gathers + "false"}, 1).left_out == Names{gathers + "false"});
  CHECK(started(mixtral, "deepspeed", {}, 1).left_out.empty());
  CHECK(says(
      started_text(mixtral, "megatron",
                   {R"(/memory/bytes_per_parameter={"parameter":2,"gradient":2,"optimizer":8})"}),
      "# No argument says: /memory/bytes_per_parameter\n"));
}

TEST_CASE("launch files: torchtitan compiles unless the stack is the eager one") {
  CHECK(says(started_text(mixtral, "torchtitan"), "--compile.enable"));
  CHECK_FALSE(says(started_text(mixtral, "torchtitan", {"/hardware/stack=fsdp-eager"}),
                   "--compile.enable"));
  const StartedCase one{
      llama_model, 16, 64, {"/parallel/pipeline=1,2"}, {"/hardware/stack=fsdp-eager"}};
  CHECK(check_read_back(one, "torchtitan") > 0);
}

TEST_CASE("launch files: torchtitan gets the CSV of an order that it has no name for") {
  const StartedCase one{
      llama_model, 16, 64, {"/schedule/name=zb-h1,eager-1f1b,/parallel/pipeline=4"}};
  CHECK(check_read_back(one, "torchtitan") > 4);
}

}  // namespace penstock::testing
