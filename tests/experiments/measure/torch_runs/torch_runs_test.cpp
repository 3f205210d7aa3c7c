#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "experiments/measure/torch_runs/torch_layout.hpp"
#include "experiments/measure/torch_runs/torch_run.hpp"
#include "experiments/measure/torch_runs/transfer.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/base/error.hpp"
#include "tests/support/says.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/traced_runs.hpp"

// Without PyTorch: what is handed to it, what is refused, and what is predicted from given times.

namespace penstock::testing {
namespace {

/// Four layers of 3, 4 and 5 us on two ranks.
const char* const timed_layers = R"({"penstock": 1, "model": {"layers": [
  {"forward_us": 3, "backward_input_us": 4, "backward_weight_us": 5, "activation_bytes": 4000},
  {"forward_us": 3, "backward_input_us": 4, "backward_weight_us": 5},
  {"forward_us": 3, "backward_input_us": 4, "backward_weight_us": 5},
  {"forward_us": 3, "backward_input_us": 4, "backward_weight_us": 5}]},
  "hardware": {"name": "ideal", "devices": 2}, "schedule": {"name": "1f1b", "microbatches": 2}})";

Layout layout_with(const std::vector<std::string>& settings) {
  return settle(parse_scenario(timed_layers, "four.json", settings));
}

RuntimeOrder order_with(const std::vector<std::string>& settings) {
  const Layout layout = layout_with(settings);
  return runtime_order(layout.name, layout, layout.schedule);
}

std::string torch_refusal(const std::vector<std::string>& settings) {
  const Layout layout = layout_with(settings);
  return why_not_in_torch(layout, layout.schedule);
}

/// A traced run, as far as a profile needs it: these times of F, I, W or B, the same for all
/// stages.
TracedOrder traced_order(const std::string& name, const std::vector<double>& us) {
  TracedOrder traced{order_with({"/schedule/name=" + name}), {}};
  MeasuredRun& run = traced.run;
  run.title = name;
  run.schedule = name;
  run.order = {traced.order.schedule, traced.order.placement};
  run.job.priced.plan.ranks = 2;
  run.job.priced.plan.microbatches = 2;
  run.ranks.resize(2);
  run.chunks = static_cast<std::uint32_t>(traced.order.stages.size()) / 2;
  const bool split = us.size() == 3;
  for (std::uint32_t stage = 0; stage < traced.order.stages.size(); ++stage) {
    run.times.push_back({stage, Pass::forward, 2, 1e3 * us[0], 0, 0});
    run.times.push_back(
        {stage, split ? Pass::backward_input : Pass::backward, 2, 1e3 * us[1], 0, 0});
    if (split) run.times.push_back({stage, Pass::backward_weight, 2, 1e3 * us[2], 0, 0});
  }
  return traced;
}

/// An order as the profile of others predicts it.
PricedPlan predicted_order(const std::vector<TracedOrder>& traced, const RuntimeOrder& order) {
  const Scratch scratch;
  const TorchFolder folder(scratch.path("run"));
  const Transfer transfer(traced, folder);
  scratch.file(fmt::format("run/orders/{}.csv", order.name), order.csv);
  auto predicted = transfer.priced(order);
  REQUIRE(std::holds_alternative<PricedPlan>(predicted));
  return std::get<PricedPlan>(std::move(predicted));
}

/// The duration of a pass of a stage in a predicted order.
double us_of(const PricedPlan& priced, Pass pass, std::uint32_t stage) {
  for (std::size_t i = 0; i < priced.plan.classes.size(); ++i) {
    const WorkClass& work = priced.plan.classes[i];
    if (priced.plan.is_link(work.resource) || work.pass != pass) continue;
    if (index(work.stage) == stage) return to_us(priced.costs.duration[i]);
  }
  return -1;
}

}  // namespace

