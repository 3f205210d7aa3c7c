#pragma once

#include <map>
#include <memory>
#include <optional>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"
#include "validate/backends/cuda/stages/gpu_products.hpp"

namespace penstock {

/// Launches in turn; `products` are those of the stream's rank. Throws GpuError.
void launch_all(const GpuCalls& calls, GpuStream stream, const GpuLaunches& launches,
                GpuProducts& products, std::uint32_t sms);

/// What comes into a pass of a stage and what it makes for another stage, of the same size.
struct GpuStageEnds {
  void* in;
  const void* out;
  std::uint64_t bytes;
};

/// The stages of a rank whose actions run layers: weights and gradient sums of each, and buffers
/// by slot. Inputs, and gradients that come in, are drawn.
class GpuStages {
 public:
  /// Runs each pass in each slot once: a library loads its kernels late, which a capture does not
  /// allow. `most_bytes`: of slots; those beyond it use the buffers of others again. Throws
  /// GpuError.
  GpuStages(const GpuDevice& device, const GpuProgram& program, std::uint32_t rank,
            std::uint64_t most_bytes);

  /// What a pass launches.
  GpuLaunches launches(const GpuBody& body, std::uint32_t slot) const;
  /// Of forward, backward and input_gradient; nothing of other passes.
  std::optional<GpuStageEnds> ends(const GpuBody& body, std::uint32_t slot) const;
  /// Launches it on the stream of the rank. Throws GpuError.
  void launch(const GpuBody& body, std::uint32_t slot) const;
  std::uint64_t algorithms() const { return products_->algorithms(); }

 private:
  struct Stage {
    std::uint64_t layers = 0;
    GpuOwner<void> weights;
    GpuOwner<void> sums;
  };

  void make_stages(const GpuProgram& program);
  void make_slots(const GpuProgram& program, std::uint64_t most_bytes);
  void warm_up();
  std::byte* end_at(std::uint32_t slot, std::uint64_t number) const;
  GpuLayerMemory memory_of(const Stage& stage, std::uint64_t layer, std::uint32_t slot) const;
  void add(const Stage& stage, GpuPass pass, std::uint32_t slot, GpuLaunches& launches) const;

  const GpuDevice& device_;
  const GpuCalls& calls_;
  std::uint32_t rank_;
  GpuLayerSizes sizes_;
  const GpuLayerKind* kind_;
  GpuLayerBytes bytes_;
  std::map<std::uint32_t, Stage> stages_;
  std::uint64_t deepest_ = 0;  // layers of a stage
  std::uint64_t slot_bytes_ = 0;
  std::uint32_t slot_count_ = 0;
  GpuOwner<void> slots_;
  GpuOwner<void> scratch_;
  std::unique_ptr<GpuProducts> products_;  // known after the warm-up
};

/// By rank: its stages, or null if its actions run no layers. Throws GpuError.
std::vector<std::unique_ptr<GpuStages>> make_stages(const GpuDevice& device,
                                                    const GpuProgram& program);

}  // namespace penstock
