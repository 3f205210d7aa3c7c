#include "validate/backends/cuda/gpu_device.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

constexpr int insufficient_driver = 35;
constexpr int no_device = 100;

GpuOwner<GpuStreamTag> started(const GpuCalls& calls) {
  check(calls, calls.start(), "making the GPU ready");
  return make_stream(calls);
}

SmShares unpartitioned(std::string why) { return {{}, {}, std::move(why)}; }

std::string version(int cuda) {
  return std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
}

/// Why the driver is too old; none without a driver. One of the same major version is new enough.
std::optional<std::string> why_old_driver(const GpuCalls& calls) {
  int driver = 0;
  int runtime = 0;
  if (calls.cuda_versions(&driver, &runtime) != 0 || driver == 0) return std::nullopt;
  return "the NVIDIA driver is of CUDA " + version(driver) + ", and this build needs " +
         version(runtime / 1000 * 1000) + " or newer: update the driver" +
         (driver < 12000 ? "" : ", or build with CUDA 12.5 or a newer 12.x");
}

std::string number(std::uint32_t value) { return std::to_string(value); }

double total(const std::vector<double>& work) {
  return std::accumulate(work.begin(), work.end(), 0.0);
}

/// The smallest part of the SMs that the device gives.
std::uint32_t unit_sms(const SmGroup& all) {
  const std::uint32_t alignment = std::max(all.alignment, 1U);
  return (std::max(all.least, 1U) + alignment - 1) / alignment * alignment;
}

/// Whether the even share of every rank is within half a unit of its share by work.
bool even_within_units(std::uint32_t units, const std::vector<double>& work) {
  const double all = total(work);
  if (work.empty() || !(all > 0)) return true;
  const double even = static_cast<double>(units) / static_cast<double>(work.size());
  return std::all_of(work.begin(), work.end(),
                     [&](double own) { return std::abs(units * (own / all) - even) <= 0.5; });
}

/// How many groups of the smallest size the driver makes: fewer than fit where its clusters of SMs
/// are no multiples of them. 0 where it makes none.
std::uint32_t units_made(const GpuCalls& calls, const SmGroup& all, std::uint32_t most) {
  std::vector<SmGroup> groups(most);
  std::uint32_t count = most;
  SmGroup left;
  const int error = calls.split_sms(groups.data(), &count, all, &left, unit_sms(all));
  return error == 0 ? std::min(count, most) : 0;
}

/// The most SMs per rank that leave some for links; 0 when that is too few.
std::uint32_t even_sms(const SmGroup& all, std::uint32_t ranks) {
  const std::uint32_t alignment = std::max(all.alignment, 1U);
  if (ranks == 0 || all.sms == 0) return 0;
  const std::uint32_t sms = (all.sms - 1) / ranks / alignment * alignment;
  return sms < std::max(all.least, 1U) ? 0 : sms;
}

SmShare share_of(std::vector<SmGroup>::const_iterator first, std::uint32_t count) {
  SmShare share{{first, first + count}, 0};
  for (const SmGroup& group : share.groups) share.sms += group.sms;
  return share;
}

/// Splits into groups of one size, and gives `counts` of them to each rank, the last ones to links
/// if these have some.
SmShares split(const GpuCalls& calls, const SmGroup& all, std::uint32_t sms,
               const std::vector<std::uint32_t>& counts, std::uint32_t of_links = 0) {
  const std::uint32_t wanted = std::accumulate(counts.begin(), counts.end(), of_links);
  const std::string wish =
      number(all.sms) + " SMs for " + number(static_cast<std::uint32_t>(counts.size())) + " ranks";
  std::vector<SmGroup> groups(wanted);
  std::uint32_t count = wanted;
  SmGroup left;
  if (const int error = calls.split_sms(groups.data(), &count, all, &left, sms)) {
    return unpartitioned("splitting " + wish + ": " + error_text(calls, error));
  }
  if (count < wanted) {
    return unpartitioned(wish + ": the driver makes only " + number(count) + " groups of " +
                         number(sms));
  }
  if (of_links == 0 && left.sms == 0) return unpartitioned(wish + ": none left for links");
  SmShares shares;
  auto next = groups.cbegin();
  for (const std::uint32_t own : counts) {
    shares.ranks.push_back(share_of(next, own));
    next += own;
  }
  shares.links = of_links == 0 ? SmShare{{left}, left.sms} : share_of(next, of_links);
  return shares;
}

