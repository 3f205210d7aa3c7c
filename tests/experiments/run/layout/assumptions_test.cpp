#include <doctest/doctest.h>

#include <string>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/training.hpp"
#include "sim/base/error.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock::testing {
namespace {

const std::string small_command =
    "python pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
    "--seq-length 32 --max-position-embeddings 32 --micro-batch-size 1 --global-batch-size 8 "
    "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 1 --vocab-size 128 --bf16\n";

Layout layout_by_command(const std::vector<std::string>& settings) {
  const Scratch scratch;
  const std::string path = scratch.file("train.sh", small_command);
  const std::string text = R"({"model": {"file": ")" + path + R"("}})";
  return settle(parse_scenario(text, "s.json", settings));
}

std::string all_notes(const Layout& layout) {
  std::string text;
  for (const std::string& note : layout.notes) text += note + "\n";
  return text;
}

/// A dense model on a machine.
Layout dense_on(const std::string& hardware, const std::vector<std::string>& settings = {}) {
  const std::string text = R"({
    "model": {"sequence": 32, "layers": [{"kind": "mlp", "hidden": 64, "intermediate": 128, "repeat": 2}]},
    "hardware": )" + hardware +
                           R"(,
    "parallel": {"pipeline": 2}, "schedule": {"name": "1f1b", "microbatches": 4}})";
  return settle(parse_scenario(text, "s.json", settings));
}

bool notes_have(const Layout& layout, const std::string& text) {
  return says(all_notes(layout), text);
}

}  // namespace

TEST_CASE("data replicas that a command leaves open follow from the devices, or are one") {
  const std::string hardware = R"(/hardware={"name": "dgx-a100", "devices": 8})";
  const Layout eight = layout_by_command({hardware});
  CHECK(eight.degrees.data == 4);
  CHECK(notes_have(eight, "data = 4: 8 devices over 2 per copy of the pipeline"));
  CHECK(notes_have(layout_by_command({R"(/hardware={"name": "dgx-a100"})"}),
                   "data = 1 is assumed, since the command states no number of devices; set "
                   "/hardware/devices or /parallel/data"));
  CHECK_FALSE(notes_have(layout_by_command({hardware, "/parallel/data=4"}), "data = "));
}

TEST_CASE("a command that states no examples of a microbatch is refused") {
  const Scratch scratch;
  const std::string path =
      scratch.file("train.sh", replaced(small_command, "--micro-batch-size 1 ", ""));
  const std::string text =
      R"({"hardware": {"name": "dgx-a100"}, "model": {"file": ")" + path + R"("}})";
  CHECK(refused_with<InputError>([&] { settle(parse_scenario(text, "s.json")); }) ==
        "s.json: /model/microbatch: the command states no examples of a microbatch: add "
        "--micro-batch-size "
        "or train_micro_batch_size_per_gpu there, or give them here");
  CHECK(settle(parse_scenario(text, "s.json", {"/model/microbatch=2"})).microbatches == 4);
}

TEST_CASE("the sizes of a layout count all degrees") {
  const Layout layout = layout_by_command({R"(/hardware={"name": "dgx-a100", "devices": 8})"});
  CHECK(devices_of(layout) == 8);
  CHECK(chunks_of(layout) == 1);
  CHECK(layout.microbatches == 2);
  CHECK(global_batch_of(layout) == 8);
}

TEST_CASE("what is gathered at a time has no effect in groups of one replica, which is noted") {
  const auto notes_of = [](const std::string& setting, const std::string& groups) {
    return all_notes(dense_on(R"({"name": "dgx-h100"})",
                              {"/parallel/data=4", "/memory/zero=3",
                               "/memory/shard_groups=" + groups, "/memory/" + setting}));
  };
  for (const char* setting : {"gathered_bytes=5000", "prefetch_layers=1"}) {
    CHECK(
        says(notes_of(setting, "4"), "/memory/gathered_bytes and prefetch_layers have no effect"));
    CHECK_FALSE(says(notes_of(setting, "2"), "prefetch_layers"));
  }
}

TEST_CASE(
    "a partitioner that is named for stages that are given has nothing to cut, which is noted") {
  const auto stages_with = [](const std::string& name) {
    return settle(parse_scenario(scenario_plain, "s.json", {"/partition/name=" + name}));
  };
  CHECK(notes_have(stages_with("balanced"),
                   "the model's stages are given, so \"balanced\" has nothing to cut; give "
                   "/model/layers for a cut"));
  CHECK_FALSE(notes_have(stages_with("even"), "has nothing to cut"));
}

