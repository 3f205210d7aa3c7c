#include "validate/backends/multi/rank_buffers.hpp"

#include <algorithm>

#include "validate/backends/cuda/gpu_error.hpp"

namespace penstock {

RankBuffers::RankBuffers(const RankDevice& device, const RankWork& work)
    : used_(work.channels.size()) {
  std::vector<std::uint64_t> sent(channels()), received(channels());
  for (const RankItem& item : work.items) {
    for (const CommOp& op : item.group) {
      used_[item.channel] = 1;
      const std::uint64_t bytes = moved_bytes(op.bytes);
      if (op.kind != CommKind::receive) sent[item.channel] = std::max(sent[item.channel], bytes);
      if (op.kind == CommKind::send) continue;
      received[item.channel] = std::max(received[item.channel], bytes);
    }
  }
  for (std::uint32_t channel = 0; channel < channels(); ++channel) {
    const RankRing ring = work.rings.empty() ? RankRing{} : work.rings[channel];
    sent_.push_back(cleared(device, channel, sent[channel], ring.sent));
    received_.push_back(cleared(device, channel, received[channel], ring.received));
  }
  check(device.gpu(), device.gpu().synchronize(device.compute()),
        "filling buffers of all channels");
}

RankBuffers::Ring RankBuffers::cleared(const RankDevice& device, std::uint32_t channel,
                                       std::uint64_t largest, std::uint32_t slots) {
  constexpr std::uint64_t alignment = 256;
  const GpuCalls& gpu = device.gpu();
  const std::uint64_t step = (largest + alignment - 1) / alignment * alignment;
  if (step == 0) return {0, {nullptr, gpu.free_memory}};
  Ring ring{step, make_memory(gpu, slots * step)};
  check(gpu, gpu.fill(ring.memory.get(), 0, slots * step, device.compute()),
        "filling buffers of channel", channel);
  return ring;
}

std::byte* RankBuffers::sent(std::uint32_t channel, std::uint32_t slot) const {
  return sent_[channel].at(slot);
}

std::byte* RankBuffers::received(std::uint32_t channel, std::uint32_t slot) const {
  return received_[channel].at(slot);
}

}  // namespace penstock
