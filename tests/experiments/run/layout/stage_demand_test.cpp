#include "experiments/run/layout/stage_demand.hpp"

#include <doctest/doctest.h>

#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// How long a task of a system holds its rank, in microseconds.
double task_us(const System& system, const char* task) {
  const Plan plan = lowered(system);
  return to_us(priced(system, plan).duration[plan.work[task_of(plan, task)]]);
}

/// A stage whose F takes 7 us, I 1 and W 2, with 8 bytes on 4 devices at 1 us a byte: 6 us to
/// gather them, and as much to sum gradients of the same size.
System sharded_stage() {
  Layer stage = stage_of(7, 1, 2);
  stage.parameter_bytes = 8;
  System system{Placement::loop(1, 1), order_of("0F0,0I0,0W0"), {stage}, link(0, 1e6)};
  system.training = {.data = 4, .zero = 3};
  return system;
}

/// 80 bytes of parameters, of which 60 are of experts.
Layer stage_with_experts() {
  Layer stage = stage_of(1, 1);
  stage.parameter_bytes = 80;
  stage.expert_parameter_bytes = 60;
  return stage;
}

}  // namespace

TEST_CASE(
    "with ZeRO-3 a pass takes as long as its work or its own collectives, if they are longer") {
  // F and R gather, I gathers, W sums, B does both, all beside their work.
  System system = sharded_stage();
  system.stages[0].recompute_us = 4;
  system.extras.recomputing.stages = {true};
  CHECK(task_us(system, "0F0") == 7);
  CHECK(task_us(system, "0R0") == 6);
  CHECK(task_us(system, "0I0") == 6);
  CHECK(task_us(system, "0W0") == 6);
  system.schedule = order_of("0F0,(0F1;0B0)OVERLAP_F_B,0B1");
  CHECK(task_us(system, "0B1") == 12);
  CHECK(task_us(system, "0B0") == 18);  // with R inside
  // Three steps of a ring, each with a latency of 1.
  system.hardware = link(1, 1e6);
  CHECK(task_us(system, "0R1") == 9);
  CHECK(task_us(system, "0F0") == 9);
}

TEST_CASE("collectives of a pass slow its work down, and its work slows them down") {
  // F computes 3 us at half its speed while 6 are gathered, and 4 more; I 1 us within its 6; the
  // sum takes 6 * 1.5 beside W.
  System system = sharded_stage();
  system.training.slows = {.compute = 2};
  CHECK(task_us(system, "0F0") == 6 + 4);
  CHECK(task_us(system, "0I0") == 6);
  system.training.slows = {.transfer = 1.5};
  CHECK(task_us(system, "0F0") == 9);
  CHECK(task_us(system, "0W0") == 9);
  // What follows a pass meets nobody.
  system.training.overlaps_sums = false;
  CHECK(task_us(system, "0F0") == 7 + 6);
}

TEST_CASE("a pass waits for the exposed shares of collectives that it overlaps") {
  System system = sharded_stage();
  system.training.exposed = {.gathers = 0.5, .sums = 1};
  CHECK(task_us(system, "0F0") == 7 + 3);
  CHECK(task_us(system, "0W0") == 2 + 6);
  system.training.exposed.sums = 0.5;  // 2 + 3, but the sum alone takes 6
  CHECK(task_us(system, "0W0") == 6);
  // Layer by layer the only one waits for all of its weights, and its sum has nothing beside it.
  system.training.layers_ahead = 1;
  CHECK(task_us(system, "0F0") == 6 + 7);
  CHECK(task_us(system, "0W0") == 2 + 6);
}

TEST_CASE("a pass that does not overlap its own collectives takes as long as both") {
  System system = sharded_stage();
  system.training.overlaps_sums = false;
  CHECK(task_us(system, "0F0") == 7 + 6);
  CHECK(task_us(system, "0I0") == 1 + 6);
  CHECK(task_us(system, "0W0") == 2 + 6);
  // With ZeRO-2 weights are whole, and only sums are waited for.
  system.training.zero = 2;
  CHECK(task_us(system, "0F0") == 7);
  CHECK(task_us(system, "0I0") == 1);
  CHECK(task_us(system, "0W0") == 2 + 6);
}

