#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/backends/cuda/gpu_calls.hpp"
#include "validate/backends/cuda/gpu_watch.hpp"

namespace penstock {

/// The most hardware queues for streams. With fewer queues than streams, some streams wait for
/// others unnoticed by the program.
constexpr std::uint32_t most_hardware_queues = 32;

/// The number of queues by CUDA_DEVICE_MAX_CONNECTIONS; null when unset.
std::uint32_t hardware_queues(const char* setting);

/// The SMs of a rank, or of all links.
struct SmShare {
  std::vector<SmGroup> groups;  // of one split
  std::uint32_t sms = 0;        // of all groups
};

/// The split of a GPU's SMs.
struct SmShares {
  std::vector<SmShare> ranks;     // one per rank; none when all share all SMs
  SmShare links;                  // the remaining SMs, or groups like those of ranks
  std::string why_unpartitioned;  // why there are no groups
};

/// Splits `units` among ranks in proportion to their work, by the largest remainder; ties go to the
/// first. Each rank gets at least one; empty when there are too few.
std::vector<std::uint32_t> units_by_work(std::uint32_t units, const std::vector<double>& work);

/// What links run on: the SMs that a split leaves, which a driver may refuse as a partition of
/// their own, or groups like those of ranks.
enum class LinkSms : std::uint8_t { remainder, group };

/// Splits the SMs of the device among ranks, with some left for links, or says why it cannot.
/// Ranks get equal groups, or, when their work differs by more than the smallest group, several
/// such groups each in proportion to it. `work`, in any unit, is by rank; empty: equal.
SmShares share_sms(const GpuCalls& calls, std::uint32_t ranks, const std::vector<double>& work = {},
                   LinkSms links = LinkSms::remainder);

/// The share of each link on the link SMs, so that all links run at once.
struct LinkEngine {
  std::uint32_t blocks = 1;  // per link
  std::uint32_t threads = 512;
};
LinkEngine link_engine(std::uint32_t links, std::uint32_t sms, std::uint32_t threads_per_sm);

/// Why none can be used: "no GPU: …", or that its driver is too old for this CUDA.
std::optional<std::string> why_no_gpu(const GpuCalls& calls);

/// One GPU that runs several ranks: a stream per rank, on its own SMs when these can be split, and
/// a stream per link, on the remaining SMs. Links that share a stream would wait for each other.
class GpuDevice {
 public:
  /// SMs in proportion to the work of ranks, as `share_sms` has it; with a reason not to, all SMs
  /// for all. A wait for the GPU that lasts longer than `longest_wait` ends the process. Throws
  /// GpuError. `calls` must outlive it.
  GpuDevice(const GpuCalls& calls, std::uint32_t ranks, std::uint32_t links,
            const std::vector<double>& work = {}, const std::string& why_undivided = {},
            std::chrono::milliseconds longest_wait = usual_gpu_wait);

  const GpuCalls& calls() const { return *calls_; }
  const GpuFacts& facts() const { return facts_; }
  const SmShares& shares() const { return shares_; }
  bool is_partitioned() const { return !shares_.ranks.empty(); }
  /// The partitioning: "green_contexts" or "streams_unpartitioned".
  std::string_view mode() const;
  /// Why one graph cannot have tasks of all lanes; "" when it can.
  const std::string& why_no_graph() const { return why_no_graph_; }
  /// Actions run one at a time: each may take all SMs.
  void give_each_all_sms() { each_has_all_ = true; }
  /// SMs of a rank; when all ranks share all SMs, the share that each would have.
  std::uint32_t sms_of_rank(std::uint32_t rank) const;
  LinkEngine links() const;
  /// What the buffers of one executor may take: of its links, and of its actions or layers. Five
  /// executors, the most that live at once, fit.
  std::uint64_t most_link_bytes() const { return facts_.free_bytes / 16; }
  std::uint64_t most_action_bytes() const { return facts_.free_bytes / 8; }

  /// The stream of a rank, or of ranks + a link.
  GpuStream lane(std::uint32_t lane) const { return lanes_[lane].get(); }
  std::uint32_t lanes() const { return static_cast<std::uint32_t>(lanes_.size()); }
  /// An event for a lane. Throws GpuError.
  GpuOwner<GpuEventTag> make_event_of(std::uint32_t lane) const;
  /// The stream from which all lanes start and where they end.
  GpuStream conductor() const { return conductor_.get(); }
  /// Those made here, and those that contexts have by default.
  std::uint32_t streams() const { return lanes() + 1; }
  std::uint32_t default_streams() const { return static_cast<std::uint32_t>(contexts_.size()) + 1; }
  /// Waits for all work of a stream. Throws GpuError, which names what was done where.
  void wait_for(GpuStream stream, const char* doing,
                std::optional<std::uint32_t> number = std::nullopt,
                const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;

 private:
  bool divide(LinkSms links, const std::vector<double>& work);
  void make_green_lanes();
  void try_lanes();
  void pass_lanes(GpuEvent start, const std::vector<GpuOwner<GpuEventTag>>& ends);

  const GpuCalls* calls_;
  std::unique_ptr<GpuWatch> watch_;
  std::uint32_t rank_count_;
  std::uint32_t link_count_;
  GpuFacts facts_;
  SmShares shares_;
  bool each_has_all_ = false;
  std::string why_no_graph_;
  std::vector<GpuOwner<GpuContextTag>> contexts_;  // of ranks, then links; outlive their streams
  std::vector<GpuOwner<GpuStreamTag>> lanes_;
  GpuOwner<GpuStreamTag> conductor_;
};

}  // namespace penstock
