#include "sim/costs/costs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "experiments/run/layout/stage_demand.hpp"
#include "sim/base/named.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// How long a task of a system holds its rank or link, in microseconds.
double length_of(const System& system, const char* task) {
  const Plan plan = lowered(system);
  return to_us(priced(system, plan).duration[plan.work[task_of(plan, task)]]);
}

/// Why a system cannot be priced, with the place in front, or "accepted".
std::string refusal(const System& system) {
  return refused_at([&] { priced(system, lowered(system)); });
}

System one_rank(const char* csv, Layer stage) {
  stage.source = "/model/stages/0";
  return a_stage_each(csv, {stage});
}

System recomputing(const char* csv, Layer stage) {
  System system = one_rank(csv, std::move(stage));
  system.extras.recomputing.stages = {true};
  return system;
}

}  // namespace

TEST_CASE("B costs its own time where given, else the sum of its halves") {
  Layer stage = stage_of(4, 7, 3);
  CHECK(length_of(one_rank("0F0,0B0", stage), "0B0") == 10);
  stage.backward_us = 9;  // a fused backward may be cheaper than its parts
  CHECK(length_of(one_rank("0F0,0B0", stage), "0B0") == 9);
  CHECK(length_of(one_rank("0F0,0I0,0W0", stage), "0I0") == 7);
  CHECK(length_of(one_rank("0F0,0I0,0W0", stage), "0W0") == 3);
}

TEST_CASE("recomputation is an action in front of B or I, and in an overlap cell a part of it") {
  // W 3, I 7, B 10; recomputation 4 makes a B of 14 out of that of an overlap cell.
  Layer stage{.forward_us = 4, .backward_input_us = 7, .backward_weight_us = 3, .recompute_us = 4};
  CHECK(length_of(recomputing("0F0,0B0", stage), "0R0") == 4);
  CHECK(length_of(recomputing("0F0,0B0", stage), "0B0") == 10);
  CHECK(length_of(recomputing("0F0,0I0,0W0", stage), "0R0") == 4);
  CHECK(length_of(recomputing("0F0,0I0,0W0", stage), "0I0") == 7);
  const System cell = recomputing("0F0,(0F1;0B0)OVERLAP_F_B,0B1", stage);
  CHECK(length_of(cell, "0B0") == 14);
  CHECK(length_of(cell, "0F1") == 4);
  CHECK(length_of(cell, "0B1") == 10);
}

TEST_CASE("a sum is rounded once, not part by part") {
  // 0.4 ps of input half, 0.4 of weight half, 0.4 of recomputation: 1.2 ps, that is 1; each alone
  // 0. Apart from an overlap cell the recomputation is rounded alone.
  Layer stage = stage_of(1, 0.4e-6, 0.4e-6);
  stage.recompute_us = 0.4e-6;
  const System cell = recomputing("0F0,(0F1;0B0)OVERLAP_F_B,0B1", stage);
  CHECK(length_of(cell, "0B0") == 1e-6);
  CHECK(length_of(cell, "0B1") == 1e-6);
  CHECK(length_of(cell, "0R1") == 0);
}

TEST_CASE("a stage of a chain costs what its place in the chain says") {
  // Two chains over two ranks: stage 3 is the second of its copy, on rank 0.
  const System system{Placement::bidirectional(2),
                      order_of("0F0,3F1,3B1,0B0\n2F1,1F0,1B0,2B1"),
                      {stage_of(1, 2), stage_of(10, 20)}};
  CHECK(length_of(system, "0F0") == 1);
  CHECK(length_of(system, "2F1") == 1);
  CHECK(length_of(system, "3F1") == 10);
  CHECK(length_of(system, "1B0") == 20);
}

TEST_CASE("extra time and collectives of a pass run beside its layers or behind them") {
  // 7 us of layers and 3 beside them. Of 8 bytes on 4 devices 6 us to gather, at 1 us a byte.
  const System system = one_rank("0F0,0B0", stage_of(7, 1));
  const Plan plan = lowered(system);
  const ModelGraph model{system.stages, {}};
  const Partition partition{{{LayerIndex{0}}}, {}};
  const auto hardware = find_named(cost_model_entries(), "ideal")->make(link(0, 1e6));
  Demand demand{.stages = {StageDemand{}}, .replicas = {.data = 4}};
  demand.stages[0].parameters = {{.bytes = 8, .copies = 1}};
  demand.stages[0].ranks = {Rank{0}};
  demand.stages[0].of(Pass::forward) = {
      .extra_us = 3, .sent_bytes = {}, .collectives = {{CollectiveKind::all_gather}}};
  const auto forward_us = [&](bool extra_overlaps, bool collectives_overlap) {
    demand.extra_overlaps = extra_overlaps;
    demand.collectives_overlap = collectives_overlap;
    const Costs costs = price(plan, model, partition, *hardware, demand);
    return to_us(costs.duration[plan.work[task_of(plan, "0F0")]]);
  };
  CHECK(forward_us(false, false) == 7 + 3 + 6);
  CHECK(forward_us(true, false) == 7 + 6);
  CHECK(forward_us(false, true) == 7 + 3);
  CHECK(forward_us(true, true) == 7);
}