TEST_CASE("torch runs: layers that state times sleep for them, scaled, unless others are wanted") {
  const Layout layout = layout_with({});
  const TorchModel model = torch_model(layout, {.scale = 10});
  CHECK(model.bodies == TorchBodies::sleep);
  REQUIRE(model.layers.size() == 4);
  CHECK(model.layers[2].forward_us == 30);
  CHECK(model.layers[2].input_us == 40);
  CHECK(model.layers[2].weight_us == 50);
  CHECK(model.width == 1000);  // floats in 4000 bytes
  CHECK(torch_model(layout, {.bodies = Bodies::busy}).bodies == TorchBodies::compute);
  CHECK(torch_model(layout, {.file = "model.py"}).bodies == TorchBodies::own);
  CHECK_THROWS_WITH_AS(torch_model(layout, {.bodies = Bodies::layers}),
                       "--bodies layers: the model states times, not kinds of layers", UsageError);
}

TEST_CASE("torch runs: kinds and numbers that the script does not know are refused by name") {
  const auto kinds = [](const std::string& layer) {
    const std::string text = R"({"penstock": 1, "model": {"sequence": 8, "layers": [)" + layer +
                             R"(, {"kind": "mlp", "hidden": 4, "intermediate": 8}]},
      "hardware": {"name": "roofline", "device": "a100-sxm4-80gb", "link": "nvlink-3", "devices": 2},
      "schedule": {"name": "1f1b", "microbatches": 2}})";
    return torch_model(settle(parse_scenario(text, "kinds.json")), {.bodies = Bodies::layers});
  };
  const TorchModel model = kinds(R"({"kind": "norm", "hidden": 4})");
  CHECK(model.bodies == TorchBodies::layers);
  CHECK(model.shape == std::vector<std::uint32_t>{8});
  CHECK(model.width == 4);
  CHECK_THROWS_WITH_AS(
      kinds(R"({"kind": "attention", "hidden": 4, "heads": 2, "window": 2})"),
      "--bodies layers: PyTorch's script has no kind \"attention\" with \"window\"", UsageError);
}

TEST_CASE("torch runs: documents go into microbatches of one sequence") {
  const auto model = [](std::uint32_t examples) {
    const std::string text = fmt::format(
        R"({{"penstock": 1, "model": {{"sequence": 8, "microbatch": {}, "layers": [
      {{"kind": "embedding", "vocab": 9, "hidden": 4}}, {{"kind": "norm", "hidden": 4}}]}},
      "hardware": {{"name": "roofline", "device": "a100-sxm4-80gb", "link": "nvlink-3", "devices": 2}},
      "schedule": {{"name": "1f1b", "microbatches": 2}},
      "batch": {{"lengths": {{"histogram": [{{"tokens": 3}}]}}, "pack": "first-fit"}}}})",
        examples);
    return torch_model(settle(parse_scenario(text, "kinds.json")), {});
  };
  CHECK(model(1).bodies == TorchBodies::layers);
  CHECK_THROWS_WITH_AS(model(2),
                       "PyTorch does not run this batch: documents go into microbatches of one "
                       "sequence; set /model/microbatch to 1",
                       UsageError);
}

TEST_CASE("torch runs: orders that PyTorch would run otherwise are refused with the reason") {
  CHECK(torch_refusal({"/schedule/name=zb-v"}).empty());
  CHECK(says(torch_refusal({"/schedule/name=dualpipe", "/schedule/microbatches=4"}),
             "2 copies of the model"));
  CHECK(says(torch_refusal({"/schedule/name=seq-1f1b"}), "slices of a sequence"));
  CHECK(says(torch_refusal({"/schedule/name=pipedream"}), "within it"));
  CHECK(says(torch_refusal({"/parallel/data=2", "/hardware/devices=4"}), "a rank is one process"));
}

TEST_CASE("torch runs: an order has its layers by stage, a V as well") {
  const RuntimeOrder order = order_with({"/schedule/name=zb-v"});
  CHECK(order.stages == std::vector<std::vector<std::uint32_t>>{{0}, {1}, {2}, {3}});
  CHECK(order.csv.starts_with("0F0,"));
  CHECK(order_with({}).stages == std::vector<std::vector<std::uint32_t>>{{0, 1}, {2, 3}});
}

