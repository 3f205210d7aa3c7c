#include "experiments/plan/planner/space/framework.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/plan/planner/framework_gain.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"
#include "sim/base/error.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

/// The rows of a table of a paper, by column.
std::vector<Row> rows_of(const std::string& name) {
  std::istringstream stream(read_file(PENSTOCK_ROOT "/experiments/papers/" + name));
  std::vector<std::string> columns;
  std::vector<Row> rows;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string> cells = split(line);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[columns[i]] = cells[i];
  }
  return rows;
}

std::uint32_t number(const Row& row, const char* column) {
  return static_cast<std::uint32_t>(std::stoul(row.at(column)));
}

const char* why_not_published(const Row& row) {
  TrainingTask task{.layers = number(row, "layers"), .sequence = number(row, "seq")};
  task.blocks = task.layers + 2;
  if (number(row, "ep") > 1) task.experts = number(row, "ep");
  const std::uint32_t chunks = number(row, "vp");
  const LayoutChoice choice{.tensor = number(row, "tp"),
                            .pipeline = number(row, "pp"),
                            .expert = number(row, "ep"),
                            .data = number(row, "dp"),
                            .chunks = chunks,
                            .microbatch = number(row, "mbs"),
                            .microbatches = number(row, "m"),
                            .zero = number(row, "zero"),
                            .schedule = chunks > 1 ? "interleaved-1f1b" : "1f1b",
                            .context = number(row, "cp"),
                            .sequence_parallel = row.at("sequence") == "1"};
  task.framework = framework_of("megatron");
  const OrderChoice order{
      .rule =
          *std::find_if(schedule_entries().begin(), schedule_entries().end(),
                        [&](const ScheduleEntry* entry) { return entry->name == choice.schedule; }),
      .chunks = chunks};
  if (const char* why = why_no_order(task, choice, order)) return why;
  return why_not_in(*task.framework, task, choice);
}

}  // namespace

TEST_CASE("frameworks: Megatron-LM runs what NVIDIA publishes, but for FSDP") {
  std::size_t legal = 0;
  for (const char* table : {"megatron_bridge/dense.csv", "megatron_bridge/moe.csv"}) {
    for (const Row& row : rows_of(table)) {
      const char* why = why_not_published(row);
      CAPTURE(row.at("model"));
      CAPTURE(row.at("pp"));
      CAPTURE((why == nullptr ? "" : why));
      const bool fsdp = number(row, "zero") > 1;
      CHECK((why == nullptr) != fsdp);
      if (why == nullptr) ++legal;
    }
  }
  CHECK(legal > 50);
}

TEST_CASE("frameworks: 405B in 128 stages has embedding and head as layers of the cut") {
  const Row row{{"layers", "126"}, {"seq", "8192"}, {"tp", "4"},   {"pp", "16"},
                {"vp", "8"},       {"cp", "1"},     {"dp", "4"},   {"ep", "1"},
                {"mbs", "1"},      {"m", "384"},    {"zero", "1"}, {"sequence", "1"}};
  CHECK(why_not_published(row) == nullptr);
  Row other = row;
  other["vp"] = "9";
  CHECK(std::string(why_not_published(other)) == "more stages than layers, embedding and head");
  other = row;
  other["m"] = "40";
  CHECK(std::string(why_not_published(other)) ==
        "megatron: interleaving needs microbatches that divide by the pipeline");
}

namespace {

TrainingTask llama_in(const char* framework, std::uint32_t devices) {
  TrainingTask task = llama_task({.devices = devices, .global_batch = 64});
  set_framework(framework_of(framework), catalogue(), task);
  return task;
}

/// Whether a space excludes layouts by a rule.
bool excludes(const LayoutSpace& space, const std::string& rule) {
  return std::any_of(space.excluded.begin(), space.excluded.end(),
                     [&](const Exclusion& one) { return one.rule == rule && one.layouts > 0; });
}

}  // namespace

TEST_CASE("frameworks: a rule that excludes a layout is counted, and the rest is legal") {
  const std::map<std::string, std::vector<std::string>> rules{
      {"megatron",
       {"megatron does not run the schedule", "megatron does not recompute so",
        "megatron: the distributed optimizer is ZeRO-1"}},
      {"torchtitan",
       {"torchtitan does not run the schedule", "torchtitan: FSDP is ZeRO-2 or ZeRO-3",
        "torchtitan: whole replicas (DDP) go alone", "torchtitan does not cut so",
        "torchtitan: no number of layers per stage gives this many stages"}},
      {"deepspeed",
       {"deepspeed: tensor groups do not shard norms",
        "deepspeed: a pipeline runs with ZeRO-0 and ZeRO-1", "deepspeed does not cut so",
        "deepspeed: splits sequences by heads, which is not simulated"}}};
  for (const auto& [name, texts] : rules) {
    const TrainingTask task = llama_in(name.c_str(), 16);
    const LayoutSpace space =
        space_of(task, {.only = {}, .partitions = {"even", "even_with_ends"}});
    CHECK(space.legal > 0);
    for (const std::string& rule : texts) {
      CAPTURE(rule);
      CHECK(excludes(space, rule));
    }
  }
}