TEST_CASE("hardware is asked for what holders do together, dense weights and experts apart") {
  // It knows of the devices: 10 us and 1 us of latency for each byte that a holder has of a tensor.
  struct Told final : HardwareModel {
    std::optional<double> compute_us(const Layer&, Pass) const override { return 1; }
    TransferTime transfer(double, Rank, Rank) const override { return {1000, 1000}; }
    std::optional<TransferTime> collective(CollectiveKind kind, double bytes,
                                           const Holders& holders) const override {
      const double share = bytes / holders.count();
      return TransferTime{kind == CollectiveKind::all_reduce ? 20 * share : 10 * share, share};
    }
  };
  // Two data replicas; 4 dense bytes on 2 devices of each, 8 of experts on 1 of each: 1 and 4
  // bytes.
  Layer stage = stage_of(1, 1);
  stage.parameter_bytes = 12;
  stage.expert_parameter_bytes = 8;
  stage.copies = 2;
  System system = a_stage_each("0F0,0B0", {stage});
  system.extras.tail = {.reduces = {true}};
  system.training = {.data = 2};
  ModelGraph model{{stage}, {}};
  const Partition partition{{{LayerIndex{0}}}, {}};
  const Plan plan = lowered(system);
  const std::uint32_t sum = plan.work[task_of(plan, "0REDUCE0")];
  const Costs costs = price(plan, model, partition, Told{}, system.training);
  CHECK(to_us(costs.duration[sum]) == 20 * (1 + 4));
  CHECK(to_us(costs.latency[sum]) == 1 + 4);
  // What a device sends does not depend on the way: 2 * (3/4 * 4 + 1/2 * 8).
  CHECK(costs.bytes[plan.classes[sum].buffer] == 14);
  system.training.zero = 1;
  const Costs shared = price(plan, model, partition, Told{}, system.training);
  CHECK(to_us(shared.duration[sum]) == 10 * (1 + 4));
}

TEST_CASE("a gradient is as large as the activation that came") {
  // Stage 0 puts out 4,000 bytes, stage 1 9,000, at 1e9 bytes/s: 4 us and 9 us, there and back.
  Layer small = stage_of(1, 1), large = stage_of(1, 1), last = stage_of(1, 1);
  small.activation_bytes = 4000;
  large.activation_bytes = 9000;
  const System system =
      a_stage_each("0F0,0B0\n1F0,1B0\n2F0,2B0", {small, large, last}, link(0, 1e9));
  CHECK(length_of(system, "0SEND_F0") == 4);
  CHECK(length_of(system, "1SEND_F0") == 9);
  CHECK(length_of(system, "2SEND_B0") == 9);
  CHECK(length_of(system, "1SEND_B0") == 4);
}

TEST_CASE("a time that the order needs and nobody states is refused, with its field") {
  const Layer forward_only{.forward_us = 1};
  CHECK(refusal(one_rank("0F0", forward_only)) == "accepted");
  CHECK(
      refusal(one_rank("0F0,0B0", forward_only)) ==
      "/model/stages/0: backward_us, or backward_input_us and backward_weight_us, is missing; the "
      "order runs B of stage 0");
  CHECK(refusal(one_rank("0F0,0I0,0W0", stage_of(1, 2))) ==
        "/model/stages/0: backward_input_us is missing; the order runs I of stage 0");
  Layer without_weight{.forward_us = 1, .backward_us = 2, .backward_input_us = 1};
  CHECK(refusal(one_rank("0F0,0I0,0W0", without_weight)) ==
        "/model/stages/0: backward_weight_us is missing; the order runs W of stage 0");
}

TEST_CASE("hardware that gives a time below 0, or none at all, is refused with what it is of") {
  struct Given final : HardwareModel {
    double pass_us;
    TransferTime tensor;
    Given(double pass, TransferTime time) : pass_us(pass), tensor(time) {}
    std::optional<double> compute_us(const Layer&, Pass) const override { return pass_us; }
    TransferTime transfer(double, Rank, Rank) const override { return tensor; }
  };
  Layer stage{.source = "/model/stages/0", .forward_us = 1, .backward_us = 1};
  const System system = a_stage_each("0F0,0B0\n1F0,1B0", {stage, stage});
  const ModelGraph model{system.stages, {}};
  const Partition partition{{{LayerIndex{0}}, {LayerIndex{1}}}, {}};
  const Plan plan = lowered(system);
  const auto refusal_of = [&](double pass_us, const TransferTime& tensor) {
    return refused_at(
        [&] { price(plan, model, partition, Given(pass_us, tensor), system.training); });
  };
  CHECK(refusal_of(1, {1, 1}) == "accepted");
  CHECK(refusal_of(0, {0, 0}) == "accepted");
  CHECK(refusal_of(-2, {}) ==
        "/model/stages/0: the hardware gives -2 us for F; a time is 0 or more");
  CHECK(refusal_of(NAN, {}) ==
        "/model/stages/0: the hardware gives nan us for F; a time is 0 or more");
  for (const TransferTime& time : {TransferTime{-1, 0}, {0, -1}, {NAN, 0}, {0, NAN}}) {
    CHECK(says(refusal_of(1, time), "for a tensor from rank 0 to rank 1; a time is 0 or more"));
  }
}

