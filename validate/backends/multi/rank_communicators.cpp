#include "validate/backends/multi/rank_communicators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "validate/backends/cuda/gpu_error.hpp"
#include "validate/backends/nccl/comm_channels.hpp"
#include "validate/backends/nccl/nccl_config.hpp"
#include "validate/backends/nccl/nccl_error.hpp"

namespace penstock {
namespace {

constexpr std::size_t tried_bytes = 64;

}  // namespace

RankCommunicators::RankCommunicators(const RankDevice& device, const std::vector<Channel>& channels,
                                     std::uint32_t rank, std::uint32_t ranks, const NcclId& id,
                                     const CommResources& resources)
    : device_(device),
      channels_(channels.size()),
      tried_(make_memory(device.gpu(), 2 * tried_bytes)) {
  NcclConfig config = nccl_config(resources);
  check(
      nccl(),
      nccl().comm_init_rank(&world_, static_cast<int>(ranks), id, static_cast<int>(rank), &config),
      "making a communicator of all ranks", nullptr);
  keep(world_);
  for (const auto& round : split_rounds(channels)) split(channels, round, rank);
}

/// The parent last.
RankCommunicators::~RankCommunicators() {
  if (is_aborted_) return;
  for (auto comm = all_.rbegin(); comm != all_.rend(); ++comm) nccl().comm_destroy(*comm);
}

void RankCommunicators::keep(NcclComm comm) {
  if (comm == nullptr) return;
  const std::lock_guard lock(mutex_);
  all_.push_back(comm);
  if (is_aborted_) throw NcclError("communication was aborted");
}

void RankCommunicators::split(const std::vector<Channel>& channels,
                              const std::vector<std::uint32_t>& round, std::uint32_t rank) {
  const auto own = std::find_if(round.begin(), round.end(),
                                [&](std::uint32_t channel) { return channels[channel].has(rank); });
  const bool is_member = own != round.end();
  const int color = is_member ? static_cast<int>(*own) : nccl_no_color;
  const int key = is_member ? static_cast<int>(channels[*own].position_of(rank)) : 0;
  NcclComm made = nullptr;
  check(nccl(), nccl().comm_split(world_, color, key, &made, nullptr), "splitting a communicator",
        world_);
  keep(made);
  if (is_member) channels_[*own] = made;
}

void RankCommunicators::abort() {
  const std::lock_guard lock(mutex_);
  if (is_aborted_.exchange(true)) return;
  for (auto comm = all_.rbegin(); comm != all_.rend(); ++comm) nccl().comm_abort(*comm);
}

std::optional<std::string> RankCommunicators::asynchronous_fault() const {
  const std::lock_guard lock(mutex_);
  if (is_aborted_) return std::nullopt;
  for (const NcclComm comm : all_) {
    int error = 0;
    const int asked = nccl().comm_get_async_error(comm, &error);
    if (asked != 0) error = asked;
    if (error == 0 || error == nccl_in_progress) continue;
    const char* const last = nccl().get_last_error(comm);
    return fmt::format("NCCL: {} ({}){}{}", nccl().get_error_string(error), error,
                       last && *last ? ": " : "", last ? last : "");
  }
  return std::nullopt;
}

void RankCommunicators::try_channels(const std::vector<Channel>& channels,
                                     std::uint32_t rank) const {
  for (std::uint32_t channel = 0; channel < channels.size(); ++channel) {
    if (!channels[channel].has(rank)) continue;
    const std::uint32_t position = channels[channel].position_of(rank);
    if (channels[channel].is_collective) {
      try_collective(channel, position, channels[channel].members.size());
    } else {
      try_pair(channel, position);
    }
  }
}

/// The sum of the positions, from 1.
void RankCommunicators::try_collective(std::uint32_t channel, std::uint32_t position,
                                       std::size_t members) const {
  const GpuStream stream = device_.channel(channel);
  check(device_.gpu(),
        device_.gpu().fill(tried_.get(), static_cast<int>(position + 1), tried_bytes, stream),
        "filling what is reduced on channel", channel);
  check(nccl(),
        nccl().all_reduce(tried_.get(), tried_.get(), tried_bytes, nccl_uint8, nccl_sum,
                          of(channel), stream),
        "trying to reduce", of(channel));
  expect(static_cast<unsigned char>(members * (members + 1) / 2), channel);
}

/// From the first to the second, and back.
void RankCommunicators::try_pair(std::uint32_t channel, std::uint32_t position) const {
  const GpuStream stream = device_.channel(channel);
  auto* const sent = static_cast<std::byte*>(tried_.get()) + tried_bytes;
  const auto peer = static_cast<int>(1 - position);
  check(device_.gpu(),
        device_.gpu().fill(sent, static_cast<int>(position + 1), tried_bytes, stream),
        "filling what is sent on channel", channel);
  for (std::uint32_t sender = 0; sender < 2; ++sender) {
    const int error =
        sender == position
            ? nccl().send(sent, tried_bytes, nccl_uint8, peer, of(channel), stream)
            : nccl().recv(tried_.get(), tried_bytes, nccl_uint8, peer, of(channel), stream);
    check(nccl(), error, "trying to send and receive", of(channel));
  }
  expect(static_cast<unsigned char>(2 - position), channel);
}

void RankCommunicators::expect(unsigned char byte, std::uint32_t channel) const {
  check(device_.gpu(), device_.gpu().synchronize(device_.channel(channel)), "trying channel",
        channel);
  std::array<unsigned char, tried_bytes> all{};
  check(device_.gpu(), device_.gpu().read(all.data(), tried_.get(), all.size()),
        "reading what came on channel", channel);
  for (const unsigned char one : all) {
    if (one != byte) throw NcclError(fmt::format("a trial gave {} instead of {}", one, byte));
  }
}

}  // namespace penstock
