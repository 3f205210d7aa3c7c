#include "hardware_models/times/roofline_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "hardware_models/links/groups.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace penstock {
namespace {

constexpr double wide_bytes = 2;  // of a value before it is narrowed

double matrix_peak(const Device& device, const std::string& precision) {
  if (const auto found = runs_in(device, precision)) return device.peak_flops.find(*found)->second;
  throw InputError("/hardware", fmt::format("{} has no peak for {} or a wider precision; "
                                            "add one to /peak_flops in its file",
                                            device.name, precision));
}

/// The peak of vector units, when a device has one.
double vector_peak(const Device& device, double otherwise) {
  const auto found = device.peak_flops.find("fp32");
  return found == device.peak_flops.end() ? otherwise : found->second;
}

/// Tiles along a size; what rounding makes of a whole number of them is no further one.
double tiles_along(double size, double tile) { return std::ceil(size / tile - 1e-9); }

/// The filled share of the tiles of a matrix product.
double filled_tiles(const Kernel& kernel, double tile) {
  const auto filled = [&](double size) { return size / (tiles_along(size, tile) * tile); };
  return filled(kernel.rows) * filled(kernel.columns);
}

/// Matrix units load 16 bytes at a time: eight 2-byte values.
bool is_aligned(const Kernel& kernel) {
  constexpr double together = 8;
  return std::fmod(kernel.rows, together) == 0 && std::fmod(kernel.columns, together) == 0 &&
         std::fmod(kernel.inner, together) == 0;
}

/// FLOPs that a device spends on a product of known sizes.
double flops_spent(const Device& device, const Kernel& kernel) {
  if (kernel.rows <= 0 || kernel.columns <= 0) return kernel.flops;
  if (device.multiprocessors > 0) return flops_in_waves(device, kernel);
  return kernel.flops / filled_tiles(kernel, device.tile);
}

/// The speed of the stack's attention kernel at the nearest size of a head; nullptr: not measured.
const AttentionSpeed* speed_of(const Device& device, const Kernel& kernel) {
  const AttentionSpeed* nearest = nullptr;
  const auto distance = [&](const AttentionSpeed& speed) {
    return std::abs(portable_log(speed.head_size / kernel.inner));
  };
  for (const AttentionSpeed& speed : device.attention) {
    if (speed.kernel != device.stack.attention) continue;
    if (speed.backward != (kernel.pass != Pass::forward)) continue;
    if (nearest == nullptr || distance(speed) < distance(*nearest)) nearest = &speed;
  }
  return nearest;
}

/// A tile of the result, and the share of the best rate that a core reaches on it: small tiles read
/// each factor more often.
struct Tile {
  double rows;
  double columns;
  double share;
};

// The sizes that cuBLAS lists, from most to least efficient (NVIDIA, Matrix Multiplication
// Background User's Guide); the shares are a guess.
constexpr std::array tiles{Tile{256, 128, 1},   Tile{128, 256, 1},   Tile{128, 128, 0.93},
                           Tile{256, 64, 0.85}, Tile{64, 256, 0.85}, Tile{128, 64, 0.8},
                           Tile{64, 128, 0.8},  Tile{64, 64, 0.65}};
constexpr std::array<double, 5> splits{1, 2, 4, 8, 16};
constexpr double least_inner = 512;  // of a split product

/// The passes whose kernels a pass runs.
std::vector<Pass> parts_of(Pass pass) {
  if (pass == Pass::backward) return {Pass::backward_input, Pass::backward_weight};
  return {pass == Pass::recompute ? Pass::forward : pass};
}

/// By `Group`.
std::array<Members, 4> groups_of(const HardwareSpec& spec) {
  const auto members = [&](std::uint64_t count, std::uint64_t stride) {
    return members_of(*spec.machine, {count, stride, spec.devices()});
  };
  return {members(spec.tensor, 1), members(spec.context, spec.tensor),
          members(spec.expert, spec.expert_tensor), members(spec.expert_tensor, 1)};
}

/// Tiles that cover all products.
double tiles_of(const Kernel& product, const Tile& tile) {
  return tiles_along(product.rows, tile.rows) * tiles_along(product.columns, tile.columns) *
         product.batch;
}

}  // namespace

