#include "validate/backends/cuda/gpu_device.hpp"

#include <algorithm>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

constexpr int insufficient_driver = 35;
constexpr int no_device = 100;

GpuOwner<GpuStreamTag> started(const GpuCalls& calls) {
  check(calls, calls.start(), "making the GPU ready");
  return make_stream(calls);
}

}  // namespace

std::optional<std::string> why_no_gpu(const GpuCalls& calls) {
  int count = 0;
  const int error = calls.count_devices(&count);
  if (error == 0 && count > 0) return std::nullopt;
  const std::string text = "no GPU: ";
  if (error == 0) return text + "the driver sees none";
  if (error == no_device) return text + "the driver sees none, " + error_text(calls, error);
  if (error == insufficient_driver) {
    return text + "no NVIDIA driver, or one too old for this CUDA, " + error_text(calls, error);
  }
  return text + error_text(calls, error);
}

GpuDevice::GpuDevice(const GpuCalls& calls, std::uint32_t ranks, std::uint32_t links,
                     const std::vector<double>& work, const std::string& why_undivided)
    : calls_(&calls), rank_count_(ranks), link_count_(links), conductor_(started(calls)) {
  check(calls, calls.facts(&facts_), "asking what the GPU is");
  shares_ = why_undivided.empty() ? share_sms(calls, ranks, work) : SmShares{{}, {}, why_undivided};
  try {
    if (is_partitioned()) {
      make_green_lanes();
      try_lanes();
    }
  } catch (const GpuError& error) {
    lanes_.clear();
    contexts_.clear();
    shares_ = {{}, {}, error.what()};
  }
  if (!is_partitioned()) make_plain_lanes();
}

void GpuDevice::make_green_lanes() {
  for (const RankSms& rank : shares_.ranks) {
    contexts_.push_back(make_context(*calls_, rank.groups));
    lanes_.push_back(make_stream_on(*calls_, contexts_.back().get()));
  }
  if (link_count_ == 0) return;
  contexts_.push_back(make_context(*calls_, {shares_.links}));
  for (std::uint32_t link = 0; link < link_count_; ++link) {
    lanes_.push_back(make_stream_on(*calls_, contexts_.back().get()));
  }
}

/// Uses lanes once as executors do, so that a driver that refuses is known early. Without a capture
/// of all lanes, ranks keep their SMs, and the host launches tasks.
void GpuDevice::try_lanes() {
  const GpuOwner<GpuEventTag> start = make_event(*calls_);
  std::vector<GpuOwner<GpuEventTag>> ends;
  for (std::uint32_t lane = 0; lane < lanes(); ++lane) ends.push_back(make_event_of(lane));
  pass_lanes(start.get(), ends);
  check(*calls_, calls_->synchronize(conductor()), "trying all lanes");
  try {
    const auto graph = captured(*calls_, conductor(), [&] { pass_lanes(start.get(), ends); });
    instantiate(*calls_, graph.get());
  } catch (const GpuError& error) {
    why_no_graph_ = error.what();
  }
}

/// From the conductor through one lane after the other, and back from each.
void GpuDevice::pass_lanes(GpuEvent start, const std::vector<GpuOwner<GpuEventTag>>& ends) {
  check(*calls_, calls_->record(start, conductor()), "trying the first event");
  GpuEvent before = start;
  for (std::uint32_t at = 0; at < lanes(); ++at) {
    check(*calls_, calls_->wait(lane(at), before), "trying to wait on lane", at);
    check(*calls_, calls_->launch_nothing(lane(at)), "trying a kernel on lane", at);
    before = ends[at].get();
    check(*calls_, calls_->record(before, lane(at)), "trying an event on lane", at);
    check(*calls_, calls_->wait(conductor(), before), "trying to wait for lane", at);
  }
}

GpuOwner<GpuEventTag> GpuDevice::make_event_of(std::uint32_t lane) const {
  if (!is_partitioned()) return make_event(*calls_);
  return make_event_on(*calls_, contexts_[std::min(lane, rank_count_)].get());
}

void GpuDevice::make_plain_lanes() {
  while (lanes_.size() < rank_count_ + link_count_) lanes_.push_back(make_stream(*calls_));
}

std::string_view GpuDevice::mode() const {
  return is_partitioned() ? "green_contexts" : "streams_unpartitioned";
}

std::uint32_t GpuDevice::sms_of_rank(std::uint32_t rank) const {
  if (is_partitioned()) return shares_.ranks[rank].sms;
  return std::max(facts_.sms / std::max(rank_count_, 1U), 1U);
}

LinkEngine GpuDevice::links() const {
  return link_engine(link_count_, shares_.links.sms, facts_.threads_per_sm);
}

}  // namespace penstock
