#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/multi/rank_actions.hpp"
#include "validate/backends/multi/rank_buffers.hpp"
#include "validate/backends/multi/rank_communicators.hpp"
#include "validate/backends/multi/rank_device.hpp"
#include "validate/backends/multi/rank_work.hpp"

namespace penstock {

/// A run of one rank, by the clock of its host.
struct RankRun {
  std::vector<RankStamp> stamps;
  double uncertainty_ns = 0;           // of the GPU's clock against the host's
  std::optional<TaskId> wrong = {};    // a transfer that brought another tensor
  std::optional<TaskId> brought = {};  // whose; none: of no transfer of this run
};

/// Runs the actions and calls of one rank, any number of times. Each tensor begins with 16 bytes
/// that name it, and the reader checks them; behind them is what layers make and read. Device,
/// communicators and actions must outlive it; one thread uses it.
class RankExecutor {
 public:
  /// Throws GpuError.
  RankExecutor(const RankDevice& device, const RankCommunicators& communicators,
               const RankActions& actions, RankWork work);

  /// Begins together with all ranks. Throws GpuError and NcclError, also when aborted.
  RankRun run();
  /// Whether tensors between stages hold what layers make.
  bool carries_layers() const { return !work_.slots.empty(); }
  /// After an aborted run: the first action or transfer that began and did not end, or did not even
  /// begin.
  std::optional<TaskId> unfinished() const;

 private:
  /// Names a tensor at its beginning.
  struct Tag {
    std::uint64_t run = 0;
    std::uint64_t task = 0;
  };
  void make_events();
  GpuStream stream_of(const RankItem& item) const;
  bool shares_stream(const RankItem& a, const RankItem& b) const;
  void clear();
  void begin_together();
  void issue(std::uint32_t item);
  void launch_action(std::uint32_t item);
  void take_tensors(std::uint32_t item, const RankAction& action);
  void give_tensors(std::uint32_t item, const RankAction& action);
  void hand_on(std::uint32_t item, std::uint32_t from, std::uint32_t to);
  void take_tensor(std::uint32_t item, const RankTensor& tensor, const GpuStageEnds& ends);
  void give_tensor(std::uint32_t item, const RankTensor& tensor, const GpuStageEnds& ends);
  void issue_group(std::uint32_t item);
  std::uint32_t slot_of(std::uint32_t item, const CommOp& op) const;
  std::byte* sent_from(std::uint32_t item, const CommOp& op) const;
  std::byte* received_in(std::uint32_t item, const CommOp& op) const;
  void call(std::uint32_t item, const CommOp& op);
  void stamp(std::uint32_t slot, GpuStream stream);
  void move_tag(std::uint32_t slot, GpuStream stream, const void* from, void* to);
  void await_all();
  void check_tags(RankRun& run) const;
  GpuKernelTask kernel_task(std::uint32_t slot) const;
  std::vector<std::uint64_t> stamps(const GpuOwner<void>& of) const;

  const RankDevice& device_;
  const RankCommunicators& communicators_;
  const RankActions& actions_;
  const GpuCalls& gpu_;
  RankWork work_;
  std::uint64_t runs_ = 0;
  GpuOwner<void> begin_ns_;  // two slots per item: before it and after
  GpuOwner<void> end_ns_;
  GpuOwner<void> records_;  // by slot: how long its kernel takes
  GpuOwner<void> sms_seen_;
  GpuOwner<void> tags_;     // by item: of what it sends
  GpuOwner<void> found_;    // by item: of what it received
  GpuOwner<void> meeting_;  // memory of the call with which all begin
  RankBuffers buffers_;
  std::vector<GpuOwner<GpuEventTag>> done_;  // by item, if others wait for it
  GpuOwner<GpuEventTag> start_;
};

}  // namespace penstock
