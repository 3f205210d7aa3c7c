#include "validate/backends/cuda/gpu_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

SmShares unpartitioned(std::string why) { return {{}, {}, std::move(why)}; }

std::string number(std::uint32_t value) { return std::to_string(value); }

double total(const std::vector<double>& work) {
  return std::accumulate(work.begin(), work.end(), 0.0);
}

/// The smallest part of the SMs that the device gives.
std::uint32_t unit_sms(const SmGroup& all) {
  const std::uint32_t alignment = std::max(all.alignment, 1U);
  return (std::max(all.least, 1U) + alignment - 1) / alignment * alignment;
}

/// The most SMs per rank that leave some for links; 0 when that is too few.
std::uint32_t even_sms(const SmGroup& all, std::uint32_t ranks) {
  const std::uint32_t alignment = std::max(all.alignment, 1U);
  if (ranks == 0 || all.sms == 0) return 0;
  const std::uint32_t sms = (all.sms - 1) / ranks / alignment * alignment;
  return sms < std::max(all.least, 1U) ? 0 : sms;
}

/// Splits into this many groups of one size, and gives `counts` of them to each rank.
SmShares split(const GpuCalls& calls, const SmGroup& all, std::uint32_t sms,
               const std::vector<std::uint32_t>& counts) {
  const std::uint32_t wanted = std::accumulate(counts.begin(), counts.end(), 0U);
  const std::string wish =
      number(all.sms) + " SMs for " + number(static_cast<std::uint32_t>(counts.size())) + " ranks";
  std::vector<SmGroup> groups(wanted);
  std::uint32_t count = wanted;
  SmShares shares;
  if (const int error = calls.split_sms(groups.data(), &count, all, &shares.links, sms)) {
    return unpartitioned("splitting " + wish + ": " + error_text(calls, error));
  }
  if (count < wanted) {
    return unpartitioned(wish + ": the driver makes only " + number(count) + " groups of " +
                         number(sms));
  }
  if (shares.links.sms == 0) return unpartitioned(wish + ": none left for links");
  auto next = groups.begin();
  for (const std::uint32_t own : counts) {
    RankSms& rank = shares.ranks.emplace_back();
    rank.groups.assign(next, next + own);
    for (const SmGroup& group : rank.groups) rank.sms += group.sms;
    next += own;
  }
  return shares;
}

}  // namespace

std::vector<std::uint32_t> units_by_work(std::uint32_t units, const std::vector<double>& work) {
  const double all = total(work);
  if (work.empty() || units < work.size() || !(all > 0)) return {};
  std::vector<std::uint32_t> counts;
  std::vector<double> missing;  // of its share by work
  for (const double own : work) {
    const double quota = units * (own / all);
    counts.push_back(std::max(1U, static_cast<std::uint32_t>(quota)));
    missing.push_back(quota - counts.back());
  }
  std::uint32_t given = std::accumulate(counts.begin(), counts.end(), 0U);
  for (; given < units; ++given) {
    const auto most = std::max_element(missing.begin(), missing.end());
    ++counts[static_cast<std::size_t>(most - missing.begin())];
    *most -= 1;
  }
  // Ranks with little work have more than their share: the others give that.
  for (; given > units; --given) {
    std::size_t richest = 0;
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      const bool can = counts[rank] > 1;
      if (can && (counts[richest] == 1 || missing[rank] < missing[richest])) richest = rank;
    }
    --counts[richest];
    missing[richest] += 1;
  }
  return counts;
}

bool even_within_units(std::uint32_t units, const std::vector<double>& work) {
  const double all = total(work);
  if (work.empty() || !(all > 0)) return true;
  const double even = static_cast<double>(units) / static_cast<double>(work.size());
  return std::all_of(work.begin(), work.end(),
                     [&](double own) { return std::abs(units * (own / all) - even) <= 0.5; });
}

SmShares share_sms(const GpuCalls& calls, std::uint32_t ranks, const std::vector<double>& work) {
  if (calls.split_sms == nullptr) return unpartitioned("the driver has no green contexts");
  SmGroup all;
  if (const int error = calls.all_sms(&all)) {
    return unpartitioned("asking for the SMs: " + error_text(calls, error));
  }
  const std::uint32_t sms = even_sms(all, ranks);
  if (sms == 0) {
    return unpartitioned(number(all.sms) + " SMs for " + number(ranks) +
                         " ranks: with some left for links, a rank would have fewer than " +
                         number(std::max(all.least, all.alignment)));
  }
  const std::uint32_t unit = unit_sms(all);
  const std::uint32_t units = (all.sms - 1) / unit;
  const auto counts = units_by_work(units, work);
  if (counts.empty() || even_within_units(units, work)) {
    return split(calls, all, sms, std::vector<std::uint32_t>(ranks, 1));
  }
  return split(calls, all, unit, counts);
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
