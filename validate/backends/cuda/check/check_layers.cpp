#include <algorithm>
#include <cmath>
#include <cstring>

#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/stages/gpu_stages.hpp"

namespace penstock {
namespace {

struct LayerPass {
  GpuPass pass;
  const char* name;
};
constexpr LayerPass single_passes[] = {{GpuPass::forward, "forward"},
                                       {GpuPass::input_gradient, "backward_input"},
                                       {GpuPass::weight_gradient, "backward_weight"}};

/// A layer's memory on the GPU and here, in one block: both have the same parts.
class LayerTwins {
 public:
  LayerTwins(const GpuDevice& device, const GpuLayerKind& kind, const GpuLayerSizes& sizes)
      : calls_(device.calls()),
        device_(device),
        kind_(kind),
        sizes_(sizes),
        bytes_(kind.bytes(sizes_)),
        there_(make_memory(calls_, whole())),
        here_(whole()),
        products_(calls_, device.facts().sms) {
    kind_.draw(sizes_, here_.data());
    for (const std::uint64_t seed : {1U, 2U}) {  // what comes in, from both sides
      auto* const to = reinterpret_cast<Bf16*>(here_.data() + end(seed == 1 ? 0 : 2));
      draw_numbers(to, bytes_.ends / sizeof(Bf16), seed, 1);
    }
    check(calls_, calls_.write(there_.get(), here_.data(), here_.size()), "writing a layer");
  }

  /// The error of what a pass makes, from the same numbers.
  double error_of(GpuPass pass) {
    const std::vector<std::byte> before = read();
    std::copy(before.begin(), before.end(), here_.begin());
    const GpuLaunches launches = launches_of(pass, static_cast<std::byte*>(there_.get()));
    launch_all(calls_, device_.conductor(), launches, products_, device_.facts().sms);
    device_.wait_for(device_.conductor(), "running a layer");
    for (const GpuLaunch& launch : launches_of(pass, here_.data()).all) run_on_host(launch);
    const std::vector<std::byte> after = read();
    if (pass == GpuPass::weight_gradient) {
      return error<float>(after, bytes_.weights, bytes_.sums / sizeof(float));
    }
    return error<Bf16>(after, end(pass == GpuPass::forward ? 1 : 3), bytes_.ends / sizeof(Bf16));
  }

 private:
  std::uint64_t end(std::uint64_t number) const {
    return bytes_.weights + bytes_.sums + bytes_.kept + bytes_.scratch + number * bytes_.ends;
  }
  std::uint64_t whole() const { return end(4); }

  std::vector<std::byte> read() const {
    std::vector<std::byte> all(whole());
    check(calls_, calls_.read(all.data(), there_.get(), all.size()), "reading a layer");
    return all;
  }

  GpuLaunches launches_of(GpuPass pass, std::byte* block) const {
    const auto numbers = [&](std::uint64_t number) {
      return reinterpret_cast<Bf16*>(block + end(number));
    };
    GpuLaunches launches;
    kind_.launch(sizes_,
                 {.weights = block,
                  .sums = block + bytes_.weights,
                  .kept = block + bytes_.weights + bytes_.sums,
                  .scratch = block + bytes_.weights + bytes_.sums + bytes_.kept,
                  .ends = {numbers(0), numbers(1), numbers(2), numbers(3)}},
                 pass, launches);
    return launches;
  }

  /// The worst of all 64 neighbours: the difference from the host over its numbers, both as roots
  /// of mean squares.
  template <class Number>
  double error(const std::vector<std::byte>& after, std::uint64_t offset,
               std::uint64_t count) const {
    constexpr std::uint64_t neighbours = 64;
    double worst = 0;
    for (std::uint64_t first = 0; first < count; first += neighbours) {
      double off = 0;
      double size = 0;
      for (std::uint64_t i = first; i < std::min(count, first + neighbours); ++i) {
        Number own;
        Number right;
        std::memcpy(&own, after.data() + offset + i * sizeof own, sizeof own);
        std::memcpy(&right, here_.data() + offset + i * sizeof own, sizeof own);
        const double wanted = static_cast<double>(value_of(right));
        off += std::pow(static_cast<double>(value_of(own)) - wanted, 2);
        size += wanted * wanted;
      }
      const double share = off == 0 ? 0 : std::sqrt(off / size);
      worst = std::isnan(share) ? HUGE_VAL : std::max(worst, share);
    }
    return worst;
  }

