#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "sim/base/numbers.hpp"
#include "sim/order/communication.hpp"

namespace penstock {

/// Facts of a valid order.
struct OrderFacts {
  std::uint32_t ranks;
  std::uint32_t stages;
  std::uint32_t chunks;  // stages of each rank; 0 where ranks have unequal numbers
  std::uint32_t microbatches;
  std::string placement;  // "loop", "v", "bidirectional" or "given"
  bool with_communication;
  std::vector<std::uint32_t> peak_activations;  // by rank
  std::vector<TorchVersion> torch{};            // releases of PyTorch that load and train it
  std::string torch_note{};                     // why others do not; "" for nothing to say
  std::string fsdp_note{};                      // why PyTorch stops with FSDP stages; "" if not
  std::string timing_note{};                    // what a run leaves out; "" for nothing
};

/// What becomes of an order in PyTorch's runtime over one kind of streams.
struct StreamVerdict {
  std::string_view where;          // "NCCL"
  std::optional<CellFault> fault;  // a deadlock, or a tensor that another RECV takes
};

struct OrderCheck {
  std::optional<CellFault> fault;
  std::optional<OrderFacts> facts;  // of a sound order: a fault is then that of the release
  std::vector<std::vector<Stage>> inferred_chains{};  // one per copy of the model
  std::vector<StreamVerdict> streams{};               // where a release was asked about
};

/// Why a release rejects these cells of communication as it loads them: an EXCHANGE, or waits and
/// REDUCE_GRAD where it has none or needs waits. "" if it does not; without a version, if some
/// release may not.
std::string why_rejected(const std::vector<std::vector<CommCell>>& comms,
                         std::optional<TorchVersion> version);

/// Checks an order in PyTorch's notation, compute-only or with communication: that it is readable,
/// complete and consistent, and that all ranks reach the end of their rows. A fault of the whole
/// file (an empty file, a stage in no row) is at row 0, column 0. Without `chains`, copies of the
/// model are inferred (see placement_of). Throws InputError for chains that do not fit the stages
/// of the file.
///
/// With a release of PyTorch, a fault among ranks is a deadlock of its runtime, which posts RECVs
/// without waiting for them, over NCCL with a communicator for each pair of ranks. A compute-only
/// order is lowered as that release does. A release that does not load a sound order, or does not
/// train it right, is a fault of the whole file.
OrderCheck check_order(std::string_view text, const std::vector<std::vector<Stage>>& chains,
                       std::optional<TorchVersion> torch = std::nullopt);

}  // namespace penstock
