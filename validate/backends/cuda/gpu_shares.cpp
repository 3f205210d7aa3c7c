#include "validate/backends/cuda/gpu_shares.hpp"

#include <algorithm>

#include "validate/backends/cuda/gpu_error.hpp"

namespace penstock {
namespace {

SmShares unpartitioned(std::string why) { return {{}, {}, std::move(why)}; }

std::string number(std::uint32_t value) { return std::to_string(value); }

/// The most SMs per rank that leave some for links; 0 when that is too few.
std::uint32_t sms_of_rank(const SmGroup& all, std::uint32_t ranks) {
  const std::uint32_t alignment = std::max(all.alignment, 1U);
  if (ranks == 0 || all.sms == 0) return 0;
  const std::uint32_t sms = (all.sms - 1) / ranks / alignment * alignment;
  return sms < std::max(all.least, 1U) ? 0 : sms;
}

}  // namespace

SmShares share_sms(const GpuCalls& calls, std::uint32_t ranks) {
  if (calls.split_sms == nullptr) return unpartitioned("the driver has no green contexts");
  SmGroup all;
  if (const int error = calls.all_sms(&all)) {
    return unpartitioned("asking for the SMs: " + error_text(calls, error));
  }
  const std::uint32_t sms = sms_of_rank(all, ranks);
  const std::string wish = number(all.sms) + " SMs for " + number(ranks) + " ranks";
  if (sms == 0) {
    return unpartitioned(wish + ": with some left for links, a rank would have fewer than " +
                         number(std::max(all.least, all.alignment)));
  }
  SmShares shares;
  shares.ranks.resize(ranks);
  std::uint32_t count = ranks;
  if (const int error = calls.split_sms(shares.ranks.data(), &count, all, &shares.links, sms)) {
    return unpartitioned("splitting " + wish + ": " + error_text(calls, error));
  }
  if (count < ranks) {
    return unpartitioned(wish + ": the driver makes only " + number(count) + " groups of " +
                         number(sms));
  }
  if (shares.links.sms == 0) return unpartitioned(wish + ": none left for links");
  return shares;
}

LinkEngine link_engine(std::uint32_t links, std::uint32_t sms, std::uint32_t threads_per_sm) {
  if (links == 0 || sms == 0) return {};
  constexpr std::uint32_t warp = 32;
  constexpr std::uint32_t most_threads = 1024;  // of a block
  const std::uint32_t blocks = std::max(sms / links, 1U);
  const std::uint32_t on_one_sm = (links * blocks + sms - 1) / sms;
  const std::uint32_t threads = threads_per_sm / on_one_sm / warp * warp;
  return {blocks, std::clamp(threads, warp, most_threads)};
}

}  // namespace penstock
