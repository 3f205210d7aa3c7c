#include "validate/backends/cuda/programs/gpu_pipeline.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace penstock {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

struct GpuAction {
  bool backward = false;
  std::uint32_t microbatch = 0;
};

/// The actions of a rank in 1F1B.
std::vector<GpuAction> actions_of(const GpuPipeline& pipeline, std::uint32_t rank) {
  const std::uint32_t ahead = std::min(pipeline.microbatches, pipeline.ranks - 1 - rank);
  std::vector<GpuAction> actions;
  for (std::uint32_t f = 0; f < ahead; ++f) actions.push_back({false, f});
  for (std::uint32_t f = ahead; f < pipeline.microbatches; ++f) {
    actions.push_back({false, f});
    actions.push_back({true, f - ahead});
  }
  for (std::uint32_t b = pipeline.microbatches - ahead; b < pipeline.microbatches; ++b) {
    actions.push_back({true, b});
  }
  return actions;
}

/// Merges the actions of all ranks into one order in which each follows its inputs.
class Lowering {
 public:
  explicit Lowering(const GpuPipeline& pipeline)
      : pipeline_(pipeline), program_{pipeline.ranks, 2 * (pipeline.ranks - 1), {}, {}} {
    for (auto& arrival : arrival_) {
      arrival.assign(std::size_t{pipeline.ranks} * pipeline.microbatches, none);
    }
  }

  GpuProgram program(const std::vector<std::vector<GpuAction>>& orders) {
    std::vector<std::size_t> next(pipeline_.ranks);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t rank = 0; rank < pipeline_.ranks; ++rank) {
        while (next[rank] < orders[rank].size() && add(rank, orders[rank][next[rank]])) {
          ++next[rank];
          moved = true;
        }
      }
    }
    for (std::uint32_t rank = 0; rank < pipeline_.ranks; ++rank) {
      if (next[rank] < orders[rank].size())
        throw std::logic_error("an action waits for an input that never arrives");
    }
    give_slots(orders);
    return program_;
  }

 private:
  /// The transfer with the input of an action; `none` until it is added.
  std::uint32_t& arrival(std::uint32_t rank, const GpuAction& action) {
    return arrival_[action.backward ? 1 : 0]
                   [std::size_t{rank} * pipeline_.microbatches + action.microbatch];
  }

  /// Adds an action and its transfer, unless its input is still missing.
  bool add(std::uint32_t rank, const GpuAction& action) {
    const std::uint32_t last = pipeline_.ranks - 1;
    const bool needs = action.backward ? rank < last : rank > 0;
    if (needs && arrival(rank, action) == none) return false;
    const std::uint64_t forward_ns = pipeline_.forward_ns;
    GpuTask task{.lane = rank,
                 .duration_ns = action.backward ? 2 * forward_ns : forward_ns,
                 .body = action.backward ? 1U : 0U};
    if (needs) task.inputs.push_back(arrival(rank, action));
    program_.tasks.push_back(std::move(task));
    if (action.backward ? rank > 0 : rank < last) send(rank, action);
    return true;
  }

  /// The activation of a microbatch has a buffer from its F to its B.
  void give_slots(const std::vector<std::vector<GpuAction>>& orders) {
    std::vector<std::vector<std::uint32_t>> slots;
    for (const std::vector<GpuAction>& order : orders) {
      std::vector<std::uint64_t> keys;
      for (const GpuAction& action : order) keys.push_back(action.microbatch);
      slots.push_back(slots_of(keys));
    }
    std::vector<std::size_t> next(pipeline_.ranks);
    for (GpuTask& task : program_.tasks) {
      if (!program_.is_transfer(task)) task.slot = slots[task.lane][next[task.lane]++];
    }
  }

  void send(std::uint32_t rank, const GpuAction& action) {
    const auto from = static_cast<std::uint32_t>(program_.tasks.size() - 1);
    const std::uint32_t link = action.backward ? 2 * (rank - 1) + 1 : 2 * rank;
    program_.tasks.push_back({.lane = pipeline_.ranks + link,
                              .duration_ns = pipeline_.transfer_ns,
                              .bytes = pipeline_.transfer_bytes,
                              .inputs = {from}});
    arrival(action.backward ? rank - 1 : rank + 1, action) = from + 1;
  }

  GpuPipeline pipeline_;
  GpuProgram program_;
  std::array<std::vector<std::uint32_t>, 2> arrival_;  // of F and B, by rank and microbatch
};

}  // namespace

GpuProgram one_f_one_b(const GpuPipeline& pipeline) {
  std::vector<std::vector<GpuAction>> orders;
  for (std::uint32_t r = 0; r < pipeline.ranks; ++r) orders.push_back(actions_of(pipeline, r));
  return Lowering(pipeline).program(orders);
}

std::uint64_t longest_path_ns(const GpuProgram& program) {
  std::vector<std::uint64_t> free(program.lanes());
  std::vector<std::uint64_t> end;
  std::uint64_t last = 0;
  for (const GpuTask& task : program.tasks) {
    std::uint64_t begin = free[task.lane];
    for (const std::uint32_t input : task.inputs) begin = std::max(begin, end[input]);
    free[task.lane] = begin + task.duration_ns;
    end.push_back(free[task.lane] + task.latency_ns);
    last = std::max(last, end.back());
  }
  return last;
}

}  // namespace penstock