TEST_CASE("a pass encodes and decodes beside its layers, or in front of and behind them") {
  // Encoding takes 2 us, decoding 3 for B and I each, 5 for W.
  System system{Placement::loop(1, 1), order_of("0F0,0I0,0W0,0F1,0B1"), {stage_of(7, 1, 2)}};
  system.training.codecs = {{.forward_us = 2, .backward_us = 3, .backward_weight_us = 5}};
  CHECK(task_us(system, "0F0") == 7 + 2);
  CHECK(task_us(system, "0I0") == 1 + 3);
  CHECK(task_us(system, "0W0") == 2 + 5);
  CHECK(task_us(system, "0B1") == 1 + 2 + 3);
  system.training.codecs_overlap = true;
  CHECK(task_us(system, "0F0") == 7);
  CHECK(task_us(system, "0I0") == 3);
  CHECK(task_us(system, "0W0") == 5);
  CHECK(task_us(system, "0B1") == 3);
}

TEST_CASE("an update takes what is stated and moves the share of the optimizer through memory") {
  // 8 bytes; gradients as large, the optimizer twice that: 8 * (1 + 1 + 2 * 2) = 48 bytes at 1 us
  // each. With ZeRO-1 over 4 data replicas, a quarter of them.
  Layer stage = stage_of(1, 1);
  stage.parameter_bytes = 8;
  System system{Placement::loop(1, 1), order_of("0F0,0B0"), {stage}};
  system.extras.tail.updates = true;
  system.training = {.optimizer_factor = 2, .optimizer_us = 3};
  CHECK(task_us(system, "0U0") == 3);
  system.training.update_bytes_per_s = 1e6;
  CHECK(task_us(system, "0U0") == 3 + 48);
  system.training.data = 4;
  CHECK(task_us(system, "0U0") == 3 + 48);
  system.training.zero = 1;
  CHECK(task_us(system, "0U0") == 3 + 12);
}

TEST_CASE("the time of a step is in one update of each rank: that of its lowest stage") {
  // Rank 0 has stages 0 and 3, rank 1 has 1 and 2.
  System system{Placement::bidirectional(2), order_of("0F0,3F1,3B1,0B0\n2F1,1F0,1B0,2B1"),
                std::vector<Layer>(2, stage_of(1, 1))};
  system.extras.tail.updates = true;
  system.training = {.optimizer_us = 3, .step_us = 10};
  CHECK(task_us(system, "0U0") == 13);
  CHECK(task_us(system, "3U1") == 3);
  CHECK(task_us(system, "1U0") == 13);
  CHECK(task_us(system, "2U1") == 3);
}

TEST_CASE(
    "of 10 bytes of parameters, gradients twice and an optimiser six times that, ZeRO shares") {
  // Four data replicas: level 1 keeps 60 / 4 of the optimizer, 2 also 20 / 4 of gradients, 3 also
  // 10 / 4 = 2.5 of parameters, rounded to 2, and the stage of one layer whole while it runs.
  Layer stage = stage_of(1, 1);
  stage.parameter_bytes = 10;
  System system{Placement::loop(1, 1), order_of("0F0,0B0"), {stage}};
  for (const BufferKind kind :
       {BufferKind::weight_gradients, BufferKind::optimizer, BufferKind::workspace}) {
    system.extras.holds[static_cast<std::size_t>(kind)] = true;
  }
  const auto peak = [&](std::uint32_t data, std::uint32_t zero) {
    system.training = {.data = data, .gradient_factor = 2, .optimizer_factor = 6, .zero = zero};
    return simulated(system).report.ranks[0].memory.bytes;
  };
  CHECK(peak(1, 0) == 10 + 20 + 60);
  CHECK(peak(4, 0) == 10 + 20 + 60);
  CHECK(peak(4, 1) == 10 + 20 + 15);
  CHECK(peak(4, 2) == 10 + 5 + 15);
  CHECK(peak(4, 3) == 2 + 5 + 15 + 10);
  system.training.gathered_bytes = 7;
  CHECK(simulated(system).report.ranks[0].memory.bytes == 2 + 5 + 15 + 7);
}

