#include "experiments/plan/planner/step_split.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/plans.hpp"

namespace penstock::testing {
namespace {

/// A layout, its step time, and where that goes.
struct SplitCase {
  Trial trial;
  StepSplit split;

  double of(StepPart part) const { return split[static_cast<std::size_t>(part)]; }
  double step_us() const { return to_us(trial.makespan); }
};

SplitCase split_of(const LayoutChoice& choice, const char* model = "llama-3.1-8b.json") {
  const TrainingTask task =
      read_task({.model = shared_model(model),
                 .hardware = "dgx-h100",
                 .devices = choice.tensor * choice.pipeline * choice.data * choice.context,
                 .microbatch = choice.microbatch,
                 .global_batch = choice.microbatch * choice.microbatches * choice.data,
                 .settings = {"/memory/capacity_bytes=1e15"}});
  const Scenario scenario = parse_scenario(layout_document(task, choice), task.source);
  const auto clusters = std::make_shared<Clusters>();
  return {try_layout(scenario, catalogue(), clusters), split_step(scenario, catalogue(), clusters)};
}

void check_adds_up(const SplitCase& one) {
  const double sum = std::accumulate(one.split.begin(), one.split.end(), 0.0);
  CHECK(sum == doctest::Approx(one.step_us()).epsilon(1e-9));
}

/// Parts that take at least a hundred-thousandth of the step.
std::vector<std::string> parts_with_time(const SplitCase& one) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < step_parts; ++i) {
    if (one.split[i] > 1e-5 * one.step_us()) {
      parts.emplace_back(text(StepPart{static_cast<std::uint8_t>(i)}));
    }
  }
  return parts;
}

using Parts = std::vector<std::string>;

TEST_CASE("step split: one rank without recomputation only computes") {
  const SplitCase one = split_of({.microbatches = 4});
  CHECK(parts_with_time(one) == Parts{"compute"});
  CHECK(one.of(StepPart::compute) == doctest::Approx(one.step_us()));
}

TEST_CASE("step split: each part is there where its cause is, and they add up to the step") {
  const LayoutChoice pipeline{.pipeline = 4, .microbatches = 8};
  LayoutChoice tensor{.tensor = 2, .microbatches = 4};
  LayoutChoice replicas{.data = 8, .microbatches = 4, .zero = 1};
  LayoutChoice context{.microbatches = 4, .context = 16};  // over two machines
  LayoutChoice recomputed{.microbatches = 4, .recompute = "full"};
  const std::vector<std::pair<LayoutChoice, Parts>> cases{
      {pipeline, {"compute", "sends between stages", "bubble"}},
      {tensor, {"compute", "tensor traffic"}},
      {replicas, {"compute", "sums, gathers"}},
      {context, {"compute", "context traffic", "sums, gathers"}},
      {recomputed, {"compute", "recomputation"}}};
  for (const auto& [choice, parts] : cases) {
    CAPTURE(text_of(choice));
    const SplitCase one = split_of(choice);
    CHECK(parts_with_time(one) == parts);
    check_adds_up(one);
    for (const double us : one.split) CHECK(us >= -1e-6 * one.step_us());
  }
}

// Both parts of a fused cell cover the same time of their rank.
TEST_CASE("step split: fused cells compute once, and leave a bubble") {
  const LayoutChoice fused{
      .pipeline = 4, .chunks = 2, .microbatches = 16, .schedule = "dualpipev", .fused = true};
  const SplitCase one = split_of(fused);
  CHECK(one.of(StepPart::bubble) > 0);
  CHECK(one.of(StepPart::compute) < one.step_us());
  check_adds_up(one);
}

TEST_CASE("step split: the bubble of 1F1B is at least that of equal stages") {
  const SplitCase one = split_of({.pipeline = 4, .microbatches = 8});
  const double share = one.of(StepPart::bubble) / one.step_us();
  CHECK(share > 3.0 / 11);
  CHECK(share < 0.5);
}

TEST_CASE("step split: a full recomputation is a second forward pass") {
  const SplitCase none = split_of({.microbatches = 4});
  const SplitCase full = split_of({.microbatches = 4, .recompute = "full"});
  CHECK(full.of(StepPart::compute) == doctest::Approx(none.of(StepPart::compute)));
  CHECK(full.of(StepPart::recomputation) == doctest::Approx(full.step_us() - none.step_us()));
  CHECK(full.of(StepPart::recomputation) > 0.2 * none.step_us());
}

TEST_CASE("step split: experts have traffic of their own") {
  const SplitCase one =
      split_of({.pipeline = 16, .expert = 8, .data = 8, .microbatches = 16, .recompute = "full"},
               "deepseek-v3.json");
  CHECK(one.of(StepPart::experts) > 0.02 * one.step_us());
  CHECK(one.of(StepPart::tensor) == 0);
  check_adds_up(one);
}

}  // namespace
}  // namespace penstock::testing