TEST_CASE("frameworks: overlap and partial recomputation are not the same everywhere") {
  const auto why = [&](const char* framework, const LayoutChoice& choice) {
    const char* text = why_not_in(*framework_of(framework), llama_in(framework, 16), choice);
    return std::string(text == nullptr ? "" : text);
  };
  const LayoutChoice plain{.data = 16, .microbatch = 1, .microbatches = 4};
  LayoutChoice hides = plain, fused = plain, some = plain;
  hides.hides_experts = fused.fused = true;
  some.recompute = "full";
  CHECK(why("deepspeed", some) == "");
  some.layers = 2;
  CHECK(why("megatron", plain) == "");
  CHECK(why("megatron", hides) == "");
  CHECK(why("megatron", some) == "");
  CHECK(why("megatron", fused) == "megatron does not overlap so");
  CHECK(why("deepspeed", hides) == "deepspeed does not overlap so");
  CHECK(why("deepspeed", some) == "deepspeed does not recompute so");
  LayoutChoice offloads = plain;
  offloads.offloaded_layers = 2;
  CHECK(why("torchtitan", offloads) == "torchtitan does not offload layers");
  offloads.pipeline = 1;
  CHECK(why("megatron", offloads) == "");
  offloads.offloaded_layers = 32;
  CHECK(why("megatron", offloads) == "megatron: one layer at least is not offloaded");
  offloads.pipeline = 2;
  CHECK(why("megatron", offloads) == "megatron: layers are offloaded without a pipeline alone");
}

TEST_CASE("frameworks: Megatron-LM's context groups take no window, and ZeRO-1 Adam alone") {
  const Framework& megatron = *framework_of("megatron");
  const auto why = [](const char* text) { return std::string(text == nullptr ? "" : text); };
  TrainingTask task{.window = 4096, .sequence = 8192};
  CHECK(why(megatron.why_no_degrees(task, {.context = 1})) == "");
  CHECK(why(megatron.why_no_degrees(task, {.context = 2})) ==
        "megatron: attention with a window is not split over context groups");
  task.sequence = 4096;  // the window hides nothing
  CHECK(why(megatron.why_no_degrees(task, {.context = 2})) == "");
  CHECK(why(megatron.why_no_zero(task, {}, 1)) == "");
  task.optimizer = Optimizer::momentum;
  CHECK(why(megatron.why_no_zero(task, {}, 0)) == "");
  CHECK(why(megatron.why_no_zero(task, {}, 1)) == "megatron: the distributed optimizer is Adam");
  const TrainingTask read = llama_task({.devices = 8, .settings = {"/memory/optimizer=sgd"}});
  CHECK(read.window == 0);
  CHECK(read.optimizer == Optimizer::sgd);
}

TEST_CASE("frameworks: a tensor group shares tokens, and with torchtitan also keys and values") {
  const Framework& titan = *framework_of("torchtitan");
  const LayoutChoice choice{.tensor = 4, .context = 2, .sequence_parallel = true};
  const auto why = [&](std::uint64_t key_heads, std::uint32_t sequence) {
    TrainingTask task{.heads = 32, .key_heads = key_heads, .sequence = sequence};
    const char* text = titan.why_no_degrees(task, choice);
    return std::string(text == nullptr ? "" : text);
  };
  CHECK(why(8, 4112) == "");  // 16 × 257: each half of a context group has 4 × 257
  CHECK(why(0, 4112) == "");  // latent attention has no heads of its own for keys
  CHECK(why(2, 4112) == "torchtitan: tensor degree does not divide the key and value heads");
  CHECK(why(8, 4104) ==
        "torchtitan: the sequence does not divide by twice the context and tensor degrees");
  TrainingTask task = llama_in("megatron", 8);
  CHECK(task.key_heads == 8);
  task.sequence = 4104;
  const LayoutChoice groups{.tensor = 4, .context = 2};
  CHECK(sequence_choices(task, groups, {}) == std::vector<bool>{true, false});
  task.sequence = 4100;
  CHECK(sequence_choices(task, groups, {}) == std::vector<bool>{false});
  task.framework = nullptr;
  CHECK(sequence_choices(task, groups, {}) == std::vector<bool>{false});
}