// F 1, I 2, W 3 of each of four stages: stages of two layers take 2, 4 and 6. In the first, W is
// the whole backward, 10, and I nothing.
TEST_CASE("torch runs: a profile of four stages predicts two, and the first has no I") {
  const PricedPlan priced = predicted_order({traced_order("interleaved-zb", {1, 2, 3})},
                                            order_with({"/schedule/name=zb-h1"}));
  CHECK(us_of(priced, Pass::forward, 0) == 2);
  CHECK(us_of(priced, Pass::backward_input, 0) == 0);
  CHECK(us_of(priced, Pass::backward_weight, 0) == 10);
  CHECK(us_of(priced, Pass::backward_input, 1) == 4);
  CHECK(us_of(priced, Pass::backward_weight, 1) == 6);
}

// A whole backward of a layer takes 4, less than I and W apart.
TEST_CASE("torch runs: W of the first stage is the whole backward that was traced") {
  const PricedPlan priced = predicted_order(
      {traced_order("interleaved-zb", {1, 2, 3}), traced_order("interleaved-1f1b", {1, 4})},
      order_with({"/schedule/name=zb-h1"}));
  CHECK(us_of(priced, Pass::backward_weight, 0) == 8);
  CHECK(us_of(priced, Pass::backward_weight, 1) == 6);
}

// An op takes 5 us of the host, a tensor 10 us. F of the first stage sends one, B receives one.
TEST_CASE("torch runs: the host takes time for each tensor, and a step around its ops") {
  TracedOrder one = traced_order("zb-h1", {1, 2, 3});
  one.run.host_us = 12;
  one.run.host_shares = {{.us = 40, .ops = 4, .messages = 2}, {.us = 60, .ops = 4, .messages = 4}};
  one.around_us = 7;
  const PricedPlan priced = predicted_order({one}, one.order);
  CHECK(us_of(priced, Pass::forward, 0) == 1 + 5 + 10);
  CHECK(us_of(priced, Pass::backward_input, 0) == 5 + 10);
  CHECK(us_of(priced, Pass::backward_weight, 0) == 2 + 3 + 5);
  CHECK(us_of(priced, Pass::backward_input, 1) == 2 + 5 + 10);
  CHECK(us_of(priced, Pass::backward_weight, 1) == 3 + 5);
  const Scratch scratch;
  CHECK(Transfer({one}, TorchFolder(scratch.path("run"))).around() == from_us(7));
}

// Two visits of two steps each, of which the second was loud.
TEST_CASE(
    "torch runs: of traced steps the quiet ones of all visits count; all, where these are few") {
  const auto visits = [](const std::vector<std::vector<double>>& others, std::deque<Traces>& kept) {
    std::vector<TracedVisit> made;
    for (const std::vector<double>& of_visit : others) {
      kept.emplace_back(varied_runs(three_stages(steady_order), 2), KinetoStyle{});
      made.push_back({kept.back().reading.files, {}});
      for (const double share : of_visit) {
        made.back().steps.push_back({.us = 1e6, .others = share, .round = 0});
      }
    }
    return made;
  };
  const Layout layout = settle(parse_scenario(three_stages(steady_order), "three.json"));
  const RuntimeOrder order = runtime_order("1f1b", layout, layout.schedule);
  std::deque<Traces> kept;
  const auto quiet_visits = visits({{0.01, 0.5}, {0.02, 0.5}}, kept);
  const MeasuredRun quiet = run_of_visits(quiet_visits, 0.06, order);
  CHECK(quiet.numbers == std::vector<std::uint32_t>{1, 3});
  CHECK(quiet.times.front().count == 2 * 6);  // F of the first stage, six microbatches
  const Plan& plan = quiet.job.priced.plan;
  const auto us = [&](std::size_t i) {
    return to_us(makespan(plan, quiet.measured.iterations[i]));
  };
  CHECK(around_ops_us(quiet_visits, quiet) == doctest::Approx(1e6 - (us(0) + us(1)) / 2));
  const MeasuredRun loud = run_of_visits(visits({{0.01, 0.5}, {0.2, 0.5}}, kept), 0.06, order);
  CHECK(loud.numbers == std::vector<std::uint32_t>{1, 2, 3, 4});
  // The step shown is the median one, of two the longer, whichever is last.
  using Shares = std::vector<std::vector<double>>;
  for (const Shares& others : {Shares{{0.01, 0.01}}, Shares{{0.5, 0.01}, {0.01}}}) {
    const MeasuredRun two = run_of_visits(visits(others, kept), 0.06, order);
    REQUIRE(two.measured.iterations.size() == 2);
    const Time first = makespan(plan, two.measured.iterations[0]);
    const Time second = makespan(plan, two.measured.iterations[1]);
    REQUIRE(first != second);
    CHECK(two.chosen == (first > second ? 0 : 1));
    CHECK(makespan(plan, two.timeline) == std::max(first, second));
    CHECK(two.timeline.iteration == two.numbers[two.chosen]);
  }
}