Extent recomputed_extent(const Layer& layer, const StackConstants& stack) {
  const Repeated repeated = layer.work.repeated;
  return {.selected_only = repeated == Repeated::selected,
          .to_the_end = !stack.stops_recomputing || repeated == Repeated::output};
}

std::string other_units_text(const Device& device, std::string_view precision) {
  const Recipe* recipe = recipe_of(precision);
  const auto runs = runs_in(device, precision);
  if (!runs || *runs == (recipe != nullptr ? recipe->units : precision)) return "";
  return fmt::format(
      "{} has no {} units: matrix products are priced, and MFU is counted, at its {} peak of "
      "{:.4g} TFLOP/s",
      device.name, precision, *runs, device.peak_flops.find(*runs)->second * 1e-12);
}

RooflineTimes::RooflineTimes(const HardwareSpec& spec)
    : machine_(*spec.machine),
      kernels_(machine_.device, spec.precision),
      groups_(groups_of(spec)),
      collectives_(spec.collectives),
      overlaps_experts_(spec.overlaps_experts),
      overlaps_shared_(spec.overlaps_shared),
      slows_(spec.slows),
      overlaps_tensor_(spec.overlaps_tensor),
      deduplicates_(spec.deduplicates.value_or(machine_.device.stack.deduplicates)) {}

Extent RooflineTimes::extent_of(const Layer& layer, Pass pass) const {
  return pass == Pass::recompute ? recomputed_extent(layer, machine_.device.stack) : Extent{};
}

/// Whether a kernel or collective runs in a pass.
template <class Work>
bool RooflineTimes::runs(const Work& work, Pass pass, Extent extent) {
  return work.pass == pass && extent.has(work);
}

double RooflineTimes::pass_us(const Layer& layer, Pass pass) const {
  const Extent extent = extent_of(layer, pass);
  const std::vector<Pass> passes = parts_of(pass);
  double us = 0;
  for (const Pass single : passes) us += single_pass_us(layer, single, extent);
  return us - saved_us(layer, passes, extent);
}

/// What a shared expert beside the all-to-alls of other experts saves: the two take as long as the
/// longer one, and kernels that run meanwhile are slowed.
double RooflineTimes::saved_us(const Layer& layer, std::span<const Pass> passes,
                               Extent extent) const {
  if (!overlaps_shared_ || overlaps_experts_) return 0;
  double shared_us = 0, exchange_us = 0;
  for (const Pass pass : passes) {
    for (const Kernel& kernel : layer.work.kernels) {
      const bool counts = kernel.shared && runs(kernel, pass, extent);
      if (counts) shared_us += kernel.count * kernels_.us(kernel);
    }
    for (const Collective& one : layer.work.collectives) {
      const bool exchanges = one.kind == CollectiveKind::all_to_all;
      if (!exchanges || !runs(one, pass, extent)) continue;
      exchange_us += one.count * group_us(one, group_of(one));
    }
  }
  const double beside_us = exchange_us * slows_.transfer;
  const double both_us = std::max(slowed_us(shared_us, beside_us, slows_), beside_us);
  return std::max(0.0, shared_us + exchange_us - both_us);
}

DeviceUse RooflineTimes::use(const Layer& layer, Pass pass) const {
  DeviceUse sum;
  for (const Pass single : parts_of(pass)) {
    sum += single_pass_use(layer, single, extent_of(layer, pass));
  }
  return sum;
}

double RooflineTimes::single_pass_us(const Layer& layer, Pass pass, Extent extent) const {
  double kernels_us = 0, attention_us = 0, issue_us = 0;
  bool routes = false;
  for (const Kernel& kernel : layer.work.kernels) {
    if (!runs(kernel, pass, extent)) continue;
    const double us = kernel.count * kernels_.us(kernel);
    kernels_us += us;
    if (kernel.kind == KernelKind::attention) attention_us += us;
    issue_us += kernel.count * kernels_.issue_us(kernel);
    routes = routes || (kernel.routes && !kernel.returns);
  }
  kernels_us = std::max(kernels_us, issue_us);
  if (routes && issue_us > 0) kernels_us += machine_.device.stack.routing_us;
  return kernels_us + collectives_us(layer, pass, extent, kernels_us, attention_us);
}

