#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/collectives/rounds/rounds.hpp"
#include "hardware_models/spec/hardware_spec.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/work.hpp"

namespace penstock {

/// "a100 has no fp8 units: …": that matrix products of a precision run in another one on a device;
/// empty if they run in it, or in none.
std::string other_units_text(const Device& device, std::string_view precision);

/// Times of single kernels on a device, as its stack runs them.
class KernelTimes {
 public:
  /// Throws InputError when the device has no peak for the precision.
  KernelTimes(const Device& device, const std::string& precision);

  /// Microseconds of one run.
  double us(const Kernel& kernel) const;

  /// Time of the host to launch one run; 0 where it launches whole graphs.
  double issue_us(const Kernel& kernel) const;

  /// Bytes read and written by one run: a narrow product reads narrowed factors.
  double bytes(const Kernel& kernel) const;

  /// Peak of dense matrix products per second, in the precision they run in.
  double peak_flops() const { return recipe_ != nullptr ? narrow_flops_ : matrix_flops_; }

 private:
  /// The matrix units that a product runs on, and the share of their rate that the stack reaches.
  struct Units {
    double flops = 0;
    double share = 1;
    bool narrow = false;
  };
  Units units_of(const Kernel& kernel) const;
  double matrix_us(const Kernel& kernel) const;
  double attention_us(const Kernel& kernel) const;
  double vector_us(const Kernel& kernel) const;
  bool narrows_factors(const Kernel& kernel) const;
  double bytes_us(double bytes) const;
  double cast_us(const Kernel& kernel) const;

  Device device_;
  const Recipe* recipe_ = nullptr;  // of products with weights; nullptr: they are not narrowed
  double narrow_share_ = 1;         // of their rate, that the stack reaches
  double matrix_flops_ = 0;         // of all other products
  double narrow_flops_ = 0;
  double fp8_flops_ = 0;  // of narrow attention
  double vector_flops_ = 0;
};

/// What runs of F, I or W; recomputation may repeat less of F.
struct Extent {
  bool selected_only = false;
  bool to_the_end = true;

  /// Whether a kernel or collective of the pass runs.
  template <class Work>
  bool has(const Work& work) const {
    return (work.selective || !selected_only) && (to_the_end || !work.closes);
  }
};

/// What recomputation repeats of F of a layer that it repeats at all.
Extent recomputed_extent(const Layer& layer, const StackConstants& stack);

/// Times of layers given by their work, on the device of a machine. A kernel is bound by arithmetic
/// or memory, a pass by its kernels or by host launches. Collectives follow the kernels but for
/// what runs behind them: what the stack hides, and all-to-alls of experts where the spec says that
/// they overlap, with all kernels or with those of a shared expert.
class RooflineTimes {
 public:
  /// The spec must have a machine. Throws InputError when its device has no peak for the precision.
  explicit RooflineTimes(const HardwareSpec& spec);

  /// Microseconds. B is I plus W; recomputation is F, or the selected kernels of F, or those that
  /// its backward needs where the stack stops there. Throws InputError when a collective has no
  /// link.
  double pass_us(const Layer& layer, Pass pass) const;

  /// What the time of a pass consists of; kernels other than matrix products occupy the memory.
  DeviceUse use(const Layer& layer, Pass pass) const;

  /// Peak of dense matrix products per second, in the precision they run in.
  double peak_flops() const { return kernels_.peak_flops(); }

 private:
  Extent extent_of(const Layer& layer, Pass pass) const;
  template <class Work>
  static bool runs(const Work& work, Pass pass, Extent extent);
  double single_pass_us(const Layer& layer, Pass pass, Extent extent) const;
  double saved_us(const Layer& layer, std::span<const Pass> passes, Extent extent) const;
  double collectives_us(const Layer& layer, Pass pass, Extent extent, double kernels_us,
                        double attention_us) const;
  DeviceUse single_pass_use(const Layer& layer, Pass pass, Extent extent) const;
  const Members& group_of(const Collective& collective) const;
  double group_us(const Collective& collective, const Members& members) const;
  double hidden_share(const Collective& collective, const Members& members) const;

  Machine machine_;
  KernelTimes kernels_;
  std::array<Members, 4> groups_;  // by `Group`: how each lies in machines
  CollectiveChoice collectives_;
  bool overlaps_experts_;
  bool overlaps_shared_;
  Interference slows_;
  bool overlaps_tensor_;
  bool deduplicates_;
};

/// FLOPs that a device spends on a product: those of whole tiles in whole waves over its cores, the
/// start of each tile included, with the tiles and the split of the inner size that need the
/// fewest. Never below the FLOPs of the product.
double flops_in_waves(const Device& device, const Kernel& product);

}  // namespace penstock
