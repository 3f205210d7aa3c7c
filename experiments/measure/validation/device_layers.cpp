#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/measure/validation/validation.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw UsageError("--bodies layers: " + reason);
}

double number_of(const LayerSpec& layer, std::string_view name, double absent) {
  const auto found = layer.numbers.find(name);
  return found == layer.numbers.end() ? absent : found->second;
}

/// Refuses numbers of a layer that a kernel does not know, unless they are as it works.
void check_numbers(const LayerSpec& layer,
                   std::initializer_list<std::pair<std::string_view, double>> as_it_works,
                   std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : layer.numbers) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto* const usual = std::find_if(as_it_works.begin(), as_it_works.end(),
                                           [&](const auto& one) { return one.first == name; });
    const double wanted = usual == as_it_works.end() ? 0 : usual->second;
    if (value == wanted) continue;
    refuse(fmt::format("kernels of {} know {} {} alone, not {}", layer.kind, name, wanted, value));
  }
}

constexpr double most_width = 1 << 20;
constexpr double most_tokens = 1 << 24;  // of a microbatch

/// The sizes of a transformer layer.
struct Sizes {
  double hidden = 0;
  double heads = 0;
  double head = 0;
  double inner = 0;
  bool gated = false;
  friend bool operator==(const Sizes&, const Sizes&) = default;
};

/// Collects the layers of a model, part by part: norm, attention, norm, network.
class Layers {
 public:
  void add(const LayerSpec& part) {
    if (part.kind == "norm") {
      ++norms_;
    } else if (part.kind == "attention") {
      check_norms(part);
      add_attention(part);
    } else if (part.kind == "mlp") {
      check_norms(part);
      add_network(part);
    } else if (part.kind == "embedding" || part.kind == "head") {
      norms_ = 0;
    } else {
      refuse(fmt::format("a GPU has no kernels of {}", part.kind));
    }
  }

  /// Of a stage that ends here.
  std::uint32_t count(std::size_t stage) {
    if (open_) refuse(fmt::format("stage {} ends between an attention and its network", stage));
    if (count_ == 0) refuse(fmt::format("stage {} has no transformer layer", stage));
    return std::exchange(count_, 0);
  }

  const Sizes& sizes() const { return *sizes_; }

 private:
  void check_norms(const LayerSpec& part) {
    if (norms_ != 1) {
      refuse(
          fmt::format("kernels have one norm before each attention and network, not {} before "
                      "{}",
                      norms_, part.kind));
    }
    norms_ = 0;
  }

  void add_attention(const LayerSpec& part) {
    if (open_) refuse("an attention follows another one");
    open_ = true;
    now_.hidden = number_of(part, "hidden", 0);
    now_.heads = number_of(part, "heads", 1);
    now_.head = number_of(part, "head_dim", now_.hidden / now_.heads);
    check_numbers(part, {{"causal", 1}, {"flash", 1}, {"kv_heads", now_.heads}},
                  {"hidden", "heads", "head_dim", "qkv_bias", "out_bias"});
    if ((now_.head != 64 && now_.head != 128) || now_.head * now_.heads != now_.hidden) {
      refuse(
          fmt::format("heads have 64 or 128 numbers, and hidden as many as all heads; not {} "
                      "heads of {} and hidden {}",
                      now_.heads, now_.head, now_.hidden));
    }
  }

  void add_network(const LayerSpec& part) {
    if (!open_) refuse("a network does not follow an attention");
    open_ = false;
    now_.inner = number_of(part, "intermediate", 0);
    now_.gated = number_of(part, "gated", 0) == 1;
    check_numbers(part, {{"hidden", now_.hidden}}, {"intermediate", "gated", "bias"});
    if (std::fmod(now_.inner, 8) != 0) refuse("the size of a network is a multiple of 8");
    if (now_.hidden > most_width || now_.inner > most_width) {
      refuse(fmt::format("layers are {} numbers wide at most", most_width));
    }
    if (sizes_ && *sizes_ != now_) refuse("its transformer layers have several sizes");
    sizes_ = now_;
    ++count_;
  }

  std::optional<Sizes> sizes_;
  Sizes now_;
  bool open_ = false;        // an attention without its network
  std::uint32_t norms_ = 0;  // since the last part that is no norm
  std::uint32_t count_ = 0;
};

void check_runs_on_gpu(const Layout& layout) {
  if (layout.spec.blocks.empty()) refuse("the model states times, not kinds of layers");
  if (layout.module) refuse("its layers have one set of degrees: leave out /modules");
  if (layout.documents) refuse("microbatches are of one size");
  const CellShape& shape = layout.shape;
  if (shape.tensor != 1 || shape.context != 1) {
    refuse("a GPU has whole layers: no tensor or context parallelism");
  }
  if (shape.slices != 1) refuse("a GPU runs whole microbatches, not slices");
  for (const double size : {shape.sequence, shape.microbatch}) {
    if (size != std::floor(size)) refuse("examples and their tokens are whole numbers");
  }
  if (shape.sequence * shape.microbatch > most_tokens) {
    refuse(fmt::format("a microbatch has {} tokens at most", most_tokens));
  }
  const RecomputeSection& recompute = layout.recompute;
  const bool whole = recompute.mode == RecomputeMode::full && !recompute.layers;
  if (recompute.mode.value_or(RecomputeMode::none) != RecomputeMode::none && !whole) {
    refuse("a GPU recomputes all layers of a stage or none");
  }
  if (layout.hardware.spec.precision != "bf16") {
    refuse(fmt::format("kernels are in bf16, not {}", layout.hardware.spec.precision));
  }
  if (layout.codec.encodes()) refuse("a GPU encodes nothing: leave out /codec");
  if (layout.offloaded_layers > 0) refuse("a GPU offloads nothing: leave out /memory/offload");
  if (layout.overheads.host_us > 0)
    refuse("a GPU's host takes its own time, not /overheads/host_us");
}

}  // namespace

DeviceOptions with_layers_of(const Layout& layout, DeviceOptions device) {
  check_runs_on_gpu(layout);
  Layers layers;
  DeviceLayers made;
  for (std::vector<LayerIndex> stage : layout.partition.stages) {
    std::sort(stage.begin(), stage.end());
    for (const LayerIndex layer : stage) {
      for (const LayerSpec& part : layout.spec.blocks[index(layer)].parts) layers.add(part);
    }
    made.of_stage.push_back(layers.count(made.of_stage.size()));
  }
  const Sizes& sizes = layers.sizes();
  made.sizes.examples = static_cast<std::uint32_t>(layout.shape.microbatch);
  made.sizes.tokens = static_cast<std::uint32_t>(layout.shape.sequence);
  made.sizes.heads = static_cast<std::uint32_t>(sizes.heads);
  made.sizes.head = static_cast<std::uint32_t>(sizes.head);
  made.sizes.inner = made.sizes.gated_inner = static_cast<std::uint32_t>(sizes.inner);
  device.work = sizes.gated ? GpuWork::gated_transformer : GpuWork::transformer;
  device.layers = std::move(made);
  return device;
}

}  // namespace penstock
