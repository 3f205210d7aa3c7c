#include "experiments/run/timing/kernel_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "hardware_models/layers/building/core_attention.hpp"
#include "hardware_models/times/roofline_time.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

Kernel product_kernel(const NamedNumbers& sizes, double number_bytes) {
  const MatrixProduct product{sizes.at("rows"), sizes.at("inner"), sizes.at("columns"),
                              sizes.at("batch")};
  // W narrows no input, as a product that is timed alone.
  Kernel kernel = matrix_kernel(Pass::backward_weight, product, number_bytes);
  kernel.narrows = true;
  return kernel;
}

Kernel attention_kernel(const NamedNumbers& sizes, double number_bytes) {
  CellShape shape;
  shape.sequence = sizes.at("sequence");
  shape.microbatch = sizes.at("batch");
  shape.activation_size = number_bytes;
  CoreAttention core;
  core.heads = sizes.at("heads");
  core.kv_heads = sizes.at("kv_heads") > 0 ? sizes.at("kv_heads") : core.heads;
  core.query_size = core.value_size = sizes.at("head_size");
  core.causal = sizes.at("causal") != 0;
  core.window = sizes.at("window");
  LayerWork work;
  add_core_attention(work, core, shape);
  const Pass pass = sizes.at("backward") != 0 ? Pass::backward_input : Pass::forward;
  return *std::ranges::find_if(work.kernels, [&](const Kernel& kernel) {
    return kernel.kind == KernelKind::attention && kernel.pass == pass;
  });
}

/// A stream through memory, in the fewest passes.
Kernel stream_kernel(const NamedNumbers& sizes, double /*number_bytes*/) {
  Kernel kernel = vector_kernel(Pass::forward, sizes.at("bytes"));
  kernel.fused = true;
  return kernel;
}

constexpr std::array product_sizes{Parameter{"rows", "rows of the result", std::nullopt},
                                   Parameter{"columns", "columns of the result", std::nullopt},
                                   Parameter{"inner", "what is summed over", std::nullopt},
                                   Parameter{"batch", "such products at once", 1}};
constexpr std::array attention_sizes{
    Parameter{"sequence", "tokens of a sequence", std::nullopt},
    Parameter{"heads", "heads of queries", std::nullopt},
    Parameter{"kv_heads", "heads of keys and values; 0: as many", 0, 0},
    Parameter{"head_size", "values of a head", 128},
    Parameter{"batch", "sequences", 1},
    Parameter{"window", "tokens of the sliding window; 0: all", 0, 0},
    flag("causal", "1: causal mask", 1),
    flag("backward", "1: gradients of queries, keys and values", 0)};
constexpr std::array stream_sizes{Parameter{"bytes", "read and written", std::nullopt}};

constexpr std::array kinds{
    KernelKindEntry{"product", "a product of matrices", product_sizes, product_kernel},
    KernelKindEntry{"attention", "flash attention", attention_sizes, attention_kernel},
    KernelKindEntry{"stream", "a stream through memory, as of a copy", stream_sizes,
                    stream_kernel}};

const KernelKindEntry& kind_named(const std::string& name) {
  std::vector<std::string> names;
  for (const KernelKindEntry& entry : kinds) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  throw InputError("/kind", unknown_text(fmt::format("kernel \"{}\"", name), name, names));
}

/// The precision that a kernel computes in when the model has this one: only products narrow.
std::string computed_in(const Kernel& kernel, const std::string& dtype) {
  return kernel.narrows || recipe_of(dtype) == nullptr ? dtype : "bf16";
}

/// The device with its own rates, under the question's power cap, with its attention kernel.
Device alone(Device device, const KernelQuestion& question) {
  const std::string& attention = question.attention;
  device.stack = question.shares;
  device.stack.attention = attention;
  if (question.watts.value_or(0) > 0) device.power_share = share_under_cap(device, *question.watts);
  if (attention.empty()) return device;
  std::vector<std::string> names;
  for (const AttentionSpeed& speed : device.attention) {
    if (speed.kernel == attention) return device;
    if (std::ranges::find(names, speed.kernel) == names.end()) {
      names.push_back(speed.kernel);
    }
  }
  if (names.empty()) {
    throw InputError("/attention", fmt::format("{} has no attention kernel", device.name));
  }
  throw InputError("/attention", unknown_text(fmt::format("attention kernel \"{}\"", attention),
                                              attention, names));
}

}  // namespace

std::span<const KernelKindEntry> kernel_kinds() { return kinds; }

KernelTiming time_kernel(const Device& device, const KernelQuestion& question) {
  const KernelKindEntry& kind = kind_named(question.kind);
  const NamedNumbers sizes =
      below("/sizes", [&] { return settled_numbers(kind.name, kind.sizes, question.sizes); });
  const bool four = question.dtype == "fp32" || question.dtype == "tf32";
  const Kernel kernel = kind.kernel(sizes, four ? 4 : 2);
  const std::string dtype = computed_in(kernel, question.dtype);
  const KernelTimes times(alone(device, question), dtype);
  KernelTiming timing{kernel, std::string(*runs_in(device, dtype))};
  timing.kernel.bytes = times.bytes(kernel);
  timing.us = times.us(kernel);
  timing.peak_flops_per_s = times.peak_flops();
  if (dtype != question.dtype)
    timing.notes.push_back(fmt::format("{} runs in {}", kind.name, dtype));
  const std::string units = other_units_text(device, dtype);
  if (kernel.flops > 0 && !units.empty()) timing.notes.push_back(units);
  return timing;
}

}  // namespace penstock