/// The time that collectives add to the kernels of a pass.
double RooflineTimes::collectives_us(const Layer& layer, Pass pass, Extent extent,
                                     double kernels_us, double attention_us) const {
  double exposed_us = 0, hidden_us = 0, rings_us = 0;
  for (const Collective& collective : layer.work.collectives) {
    if (!runs(collective, pass, extent)) continue;
    const Members& members = group_of(collective);
    const double us = collective.count * group_us(collective, members);
    const double hidden = hidden_share(collective, members);
    const bool ring =
        collective.kind == CollectiveKind::ring_exchange && machine_.device.stack.hides_rings;
    (ring ? rings_us : exposed_us) += us * (1 - hidden);
    hidden_us += us * hidden;
  }
  exposed_us += std::max(0.0, rings_us - attention_us);
  return exposed_us + std::max(0.0, hidden_us - kernels_us);
}

/// The share of a collective that runs behind kernels of its pass, if these take long enough.
double RooflineTimes::hidden_share(const Collective& collective, const Members& members) const {
  const bool shards = collective.kind == CollectiveKind::all_gather ||
                      collective.kind == CollectiveKind::reduce_scatter;
  if (collective.kind == CollectiveKind::all_to_all) return overlaps_experts_ ? 1 : 0;
  const bool of_tensors =
      collective.group == Group::tensor || collective.group == Group::expert_tensor;
  const bool split = of_tensors && shards && members.machines() == 1;
  return split && overlaps_tensor_ ? machine_.device.stack.tensor_hidden : 0;
}

DeviceUse RooflineTimes::single_pass_use(const Layer& layer, Pass pass, Extent extent) const {
  DeviceUse use;
  for (const Kernel& kernel : layer.work.kernels) {
    if (!runs(kernel, pass, extent)) continue;
    const bool matrix = kernel.kind != KernelKind::vector;
    (matrix ? use.compute_us : use.memory_us) += kernel.count * kernels_.us(kernel);
  }
  use.network_us = collectives_us(layer, pass, extent, 0, 0);
  return use;
}

const Members& RooflineTimes::group_of(const Collective& collective) const {
  return groups_[static_cast<std::size_t>(collective.group)];
}

double RooflineTimes::group_us(const Collective& collective, const Members& members) const {
  if (members.count == 1) return 0;
  const CollectiveCall call{collective.kind, collective.bytes, members, reach_of(machine_, members),
                            deduplicates_ ? collective.copies : 1};
  return collective_us(call, collectives_);
}

KernelTimes::KernelTimes(const Device& device, const std::string& precision)
    : device_(device),
      recipe_(narrowing_on(device, precision)),
      matrix_flops_(matrix_peak(device, recipe_of(precision) != nullptr ? "bf16" : precision)),
      vector_flops_(vector_peak(device, matrix_flops_)) {
  if (recipe_ == nullptr) return;
  const std::string_view units = *runs_in(device, precision);
  narrow_flops_ = device.peak_flops.find(units)->second;
  fp8_flops_ = matrix_peak(device, "fp8");
  narrow_share_ = units == "fp4" ? device.stack.fp4_share : device.stack.fp8_share;
}

double KernelTimes::us(const Kernel& kernel) const {
  switch (kernel.kind) {
    case KernelKind::matrix:
      return matrix_us(kernel);
    case KernelKind::attention:
      return attention_us(kernel);
    default:
      return vector_us(kernel);
  }
}

double KernelTimes::issue_us(const Kernel& kernel) const {
  if (device_.kernel_issue_us == 0) return 0;
  const bool by_expert = kernel.grouped && narrows_factors(kernel);
  return device_.kernel_issue_us + (by_expert ? kernel.batch * device_.stack.expert_issue_us : 0);
}

double KernelTimes::bytes_us(double bytes) const {
  return bytes * 1e6 /
         (device_.memory_bandwidth_bytes_per_s *
          efficiency_at(device_.memory_efficiency, bytes * 1e-6));
}

