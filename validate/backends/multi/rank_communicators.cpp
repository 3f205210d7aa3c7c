#include "validate/backends/multi/rank_communicators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/nccl_calls.hpp"
#include "validate/backends/nccl/comm_channels.hpp"

namespace penstock {
namespace {

constexpr std::size_t tried_bytes = 64;

/// Only what is given is set. Communicators that are split off inherit it.
NcclConfig nccl_config(const CommResources& resources) {
  const auto given = [](std::uint32_t blocks) {
    return blocks > 0 ? static_cast<int>(blocks) : NcclConfig::unset;
  };
  NcclConfig config;
  config.least_blocks = given(resources.least_blocks);
  config.most_blocks = given(resources.most_blocks);
  if (resources.shared) config.split_share = 1;
  return config;
}

}  // namespace

RankCommunicators::RankCommunicators(const GpuDevice& device, const NcclCalls& nccl,
                                     const std::vector<Channel>& channels, std::uint32_t rank,
                                     std::uint32_t ranks, const NcclId& id,
                                     const CommResources& resources,
                                     std::chrono::milliseconds stop_limit)
    : device_(device),
      nccl_(nccl),
      comms_{&nccl, nullptr, std::vector<NcclComm>(channels.size())},
      tried_(make_memory(device.calls(), 2 * tried_bytes)),
      stop_limit_(stop_limit) {
  NcclConfig config = nccl_config(resources);
  check(nccl_,
        nccl_.comm_init_rank(&comms_.world, static_cast<int>(ranks), id, static_cast<int>(rank),
                             &config),
        "making a communicator of all ranks", nullptr);
  keep(comms_.world);
  for (const auto& round : split_rounds(channels)) split(channels, round, rank);
}

/// The parent last.
RankCommunicators::~RankCommunicators() {
  if (is_aborted_) return;
  for (auto comm = all_.rbegin(); comm != all_.rend(); ++comm) nccl_.comm_destroy(*comm);
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
  check(nccl_, nccl_.comm_split(comms_.world, color, key, &made, nullptr),
        "splitting a communicator", comms_.world);
  keep(made);
  if (is_member) comms_.of_link[*own] = made;
}

/// In one group: to abort one communicator may wait for another, whose turn would come later.
void RankCommunicators::abort() {
  GpuWatch timer(stop_limit_);
  timer.during("aborting communicators", [this] {
    const std::lock_guard lock(mutex_);
    if (is_aborted_.exchange(true)) return 0;
    nccl_.group_start();
    for (auto comm = all_.rbegin(); comm != all_.rend(); ++comm) nccl_.comm_abort(*comm);
    return nccl_.group_end();
  });
}

std::optional<std::string> RankCommunicators::asynchronous_fault() const {
  const std::lock_guard lock(mutex_);
  if (is_aborted_) return std::nullopt;
  for (const NcclComm comm : all_) {
    int error = 0;
    const int asked = nccl_.comm_get_async_error(comm, &error);
    if (asked != 0) error = asked;
    if (error == 0 || error == nccl_in_progress) continue;
    return "NCCL: " + error_text(nccl_, error, comm);
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
  const GpuStream stream = stream_of(channel);
  check(device_.calls(),
        device_.calls().fill(tried_.get(), static_cast<int>(position + 1), tried_bytes, stream),
        "filling what is reduced on channel", channel);
  check(nccl_,
        nccl_.all_reduce(tried_.get(), tried_.get(), tried_bytes, nccl_uint8, nccl_sum,
                         comms_.of_link[channel], stream),
        "trying to reduce", comms_.of_link[channel]);
  expect(static_cast<unsigned char>(members * (members + 1) / 2), channel);
}

/// From the first to the second, and back.
void RankCommunicators::try_pair(std::uint32_t channel, std::uint32_t position) const {
  const GpuStream stream = stream_of(channel);
  auto* const sent = static_cast<std::byte*>(tried_.get()) + tried_bytes;
  const auto peer = static_cast<int>(1 - position);
  check(device_.calls(),
        device_.calls().fill(sent, static_cast<int>(position + 1), tried_bytes, stream),
        "filling what is sent on channel", channel);
  for (std::uint32_t sender = 0; sender < 2; ++sender) {
    const int error = sender == position ? nccl_.send(sent, tried_bytes, nccl_uint8, peer,
                                                      comms_.of_link[channel], stream)
                                         : nccl_.recv(tried_.get(), tried_bytes, nccl_uint8, peer,
                                                      comms_.of_link[channel], stream);
    check(nccl_, error, "trying to send and receive", comms_.of_link[channel]);
  }
  expect(static_cast<unsigned char>(2 - position), channel);
}

void RankCommunicators::expect(unsigned char byte, std::uint32_t channel) const {
  device_.wait_for(stream_of(channel), "trying channel", channel);
  std::array<unsigned char, tried_bytes> all{};
  check(device_.calls(), device_.calls().read(all.data(), tried_.get(), all.size()),
        "reading what came on channel", channel);
  for (const unsigned char one : all) {
    if (one != byte) throw NcclError(fmt::format("a trial gave {} instead of {}", one, byte));
  }
}

RankWatch::RankWatch(RankCommunicators& communicators, std::chrono::milliseconds limit)
    : communicators_(communicators), thread_([this, limit] { watch(limit); }) {}

RankWatch::~RankWatch() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  wake_.notify_one();
}

std::string RankWatch::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

bool RankWatch::is_late() const {
  const std::lock_guard lock(mutex_);
  return is_late_;
}

void RankWatch::watch(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds pause{100};
  const auto end = std::chrono::steady_clock::now() + limit;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return done_; })) {
    lock.unlock();
    auto reason = communicators_.asynchronous_fault();
    const bool is_late = !reason && std::chrono::steady_clock::now() > end;
    if (is_late) {
      reason = fmt::format("it did not end within {} s", static_cast<double>(limit.count()) / 1e3);
    }
    lock.lock();
    if (!reason) continue;
    fault_ = *reason;
    is_late_ = is_late;
    lock.unlock();
    return communicators_.abort();
  }
}

}  // namespace penstock