TEST_CASE("frameworks: no layout of a plan breaks a rule, and one line says what others gain") {
  for (const Framework& framework : frameworks()) {
    const TrainingTask task = llama_in(std::string(framework.name).c_str(), 16);
    const PlannerOptions options{.space = {.only = Restrictions({"/parallel/pipeline=4"}),
                                           .partitions = split_names(framework.cuts)},
                                 .best = 8};
    const LayoutPlan plan = planned(task, options);
    for (const JudgedLayout& one : plan.fitting) {
      CHECK(why_not_in(framework, task, one.choice) == nullptr);
    }
    const auto gain = framework_gain(plan, catalogue(), options);
    REQUIRE(gain);
    REQUIRE(!plan.fitting.empty());
    if (!gain->best) {
      CHECK(framework.name == "torchtitan");
      CHECK(gain_text(plan, gain) == "no layout that torchtitan cannot run is faster\n");
      continue;
    }
    CHECK(why_not_in(framework, task, gain->best->choice) == gain->why);
    CHECK(*gain->share > 0);
    CHECK(gain->why.starts_with(framework.name));
    CHECK(says(gain_text(plan, gain), "; a layout beyond that would gain "));
  }
}

TEST_CASE("frameworks: scenarios name the stack of the framework's kernels unless they state one") {
  const auto stack = [](const char* framework, const TrainingRequest& request) {
    TrainingTask task = llama_task(request);
    set_framework(framework_of(framework), catalogue(), task);
    const auto document = nlohmann::json::parse(layout_document(task, {.data = 8}));
    return document["hardware"].value("stack", "");
  };
  CHECK(stack("torchtitan", {.devices = 8}) == "fsdp-compiled");
  CHECK(stack("deepspeed", {.devices = 8}) == "fsdp-eager");
  CHECK(stack("megatron", {.devices = 8}) == "megatron-bridge-2025");
  CHECK(stack("torchtitan", {.hardware = "gb200-nvl72", .devices = 8}) == "megatron-bridge-2025");
  CHECK(stack("torchtitan", {.devices = 8, .settings = {"/hardware/stack=xla"}}) == "xla");
  CHECK(stack("torchtitan", {.devices = 8, .settings = {"/hardware/efficiency=0.5"}}).empty());
  const std::string whole = R"(/hardware={"name":"dgx-h100","devices":8})";
  CHECK(stack("torchtitan", {.devices = 8, .settings = {whole}}) == "fsdp-compiled");
  CHECK(stack("torchtitan", {.devices = 8, .changes = {"/hardware/stack=xla"}}) == "xla");
}

TEST_CASE("frameworks: DeepSpeed's gradients are bf16 unless settings or changes say otherwise") {
  const auto gradients = [](const TrainingRequest& request) {
    TrainingTask task = llama_task(request);
    set_framework(framework_of("deepspeed"), catalogue(), task);
    const auto document = nlohmann::json::parse(layout_document(task, {.data = 8}));
    return document["memory"].value("gradients", "");
  };
  const std::string bytes =
      R"(/memory/bytes_per_parameter={"parameter":2,"gradient":2,"optimizer":12})";
  CHECK(gradients({.devices = 8}) == "bf16");
  CHECK(gradients({.devices = 8, .settings = {bytes}}) == "");
  CHECK(gradients({.devices = 8, .changes = {bytes}}) == "");
  CHECK(gradients({.devices = 8, .settings = {"/memory/precision=fp32"}}) == "");
  CHECK(gradients({.devices = 8, .settings = {"/memory/optimizer=sgd,/memory/gradients=fp32"}}) ==
        "fp32");
  CHECK(gradients({.devices = 8, .settings = {R"(/memory={"optimizer":"sgd"})"}}) == "bf16");
}

TEST_CASE("frameworks: codecs, offloading and layers by times are refused with the remedy") {
  const Framework& megatron = *framework_of("megatron");
  CHECK_THROWS_WITH_AS(refuse_codecs(megatron, {.only = {}, .lossy = true}),
                       "--lossy: megatron has no codecs and no offloading by activation; leave it "
                       "out, or give --for any",
                       UsageError);
  CHECK_NOTHROW(refuse_codecs(megatron, {.only = Restrictions({"/parallel/pipeline=2"})}));
  CHECK_NOTHROW(refuse_codecs(megatron, {.only = {}, .offloads = true}));
  CHECK_THROWS_WITH_AS(refuse_codecs(*framework_of("torchtitan"), {.only = {}, .offloads = true}),
                       "--offload: torchtitan has no codecs and no offloading by activation or by "
                       "layer; leave it out, or give --for any",
                       UsageError);
  TrainingTask task = llama_task({.devices = 8});
  CHECK_NOTHROW(set_framework(&megatron, catalogue(), task));
  task.dtype = "nvfp4";
  CHECK_THROWS_WITH_AS(set_framework(framework_of("deepspeed"), catalogue(), task),
                       "--for deepspeed: it does not train in nvfp4; /model/dtype may be bf16, "
                       "fp16, fp32",
                       UsageError);
  task.by_kind = false;  // layers by times
  CHECK_THROWS_AS(set_framework(&megatron, catalogue(), task), UsageError);
}

}  // namespace penstock::testing