  const GpuCalls& calls_;
  const GpuDevice& device_;
  const GpuLayerKind& kind_;
  GpuLayerSizes sizes_;
  GpuLayerBytes bytes_;
  GpuOwner<void> there_;
  std::vector<std::byte> here_;
  GpuProducts products_;
};

void compare_layer(const CheckRun& run, const GpuDevice& device, const GpuLayerKind& kind) {
  const GpuLayerSizes sizes = small_layer_sizes(run);
  for (const LayerError& pass : layer_errors(device, kind, sizes)) {
    const bool right = pass.error <= most_layer_error;
    run.output.facts("layer",
                     {{"kind", json(name(kind.work))},
                      {"pass", json(pass.pass)},
                      {"shape", json(shape_text(kind.numbers(sizes)))},
                      {"error", json(pass.error)},
                      {"most_error", json(most_layer_error)},
                      {"right", json(right)}},
                     !right);
  }
}

/// Each pass of one layer, alone on the SMs of rank 0.
void probe_layer(const CheckRun& run, const GpuDevice& device, const GpuLayerKind& kind) {
  GpuProgram program{1, 0, {}, {}, layer_sizes(run)};
  for (const LayerPass& pass : single_passes) {
    program.tasks.push_back({.lane = 0, .body = static_cast<std::uint32_t>(program.bodies.size())});
    program.bodies.push_back({kind.work, 1, pass.pass});
  }
  auto numbers = kind.numbers(program.sizes);
  numbers["sms"] = device.sms_of_rank(0);
  GpuExecutor executor(device, program, {.ordering = GpuOrdering::host_issued});
  const auto times = task_samples_ns(executor, run.quick ? 2 : 10);
  for (std::size_t task = 0; task < times.size(); ++task) {
    run.output.times(
        {name(kind.work), single_passes[task].name, shape_text(numbers), "solo", times[task]});
  }
}

}  // namespace

std::vector<LayerError> layer_errors(const GpuDevice& device, const GpuLayerKind& kind,
                                     const GpuLayerSizes& sizes) {
  LayerTwins twins(device, kind, sizes);
  std::vector<LayerError> errors;
  for (const LayerPass& pass : single_passes) {
    errors.push_back({pass.name, twins.error_of(pass.pass)});
  }
  return errors;
}

GpuLayerSizes layer_sizes(const CheckRun& run) {
  return run.quick ? small_layer_sizes(run) : GpuLayerSizes{};
}

GpuLayerSizes small_layer_sizes(const CheckRun& run) {
  GpuLayerSizes sizes{.examples = 2, .tokens = 128, .heads = 4, .inner = 1024, .gated_inner = 704};
  if (run.quick) sizes = {.examples = 1, .tokens = 8, .heads = 1, .inner = 64, .gated_inner = 32};
  sizes.images = 2;
  sizes.channels = run.quick ? 8 : 64;
  sizes.side = run.quick ? 4 : 16;
  return sizes;
}

void check_layers(const CheckRun& run) {
  const std::string why_not = run.calls.why_no_products();
  run.output.facts("layers", {{"why_not", json(why_not)}});
  if (!why_not.empty()) return;
  {
    const GpuDevice device(run.calls, 1, 0);
    for (const GpuLayerKind& kind : layer_kinds()) compare_layer(run, device, kind);
  }
  for (const std::uint32_t ranks : {1U, 2U, 4U, 8U, 16U}) {
    const GpuDevice device(run.calls, ranks, 0);
    if (ranks > 1 && !device.is_partitioned()) continue;  // nothing holds them to their share
    for (const GpuLayerKind& kind : layer_kinds()) probe_layer(run, device, kind);
  }
}

}  // namespace penstock