KernelTimes::Units KernelTimes::units_of(const Kernel& kernel) const {
  if (recipe_ == nullptr || !kernel.narrows) return {matrix_flops_, device_.stack.matrix_share};
  if (kernel.kind == KernelKind::matrix) return {narrow_flops_, narrow_share_, true};
  return {fp8_flops_, device_.stack.fp8_share, true};
}

bool KernelTimes::narrows_factors(const Kernel& kernel) const {
  return kernel.kind == KernelKind::matrix && units_of(kernel).narrow;
}

double KernelTimes::bytes(const Kernel& kernel) const {
  if (!narrows_factors(kernel)) return kernel.bytes;
  const double factors = kernel.batch * kernel.inner * (kernel.rows + kernel.columns);
  return kernel.bytes - factors * (wide_bytes - recipe_->number_bytes);
}

double KernelTimes::matrix_us(const Kernel& kernel) const {
  const StackConstants& stack = device_.stack;
  const Units units = units_of(kernel);
  Efficiency efficiency = device_.matrix_efficiency;
  if (units.narrow && !device_.fp8_efficiency.empty()) efficiency.table = device_.fp8_efficiency;
  const double rate = units.flops * device_.power_share * units.share *
                      efficiency_at(efficiency, kernel.flops * 1e-9) *
                      (is_aligned(kernel) ? 1 : device_.unaligned_efficiency);
  const bool by_expert = kernel.grouped && device_.kernel_issue_us > 0;
  const double added = by_expert ? kernel.batch * stack.expert_gflop * 1e9 : 0;
  const double work_us =
      std::max((flops_spent(device_, kernel) + added) * 1e6 / rate, bytes_us(bytes(kernel)));
  return work_us + device_.kernel_us + (narrows_factors(kernel) ? cast_us(kernel) : 0);
}

/// F narrows its input, I the gradient of its output, each by rows and by columns; W takes what
/// these have made. Weights are narrowed once a step.
double KernelTimes::cast_us(const Kernel& kernel) const {
  if (kernel.pass == Pass::backward_weight) return 0;
  constexpr double orders = 2;
  const double of_value = recipe_->reads * wide_bytes + orders * recipe_->number_bytes;
  return bytes_us(of_value * kernel.batch * kernel.rows * kernel.inner);
}

double KernelTimes::attention_us(const Kernel& kernel) const {
  const AttentionSpeed* speed = speed_of(device_, kernel);
  const double computed = device_.stack.computes_masked ? kernel.masked : 1;
  Kernel priced = kernel;
  priced.flops *= computed;
  priced.columns *= computed;
  if (speed == nullptr) return matrix_us(priced);
  const Units units = units_of(kernel);
  const StackConstants& stack = device_.stack;
  const double rate = units.flops * device_.power_share *
                      (units.narrow ? stack.fp8_attention_share : stack.attention_share) *
                      efficiency_at({speed->by_keys}, priced.columns);
  return std::max(priced.flops * 1e6 / rate, bytes_us(priced.bytes)) + device_.kernel_us;
}

double KernelTimes::vector_us(const Kernel& kernel) const {
  const StackConstants& stack = device_.stack;
  const double passes = kernel.fused    ? 1
                        : kernel.routes ? stack.routing_passes
                                        : stack.vector_passes;
  return std::max(kernel.flops * 1e6 / vector_flops_, passes * bytes_us(kernel.bytes)) +
         device_.kernel_us;
}

double flops_in_waves(const Device& device, const Kernel& product) {
  double fewest = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    const double number = tiles_of(product, tile);
    const double area = 2 * tile.rows * tile.columns;
    if (number * area * product.inner >= fewest * tile.share) continue;  // even in full waves
    for (const double split : splits) {
      if (split > 1 && product.inner / split < least_inner) break;
      const double waves = std::ceil(number * split / device.multiprocessors);
      const double steps = product.inner / split + device.tile_start;
      fewest = std::min(fewest, waves * device.multiprocessors * area * steps / tile.share);
    }
  }
  return std::max(fewest, product.flops);
}

}  // namespace penstock
