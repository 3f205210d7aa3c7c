#include "experiments/run/layout/modules.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/module_report.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

using Settings = std::vector<std::string>;

/// An encoder of pictures before a decoder, by kinds of layers, on a machine.
const std::string by_kind = R"({
  "model": {"sequence": 512, "microbatch": 2, "layers": [
    {"module": "vision", "kind": "patches", "hidden": 256, "channels": 3, "patch": 16, "frames": 1, "tokens": 1024},
    {"module": "vision", "kind": "vision_block", "hidden": 256, "heads": 4, "intermediate": 1024, "tokens": 1024, "repeat": 4},
    {"module": "vision", "kind": "merger", "hidden": 256, "out": 512, "tokens": 1024},
    {"kind": "picture_embedding", "vocab": 1024, "hidden": 512, "pictures": 256},
    {"parts": [{"kind": "attention", "hidden": 512, "heads": 8},
               {"kind": "mlp", "hidden": 512, "intermediate": 2048}], "repeat": 8},
    {"kind": "head", "vocab": 1024, "hidden": 512}]},
  "hardware": {"name": "dgx-h100"},
  "parallel": {"pipeline": 4, "tensor": 2, "data": 2},
  "schedule": {"name": "1f1b", "microbatches": 16}})";

RunResult run_with(const Settings& settings) {
  return run(parse_scenario(by_kind, "s.json", settings));
}

Layout layout_with(const Settings& settings) {
  return settle(parse_scenario(by_kind, "s.json", settings));
}

std::string module_refusal(const Settings& settings) {
  return refused_file("s.json", [&] { layout_with(settings); });
}

/// FLOPs of a step over all devices.
double flops_of(const RunResult& result) {
  REQUIRE(result.report);
  return *result.throughput.model_tflops_per_device * to_us(result.report->makespan) *
         static_cast<double>(devices_of(result.layout));
}

double parameter_bytes(const Layout& layout) {
  double bytes = 0;
  for (const Layer& layer : layout.model.layers) bytes += layer.parameter_bytes;
  return bytes;
}

double us(const RunResult& result) { return to_us(result.report->makespan); }

const Settings own{R"(/modules={"vision": {"tensor": 2}})"};
const Settings own_four{R"(/modules={"vision": {"tensor": 2, "data": 4}})"};
const Settings own_one{R"(/modules={"vision": {"data": 1}})"};
const Settings shared{R"(/modules={"vision": {"devices": "shared", "tensor": 2}})"};
const Settings shared_alone{R"(/modules={"vision": {"devices": "shared"}})"};

}  // namespace

TEST_CASE("modules: a step has the FLOPs of the model however its encoder is laid out") {
  const double whole = flops_of(run_with({"/partition/name=balanced"}));
  for (const Settings& settings : {own, own_four, own_one, shared, shared_alone}) {
    CAPTURE(settings.front());
    CHECK(flops_of(run_with(settings)) == doctest::Approx(whole));
  }
}

TEST_CASE("modules: with equal degrees the layers have the parameters of the whole model") {
  const double whole = parameter_bytes(layout_with({"/partition/name=balanced"}));
  CHECK(parameter_bytes(layout_with(own)) == whole);
  CHECK(parameter_bytes(layout_with(shared)) == whole);
}

TEST_CASE("modules: blocks of an encoder are recomputed and offloaded as others are") {
  const std::vector<Layer> again = layout_with({"/recompute/mode=full"}).model.layers;
  const double input = 2 * 1024 * 256 * 2.0;  // examples, patches, width, bytes
  const std::vector<Layer> away = layout_with({"/offload/layers=2"}).model.layers;
  for (std::size_t i = 0; i <= 5; ++i) {
    CAPTURE(i);
    const bool is_block = i >= 1 && i <= 4;  // between patches and merger
    CHECK((again[i].work.repeated == Repeated::all) == is_block);
    if (is_block) CHECK(again[i].stash_bytes == input);
    CHECK((away[i].offloaded_bytes > 0) == (i == 1 || i == 2));
  }
}

TEST_CASE("modules: devices are those of the pipeline and the module's own") {
  CHECK(devices_of(layout_with(own)) == 16 + 4);
  CHECK(devices_of(layout_with(own_four)) == 16 + 8);
  CHECK(devices_of(layout_with(own_one)) == 16 + 1);
  CHECK(devices_of(layout_with(shared)) == 16);
  CHECK(layout_with(shared_alone).module->degrees.data == 16);
  CHECK(chunks_of(layout_with(shared)) == 1);
  CHECK(chunks_of(layout_with(own)) == 1);
}

TEST_CASE("modules: replicas of an encoder take pipelines together or microbatches in turn") {
  const Layout four = layout_with(own_four), one = layout_with(own_one);
  CHECK(four.module->ranks_in_turn == 2);
  CHECK(four.module->share == 1);
  CHECK(one.module->ranks_in_turn == 1);
  CHECK(one.module->share == 2);
  // One device sends to two pipelines of two devices each, one of two sends to one of two.
  CHECK(module_end(one)->sent == 4);
  CHECK(module_end(four)->sent == 1);
}

TEST_CASE("modules: what a device of the next stage receives is that of one pipeline") {
  const auto received = [](const Layout& layout) {
    return layout.model.layers[5].activation_bytes * module_end(layout)->received;
  };
  const double whole = received(layout_with(own));
  CHECK(whole == 2 * 256 * 512 * 2.0);  // examples, tokens, width, bytes
  CHECK(received(layout_with(own_one)) == whole);
  CHECK(received(layout_with(shared)) == whole);
  // Each of two devices of a rank encodes half of the pictures, and gathers the other half.
  CHECK(received(layout_with(shared_alone)) == whole / 2);
}