TEST_CASE("experts of a dense model are refused") {
  CHECK_THROWS_WITH_AS(
      dense_on(R"({"name": "dgx-a100"})", {"/parallel/expert=8"}),
      "s.json: /parallel/expert: it is 8, but no layer of the model has experts; leave it out",
      InputError);
}

TEST_CASE("experts of layers that state their costs are refused") {
  const auto timed = [](const std::vector<std::string>& settings) {
    return settle(parse_scenario(scenario_plain, "s.json", settings));
  };
  CHECK_THROWS_WITH_AS(
      timed({"/parallel/expert=4"}),
      "s.json: /parallel/expert: it is 4, but layers that state their costs have no experts; leave "
      "it out",
      InputError);
  CHECK_THROWS_WITH_AS(timed({"/parallel/tensor=2", "/parallel/expert_tensor=1"}),
                       "s.json: /parallel/expert_tensor: it is 1, but layers that state their "
                       "costs have no experts; "
                       "leave it out",
                       InputError);
  CHECK_FALSE(notes_have(timed({"/parallel/expert_tensor=null"}), "expert"));
}

TEST_CASE("a device without units of the model's precision is noted with the peak that counts") {
  CHECK(notes_have(dense_on(R"({"name": "dgx-1"})"),
                   "v100-sxm2-16gb has no bf16 units: matrix products are priced, and MFU is "
                   "counted, at its fp16 peak of 120 TFLOP/s"));
  CHECK(notes_have(dense_on(R"({"name": "dgx-1-p100"})"), "p100-sxm2-16gb has no bf16 units: "));
  CHECK_FALSE(notes_have(dense_on(R"({"name": "dgx-a100"})"), "has no bf16 units"));
}

TEST_CASE("a device without an efficiency is noted as priced at its full peak") {
  const Scratch scratch;
  const std::string path = scratch.file("mine.json", R"({"penstock": 1, "is": "device",
    "name": "mine", "summary": "one", "memory_bytes": {"value": 1e10, "source": "x"},
    "memory_bandwidth_bytes_per_s": {"value": 1e12, "source": "x"},
    "peak_flops": {"bf16": {"value": 1e14, "source": "x"}}})");
  const std::string hardware = R"({"file": ")" + path + R"(", "bandwidth_bytes_per_s": "1GB/s"})";
  const std::string note = "mine has no matrix_efficiency: ";
  CHECK(notes_have(dense_on(hardware), note));
  CHECK_FALSE(notes_have(dense_on(hardware, {"/hardware/efficiency=0.5"}), note));
}

/// Notes on two stages that state their times, with the recomputation of `section`.
std::string notes_with(const std::string& section, const std::string& stage,
                       const std::vector<std::string>& settings = {}) {
  const std::string text = R"({"model": {"stages": [)" + stage + ", " + stage +
                           R"(]}, "hardware": {"name": "ideal", "devices": 2},
    "recompute": )" + section +
                           R"(, "schedule": {"name": "gpipe", "microbatches": 4}})";
  return all_notes(settle(parse_scenario(text, "s.json", settings)));
}

TEST_CASE("notes: a stage that is recomputed in no time, and what the codec leaves as it is") {
  const std::string timed = R"({"forward_us": 10, "backward_us": 20, "stash_bytes": 100,
                                "recomputed_bytes": 1000, "recompute_us": 5})";
  const std::string free = R"({"forward_us": 10, "backward_us": 20, "recomputed_bytes": 1000})";
  const std::vector<std::string> coded{R"(/codec={"stash": "bfp", "encode_bytes_per_s": 1e9,
                                         "decode_bytes_per_s": 1e9})"};
  CHECK(says(notes_with(R"({"mode": "full"})", free),
             "/model/stages/0 is recomputed in no time: it states no recompute_us"));
  CHECK(notes_with(R"({"mode": "full"})", timed, coded).empty());
  for (const char* some : {R"({"mode": "except_last"})", R"({"microbatches": [[0], []]})"}) {
    CAPTURE(some);
    CHECK(notes_with(some, timed).empty());
    CHECK(says(notes_with(some, timed, coded), "the codec packs what recomputed"));
  }
  CHECK(notes_with(R"({"mode": "none"})", free, coded).empty());
}

TEST_CASE("notes: what is asked for and has no effect") {
  const std::string plain = R"({"forward_us": 10, "backward_us": 20})";
  CHECK(
      notes_with(R"({"mode": "full"})", plain) ==
      "/recompute/mode has no effect: no layer has anything to recompute; layers that state their "
      "times need recompute_us\n");
  CHECK(notes_with("{}", plain, {"/schedule/overlap=fused"}) ==
        "/schedule/overlap=fused has no effect: the order has no overlap cells\n");
  CHECK(notes_with("{}", plain).empty());
}

}  // namespace penstock::testing