/// All in the smallest groups, of which links have one, and what an even split leaves.
SmShares split_with_links(const GpuCalls& calls, const SmGroup& all, std::uint32_t ranks,
                          const std::vector<double>& work) {
  const std::uint32_t unit = unit_sms(all);
  const std::uint32_t units = units_made(calls, all, all.sms / unit);
  const std::uint32_t of_ranks = units == 0 ? 0 : units - 1;
  auto counts = units_by_work(of_ranks, work);
  if (counts.empty() || even_within_units(of_ranks, work)) {
    counts.assign(ranks, ranks == 0 ? 0 : of_ranks / ranks);
  }
  if (counts.empty() || counts.front() == 0) {
    return unpartitioned(number(all.sms) + " SMs for " + number(ranks) +
                         " ranks and links: " + number(units) + " groups of " + number(unit));
  }
  return split(calls, all, unit, counts, units - std::accumulate(counts.begin(), counts.end(), 0U));
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
    return why_old_driver(calls).value_or(text + "no NVIDIA driver, " + error_text(calls, error));
  }
  return text + error_text(calls, error);
}

GpuDevice::GpuDevice(const GpuCalls& calls, std::uint32_t ranks, std::uint32_t links,
                     const std::vector<double>& work, const std::string& why_undivided,
                     std::chrono::milliseconds longest_wait)
    : calls_(&calls),
      watch_(std::make_unique<GpuWatch>(longest_wait)),
      rank_count_(ranks),
      link_count_(links),
      conductor_(started(calls)) {
  check(calls, calls.facts(&facts_), "asking what the GPU is");
  if (!why_undivided.empty()) {
    shares_ = unpartitioned(why_undivided);
  } else if (!divide(LinkSms::remainder, work) && links > 0) {
    const SmShares refused = shares_;
    if (!divide(LinkSms::group, work)) shares_ = refused;
  }
  if (is_partitioned()) return;
  while (lanes_.size() < ranks + links) lanes_.push_back(make_stream(calls));
}

/// Returns whether ranks have SMs of their own; else there are no lanes, and `shares_` says why.
bool GpuDevice::divide(LinkSms links, const std::vector<double>& work) {
  shares_ = share_sms(*calls_, rank_count_, work, links);
  if (!is_partitioned()) return false;
  try {
    make_green_lanes();
    try_lanes();
    return true;
  } catch (const GpuError& error) {
    lanes_.clear();
    contexts_.clear();
    shares_ = unpartitioned(error.what());
    return false;
  }
}

void GpuDevice::make_green_lanes() {
  for (const SmShare& rank : shares_.ranks) {
    contexts_.push_back(make_context(*calls_, rank.groups));
    lanes_.push_back(make_stream_on(*calls_, contexts_.back().get()));
  }
  if (link_count_ == 0) return;
  contexts_.push_back(make_context(*calls_, shares_.links.groups));
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
  wait_for(conductor(), "trying all lanes");
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

void GpuDevice::wait_for(GpuStream stream, const char* doing, std::optional<std::uint32_t> number,
                         const char* file, int line) const {
  const int error = watch_->during(doing, [&] { return calls_->synchronize(stream); });
  check(*calls_, error, doing, number, file, line);
}

std::string_view GpuDevice::mode() const {
  return is_partitioned() ? "green_contexts" : "streams_unpartitioned";
}

std::uint32_t GpuDevice::sms_of_rank(std::uint32_t rank) const {
  if (is_partitioned()) return shares_.ranks[rank].sms;
  if (each_has_all_) return facts_.sms;
  return std::max(facts_.sms / std::max(rank_count_, 1U), 1U);
}

LinkEngine GpuDevice::links() const {
  return link_engine(link_count_, shares_.links.sms, facts_.threads_per_sm);
}

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

SmShares share_sms(const GpuCalls& calls, std::uint32_t ranks, const std::vector<double>& work,
                   LinkSms links) {
  if (calls.split_sms == nullptr) return unpartitioned("the driver has no green contexts");
  SmGroup all;
  if (const int error = calls.all_sms(&all)) {
    return unpartitioned("asking for the SMs: " + error_text(calls, error));
  }
  if (links == LinkSms::group) return split_with_links(calls, all, ranks, work);
  const std::uint32_t sms = even_sms(all, ranks);
  if (sms == 0) {
    return unpartitioned(number(all.sms) + " SMs for " + number(ranks) +
                         " ranks: with some left for links, a rank would have fewer than " +
                         number(std::max(all.least, all.alignment)));
  }
  const std::uint32_t unit = unit_sms(all);
  const std::uint32_t units = units_made(calls, all, (all.sms - 1) / unit);
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

std::uint32_t hardware_queues(const char* setting) {
  // Without a setting, or (assumed) with one that is not a number.
  constexpr std::uint32_t usual = 8;
  if (setting == nullptr) return usual;
  char* end = nullptr;
  const long value = std::strtol(setting, &end, 10);
  if (end == setting || *end != '\0' || value < 1) return usual;
  return static_cast<std::uint32_t>(std::min(value, long{most_hardware_queues}));
}

}  // namespace penstock
