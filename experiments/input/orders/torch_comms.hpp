#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The releases of PyTorch whose lowerings differ. 2.9 divides gradients by the number of
/// microbatches in the last backward of a stage, 2.14 in REDUCE_GRAD; 2.15 also waits for sends and
/// reductions in cells of their own.
enum class TorchVersion : std::uint8_t { v2_9, v2_14, v2_15 };
constexpr std::array<TorchVersion, 3> torch_versions{TorchVersion::v2_9, TorchVersion::v2_14,
                                                     TorchVersion::v2_15};
constexpr TorchVersion newest_torch = torch_versions.back();

/// "2.15".
std::string_view name(TorchVersion version);
/// The version of a text such as "2.15" or "2.15.1"; nothing for others.
std::optional<TorchVersion> torch_version(std::string_view text);
/// For any other text: "2.10: no lowering is known for this release of PyTorch; known: …".
std::string unknown_torch(std::string_view text);

constexpr bool has_reduce_grad(TorchVersion version) { return version >= TorchVersion::v2_14; }
constexpr bool has_waits(TorchVersion version) { return version >= TorchVersion::v2_15; }

/// Why no release trains an order: two copies of the model, no backwards, a rank without actions, a
/// missing microbatch, or, though it loads, forwards of the last stage that are not in ascending
/// order. "" if all do.
std::string why_not_loadable(const Schedule& schedule, const Placement& placement);

/// Why an order that loads would not train as its rule says: `slices` of a sequence that run as
/// microbatches, or weights that change within an iteration. "" if it trains so.
std::string why_trained_otherwise(std::uint32_t slices, WeightUse weights);

/// Why PyTorch would not train an order as its rule says: not at all, or otherwise. "" if it would.
std::string why_not_trained(const Schedule& schedule, const Placement& placement,
                            std::uint32_t slices, WeightUse weights);

/// What an order loses that is written without its rule: actions that the notation does not have,
/// a stage that every row may run, and why it is trained otherwise. "" if nothing.
std::string lost_text(const Schedule& schedule, const std::vector<std::string>& left_out,
                      std::uint32_t slices, WeightUse weights);

/// How an order is lowered.
struct Lowering {
  TorchVersion version = newest_torch;
  bool fsdp = false;  // with UNSHARD and RESHARD, as PyTorch always lowers
};

/// An order in PyTorch's notation with communication, lowered as the runtime of that version lowers
/// it: REDUCE_GRAD, sends and receives, and waits, where the version has them. Without REDUCE_GRAD
/// its runtime would not divide gradients by the number of microbatches. Each SEND follows the cell
/// that computes its tensor; each RECV is where the sweep over ranks put it. Throws RuleError for
/// an order that deadlocks, and for actions that the notation cannot express (use `torch_order`
/// first).
std::string write_torch_comms(const Schedule& schedule, const Placement& placement,
                              const Lowering& lowering);

}  // namespace penstock