TEST_CASE("modules: an encoder whose copies are all in one tensor group sums over its links") {
  const auto scenario = [](const char* parallel, std::uint32_t devices) {
    return read_scenario(
        PENSTOCK_ROOT "/experiments/scenarios/qwen3_vl_8b_on_a_dgx_h100.json",
        {fmt::format("/hardware/devices={}", devices), fmt::format("/parallel={}", parallel),
         R"(/modules={"vision":{"devices":"shared","order":"first","tensor":1}})"});
  };
  const double alone = us(run(scenario(R"({"pipeline":1,"tensor":4,"data":1})", 4)));
  const double two = us(run(scenario(R"({"pipeline":1,"tensor":4,"data":2})", 8)));
  CHECK(alone > 0.9 * two);  // two replicas do twice the work, and sum over more devices
  CHECK(alone <= two);
}

TEST_CASE("modules: a frozen encoder keeps its parameters, and activations of one layer") {
  Settings frozen = own;
  frozen.emplace_back("/modules/vision/frozen=true");
  const RunResult result = run_with(frozen), trained = run_with(own);
  REQUIRE(result.report);
  const MemoryPeak& memory = result.report->ranks[4].memory;
  const MemoryPeak& most = trained.report->ranks[4].memory;
  CHECK(bytes_of(memory, BufferKind::parameters) == bytes_of(most, BufferKind::parameters));
  CHECK(bytes_of(memory, BufferKind::optimizer) == 0);
  CHECK(bytes_of(memory, BufferKind::weight_gradients) == 0);
  CHECK(bytes_of(memory, BufferKind::stash) < bytes_of(most, BufferKind::stash) / 4);
  CHECK(us(result) < us(trained));
}

TEST_CASE("modules: bubbles hide what comes before and behind the pipeline otherwise") {
  Settings bubbles = shared;
  bubbles.emplace_back("/modules/vision/order=bubbles");
  const RunResult first = run_with(shared), filled = run_with(bubbles);
  CHECK(us(filled) < us(first));
  const auto parts = part_reports(filled), before = part_reports(first);
  CHECK(parts[0].bubble < before[0].bubble);
  CHECK(parts[0].busy * us(filled) == doctest::Approx(before[0].busy * us(first)));
  CHECK(parts[0].devices == 16);
}

TEST_CASE("modules: the order of the others may be a file") {
  const Scratch scratch;
  const Settings by_file{
      fmt::format(R"(/schedule={{"file": "{}"}})",
                  scratch.file("1f1b.csv", write_torch_csv(run_with({}).layout.schedule).text))};
  Settings bubbles = shared;
  bubbles.emplace_back("/modules/vision/order=bubbles");
  for (Settings settings : {own, own_four, shared, bubbles}) {
    CAPTURE(settings.back());
    const double by_rule = us(run_with(settings));
    settings.insert(settings.end(), by_file.begin(), by_file.end());
    CHECK(us(run_with(settings)) == by_rule);
  }
  const std::string both_ways = scratch.file("chimera.csv", "0F0,3F1,3B1,0B0\n1F0,2F1,2B1,1B0\n");
  CHECK(module_refusal({own.front(), "/parallel/pipeline=2",
                        fmt::format(R"(/schedule={{"file": "{}", "chains": [[0, 1], [2, 3]]}})",
                                    both_ways)}) ==
        "/schedule/file: a module goes with one copy of the model, and this order has two");
}

TEST_CASE("modules: what cannot be is refused where it is stated") {
  CHECK(module_refusal({R"(/modules={"ears": {}})"}) ==
        "/modules/ears: no layer of the model states the module \"ears\"");
  CHECK(module_refusal({R"(/modules={"vision": {}, "ears": {}})"}) ==
        "/modules/vision: one module has degrees of its own, and \"ears\" does already");
  CHECK(module_refusal({R"(/modules={"vision": {"data": 3}})"}) ==
        "/modules/vision/data: it is 3, and /parallel/data 2: one must divide the other, so that "
        "each replica feeds as many pipelines");
  CHECK(module_refusal({R"(/modules={"vision": {"order": "bubbles"}})"}) ==
        "/modules/vision/order: a module on devices of its own runs beside the pipeline, not in "
        "its bubbles; leave it out, or set \"devices\" to \"shared\"");
  CHECK(module_refusal({R"(/modules={"vision": {"devices": "shared", "tensor": 4}})"}) ==
        "/modules/vision/tensor: it is 4, and does not divide the 2 devices of a pipeline rank");
  CHECK(module_refusal({R"(/modules={"vision": {"devices": "shared", "data": 4}})"}) ==
        "/modules/vision/data: it is 4, but the devices of the pipeline hold 16 replicas; leave it "
        "out");
  CHECK(module_refusal({R"(/modules={"vision": {"devices": "shared", "pipeline": 2}})"}) ==
        "/modules/vision/pipeline: each rank of the pipeline holds the whole module; leave it out, "
        "or set \"devices\" to \"own\"");
  CHECK(module_refusal({R"(/modules={"vision": {}})",
                        R"(/schedule={"policy": "first-come", "microbatches": 4})"}) ==
        "/schedule/policy: a policy orders one set of stages; name a schedule rule, and /modules "
        "has two");
  CHECK(module_refusal({R"(/modules={"vision": {"pipeline": 9}})"}) ==
        "/modules/vision: /model: 9 stages need at least one layer each, got 6");
  CHECK(module_refusal({R"(/modules={"vision": {}})", "/hardware/devices=2"}) ==
        "/hardware/devices: it is 2, and \"vision\" alone takes 2");
}

}  // namespace penstock::testing
