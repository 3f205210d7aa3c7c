#include "validate/backends/cuda/stages/gpu_stages.hpp"

#include <doctest/doctest.h>

#include <variant>

#include "tests/support/fake_gpu.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock::testing {
namespace {

/// A rank with stages of two layers and of one, each with F, I and W in two slots.
GpuProgram two_program_stages() {
  GpuProgram program{1, 0, {}, {}, tiny_layers};
  for (const std::uint32_t stage : {0U, 1U}) {
    for (const GpuPass pass :
         {GpuPass::forward, GpuPass::input_gradient, GpuPass::weight_gradient}) {
      const auto body = static_cast<std::uint32_t>(program.bodies.size());
      program.bodies.push_back({GpuWork::transformer, stage == 0 ? 2U : 1U, pass, stage});
      for (const std::uint32_t slot : {0U, 1U})
        program.tasks.push_back({.body = body, .slot = slot});
    }
  }
  return program;
}

/// What a fake GPU would launch.
struct Stages {
  FakeGpu gpu;
  GpuCalls calls = gpu.calls();
  GpuProgram program = two_program_stages();
  GpuDevice device{calls, 1, 0};
  GpuStages stages;

  explicit Stages(std::uint64_t most_bytes = 1U << 30) : stages(device, program, 0, most_bytes) {}

  GpuLaunches of(std::uint32_t stage, GpuPass pass, std::uint32_t slot = 0) const {
    return stages.launches({GpuWork::transformer, 0, pass, stage}, slot);
  }
};

/// The kernels of a type.
template <class Kernel>
std::vector<Kernel> all_of(const GpuLaunches& launches) {
  std::vector<Kernel> all;
  for (const GpuLaunch& launch : launches.all) {
    const auto* const step = std::get_if<GpuStep>(&launch);
    if (step == nullptr) continue;
    if (const auto* const kernel = std::get_if<Kernel>(&step->kernel)) all.push_back(*kernel);
  }
  return all;
}

std::size_t products_in(const GpuLaunches& launches) {
  return static_cast<std::size_t>(std::count_if(
      launches.all.begin(), launches.all.end(),
      [](const GpuLaunch& launch) { return std::holds_alternative<LayerProduct<Bf16>>(launch); }));
}

}  // namespace

// A layer has four matrices of weights: F and I have a product each, W one to their sums.
TEST_CASE("gpu stages: layers hand on what they make, forwards and back") {
  const Stages own;
  const GpuLaunches forward = own.of(0, GpuPass::forward);
  CHECK(products_in(forward) == 8);
  const auto norms = all_of<LayerNorm<Bf16>>(forward);
  const auto sums = all_of<Added<Bf16>>(forward);
  REQUIRE(norms.size() == 4);
  REQUIRE(sums.size() == 4);
  CHECK(norms[0].in == sums[0].a);
  CHECK(norms[2].in == sums[1].out);  // the second layer reads what the first one makes
  const GpuLaunches back = own.of(0, GpuPass::input_gradient);
  CHECK(products_in(back) == 8);
  const auto gradients = all_of<LayerNormGradient<Bf16>>(back);
  REQUIRE(gradients.size() == 4);
  CHECK(gradients[0].in == norms[3].in);                   // the last norm comes first
  CHECK(gradients[2].around == gradients[1].in_gradient);  // the first layer gets the second's
  CHECK(products_in(own.of(0, GpuPass::weight_gradient)) == 8);
  CHECK(products_in(own.of(1, GpuPass::forward)) == 4);
}

TEST_CASE("gpu stages: B is I and then W, and recomputation F before") {
  const Stages own;
  const auto count = [&](GpuPass pass) { return own.of(0, pass).all.size(); };
  CHECK(count(GpuPass::backward) ==
        count(GpuPass::input_gradient) + count(GpuPass::weight_gradient));
  const GpuLaunches again =
      own.stages.launches({GpuWork::transformer, 0, GpuPass::backward, 0, true}, 0);
  CHECK(again.all.size() == count(GpuPass::forward) + count(GpuPass::backward));
  CHECK(all_of<LayerNorm<Bf16>>(again).size() == 4);
}

TEST_CASE("gpu stages: slots have buffers of their own, stages their weights") {
  const Stages own;
  const auto first = all_of<LayerNorm<Bf16>>(own.of(0, GpuPass::forward)).front();
  const auto other_slot = all_of<LayerNorm<Bf16>>(own.of(0, GpuPass::forward, 1)).front();
  const auto other_stage = all_of<LayerNorm<Bf16>>(own.of(1, GpuPass::forward)).front();
  CHECK(first.weights == other_slot.weights);
  CHECK(first.in != other_slot.in);
  CHECK(first.out != other_slot.out);
  CHECK(first.weights != other_stage.weights);
}

TEST_CASE("gpu stages: where memory is short, slots share buffers") {
  const Stages own(1);
  const auto first = all_of<LayerNorm<Bf16>>(own.of(0, GpuPass::forward)).front();
  CHECK(all_of<LayerNorm<Bf16>>(own.of(0, GpuPass::forward, 1)).front().in == first.in);
}

TEST_CASE("gpu stages: without products there are no layers, and the reason") {
  const FakeGpu gpu;
  GpuCalls calls = gpu.calls();
  calls.why_no_products = [] { return "no library"; };
  const GpuDevice device(calls, 1, 0);
  CHECK_THROWS_WITH_AS(make_stages(device, two_program_stages()),
                       "no matrix products: no library; making the stages of rank 0", GpuError);
}

}  // namespace penstock::testing