TEST_CASE("dense parameters and experts are shared by as many devices as hold the same ones") {
  // The dense 20 lie on 2 devices of each of 2 data replicas, the
  // experts on 1 of each: the optimizer, once as large, keeps 20 / 4 + 60 / 2 = 35.
  Layer stage = stage_with_experts();
  stage.copies = 2;
  System system{Placement::loop(1, 1), order_of("0F0,0B0"), {stage}};
  system.extras.holds[static_cast<std::size_t>(BufferKind::optimizer)] = true;
  system.training = {.data = 2, .optimizer_factor = 1, .zero = 1};
  const MemoryPeak peak = simulated(system).report.ranks[0].memory;
  CHECK(bytes_of(peak, BufferKind::parameters) == 80);
  CHECK(bytes_of(peak, BufferKind::optimizer) == 35);
}

TEST_CASE("experts spread over data replicas are held by fewer devices than there are replicas") {
  // The dense 20 bytes lie on one device of each of 4 data replicas, the 60 of experts on one of
  // each two: the optimizer keeps 20 / 4 + 60 / 2 = 35.
  Layer stage = stage_with_experts();
  stage.expert_spread = 2;
  System system{Placement::loop(1, 1), order_of("0F0,0B0"), {stage}};
  system.extras.holds[static_cast<std::size_t>(BufferKind::optimizer)] = true;
  system.training = {.data = 4, .optimizer_factor = 1, .zero = 1};
  const auto kept = [&] {
    return bytes_of(simulated(system).report.ranks[0].memory, BufferKind::optimizer);
  };
  CHECK(kept() == 35);
  // Over all of them each is held once, and nothing of them is shared.
  system.stages[0].expert_spread = 4;
  CHECK(kept() == 5 + 60);
}

TEST_CASE("ZeRO-3 gathers what several devices of a group hold, and no experts held by one") {
  // Each expert is on one of 4 data replicas.
  Layer stage = stage_with_experts();
  stage.expert_spread = 4;
  System system{Placement::loop(1, 1), order_of("0F0,0B0"), {stage}};
  system.extras.holds[static_cast<std::size_t>(BufferKind::workspace)] = true;
  const auto held = [&](BufferKind kind, std::uint32_t data, std::uint32_t groups) {
    system.training = {.data = data, .shard_groups = groups, .zero = 3};
    return bytes_of(simulated(system).report.ranks[0].memory, kind);
  };
  for (const std::uint32_t groups : {1U, 2U}) {
    CHECK(held(BufferKind::parameters, 4 * groups, groups) == 20 / 4 + 60);
    CHECK(held(BufferKind::workspace, 4 * groups, groups) == 20);
  }
  // Two replicas of each expert in a group of 8 share them, too.
  CHECK(held(BufferKind::workspace, 8, 1) == 80);
}

TEST_CASE("a further version of the weights is shared as they are, by the same devices") {
  // 1F meets the weights before and its B those after the first update: two versions. With ZeRO-3
  // over 4 data replicas each holds a quarter of the 40 bytes of either, and while an action runs
  // 40 of them are whole.
  Layer stage = stage_of(1, 1);
  stage.parameter_bytes = 40;
  Schedule schedule = order_of("0F0,0F1,0B0,0B1");
  auto& row = schedule.on(Rank{0});
  row.insert(row.begin() + 3, {Pass::update, Stage{0}, Microbatch{0}});
  row.emplace_back(Pass::update, Stage{0}, Microbatch{1});
  schedule.set_weights({WeightUse::newest});
  System system{Placement::loop(1, 1), schedule, {stage}};
  system.extras.holds[static_cast<std::size_t>(BufferKind::workspace)] = true;
  system.training = {.data = 4, .zero = 3};
  const MemoryPeak peak = simulated(system).report.ranks[0].memory;
  CHECK(bytes_of(peak, BufferKind::parameters) == 10);
  CHECK(bytes_of(peak, BufferKind::versions) == 10);
  CHECK(bytes_of(peak, BufferKind::workspace) == 40);
}

}  // namespace penstock::testing