TEST_CASE("times that the clock cannot hold are refused, however they come about") {
  // 1e12 us are 11.6 days; the clock runs for 104.
  const std::string too_long =
      "/model: the times of all actions add up to more than 104 days, the range of the clock";
  CHECK(refusal(one_rank("0F0,0B0", stage_of(1e12, 1e12))) == "accepted");
  CHECK(refusal(one_rank("0F0,0F1,0F2,0F3,0F4,0F5,0F6,0F7,0F8,0F9", stage_of(1e12, 0))) ==
        too_long);
  // One transfer of 1e18 bytes at 1 byte/s: 1e24 us do not even fit one duration.
  Layer large{.forward_us = 1, .backward_us = 1, .activation_bytes = 1e18};
  CHECK(refusal(a_stage_each("0F0\n1F0", {large, large}, link(0, 1))) == too_long);
}

TEST_CASE("memory that does not fit 64 bits is refused rather than wrapped around") {
  // 20 activations of 1e18 bytes are above 2^64.
  Layer large{.forward_us = 1, .backward_us = 1, .stash_bytes = 1e18};
  std::string csv;
  for (int m = 0; m < 20; ++m) csv += "0F" + std::to_string(m) + ",";
  for (int m = 0; m < 20; ++m) csv += "0B" + std::to_string(m) + ",";
  CHECK(refusal(one_rank("0F0,0B0", large)) == "accepted");
  CHECK(refusal(one_rank(csv.c_str(), large)) ==
        "/model: the buffers of all actions add up to more than 9e18 bytes, the largest total "
        "supported");
  // Nor do the parameters of ten stages on one rank.
  Layer heavy{.forward_us = 1, .backward_us = 1, .parameter_bytes = 1e18};
  const std::vector<Layer> ten(10, heavy);
  CHECK(
      refusal({Placement::loop(1, 10), order_of("0F0,1F0,2F0,3F0,4F0,5F0,6F0,7F0,8F0,9F0"), ten}) ==
      "/model: the buffers of all actions add up to more than 9e18 bytes, the largest total "
      "supported");
}

/// Ten microseconds a layer, and how often it was asked.
struct Counting final : HardwareModel {
  mutable int asked = 0;
  bool by_name = false;
  bool looks_at_names() const override { return by_name; }
  std::optional<double> compute_us(const Layer& layer, Pass) const override {
    ++asked;
    return *layer.forward_us;
  }
  TransferTime transfer(double, Rank, Rank) const override { return {}; }
};

// Six layers of 10 us but for the last: F and B of the one stage ask for two of them each.
TEST_CASE("layers in a row that differ in names and places alone are priced once") {
  ModelGraph model;
  for (int number = 0; number < 6; ++number) {
    Layer& layer = model.layers.emplace_back(stage_of(10, 1));
    layer.name = "block " + std::to_string(number);
    layer.source = "/model/layers/" + std::to_string(number);
    layer.key.parts = {{"mlp", {{"hidden", 8}, {"bias", NAN}}}};
  }
  model.layers.back().forward_us = 11;
  model.connect_as_chain();
  const Plan plan = lowered(one_rank("0F0,0F1,0B0,0B1", stage_of(1, 1)));
  const Partition partition{
      {{LayerIndex{0}, LayerIndex{1}, LayerIndex{2}, LayerIndex{3}, LayerIndex{4}, LayerIndex{5}}},
      {}};
  Counting hardware;
  const Demand demand{.stages = {StageDemand{}}};
  const Costs costs = price(plan, model, partition, hardware, demand);
  CHECK(hardware.asked == 4);
  CHECK(to_us(costs.duration[plan.work[task_of(plan, "0F1")]]) == 61);

  hardware.by_name = true;  // as profiles do
  price(plan, model, partition, hardware, demand);
  CHECK(hardware.asked == 4 + 2 * 6);

  const Layer& one = model.layers[0];
  CHECK(cost_alike(one, model.layers[1]));
  const auto differs = [&](const auto& change) {
    Layer other = one;
    change(other);
    return !cost_alike(one, other);
  };
  CHECK(differs([](Layer& layer) { layer.key.parts[0].numbers["bias"] = 1; }));
  CHECK(differs([](Layer& layer) { layer.module = "vision"; }));
  CHECK(differs([](Layer& layer) { layer.at_an_end = true; }));
  CHECK(differs([](Layer& layer) { layer.work.kernels.push_back({.flops = 1}); }));
  CHECK(differs([](Layer& layer) { layer.backward_weight_us = 2; }));
  CHECK(differs([](Layer& layer) { layer.parameter_bytes = 2; }));
}

}  // namespace penstock::testing