TEST_CASE("torch runs: two traced stages say nothing of four") {
  const Scratch scratch;
  const TorchFolder folder(scratch.path("run"));
  const Transfer transfer({traced_order("1f1b", {1, 2})}, folder);
  const auto predicted = transfer.priced(order_with({"/schedule/name=interleaved-1f1b"}));
  CHECK(std::get<std::string>(predicted) ==
        "its stages are not made of those of 1f1b, which was traced");
}

TEST_CASE("torch runs: a folder with files is refused, a temporary one goes with the object") {
  const Scratch scratch;
  scratch.file("mine", "");
  CHECK_THROWS_AS(TorchFolder(scratch.path("")), UsageError);
  std::string left;
  {
    const TorchFolder folder;
    left = folder.path("orders");
    CHECK(std::filesystem::exists(left));
  }
  CHECK_FALSE(std::filesystem::exists(left));
}

TEST_CASE("torch runs: the program carries its scripts whole") {
  CHECK(train_orders_script().starts_with("#!/usr/bin/env python3\n"));
  CHECK(train_orders_script().ends_with("sys.exit(main())\n"));
  CHECK(says(scenario_model_script(), "class TimedBlock(nn.Module):"));
}

TEST_CASE("torch runs: ranks that compute on too few cores have no score, ranks that sleep do") {
  TorchJob job{.device = {"gloo", "cpu"}, .ranks = 4, .microbatches = 8, .model = {}, .orders = {}};
  const UsableCores two{{0, 1}, {}};
  CHECK_FALSE(why_no_score(job, 1, two));
  for (const TorchBodies bodies : {TorchBodies::compute, TorchBodies::layers, TorchBodies::own}) {
    job.model.bodies = bodies;
    CHECK(why_no_score(job, 1, two) == "4 ranks that compute need 4 cores; usable: 2");
    CHECK_FALSE(why_no_score(job, 1, {{0, 1, 2, 3}, {}}));
    CHECK(why_no_score(job, 2, {{0, 1, 2, 3}, {}}));
  }
  job.device.device = "cuda";
  CHECK_FALSE(why_no_score(job, 1, two));
}

TEST_CASE(
    "torch runs: rounds that differ show as retest error, however well the steps of one agree") {
  const auto quick_and_slow = [](std::uint32_t round) { return round % 2 == 0 ? 90.0 : 110.0; };
  std::vector<TimedStep> steps;
  for (std::uint32_t i = 0; i < 8; ++i) steps.push_back({quick_and_slow(i / 2), 0, i / 2});
  CHECK(retest_error(steps) == doctest::Approx(0.2));
  for (TimedStep& step : steps) step.us = 100;
  CHECK(retest_error(steps) == 0);
}

TEST_CASE("torch runs: steps of one round are compared in turns") {
  std::vector<TimedStep> steps{{90, 0, 3}, {110, 0, 3}, {90, 0, 3}, {110, 0, 3}};
  CHECK(retest_error(steps) == doctest::Approx(0.2));
  steps.resize(1);
  CHECK(retest_error(steps) == 0);
}

}  // namespace penstock::testing
