#include "validate/transports/link_probe.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "validate/machine/cores.hpp"
#include "validate/transports/mailboxes.hpp"
#include "validate/transports/tcp_peers.hpp"

namespace penstock {
namespace {

/// A transport for each of two ranks, or one for both.
struct Ends {
  std::vector<std::unique_ptr<Transport>> all;

  Transport& of(std::uint32_t rank) const {
    return *all[std::min<std::size_t>(rank, all.size() - 1)];
  }
};

/// A box is filled once per run, so each round trip has two of its own.
std::vector<BoxSpec> boxes_for(std::uint32_t round_trips, std::size_t words) {
  std::vector<BoxSpec> boxes;
  for (std::uint32_t i = 0; i < round_trips; ++i) {
    boxes.push_back({0, 1, words});
    boxes.push_back({1, 0, words});
  }
  return boxes;
}

Ends ends_of(TransportKind kind, const std::vector<BoxSpec>& boxes) {
  Ends ends;
  switch (kind) {
    case TransportKind::mailboxes:
      ends.all.push_back(std::make_unique<Mailboxes>(boxes, 2));
      break;
    case TransportKind::tcp:
      for (auto& end : tcp_links_here(boxes, {{0, 1}, {1, 2}})) ends.all.push_back(std::move(end));
      break;
  }
  return ends;
}

void pass(Transport& transport, std::size_t from, std::size_t to, bool begins,
          std::vector<std::uint64_t>& words) {
  if (begins) transport.post(to, {}, words);
  if (!transport.take(from, words)) throw std::runtime_error("the measured link broke");
  if (!begins) transport.post(to, {}, words);
}

/// The time of each round trip; the first one is cold.
std::vector<double> round_trips_ns(const Ends& ends, std::uint32_t count, std::size_t size) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> ns(count);
  for (const auto& end : ends.all) end->clear();
  const auto walk = [&](std::uint32_t rank) {
    std::vector<std::uint64_t> words(size);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto begin = Clock::now();
      pass(ends.of(rank), 2 * i + 1 - rank, 2 * i + rank, rank == 0, words);
      const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
      if (rank == 0) ns[i] = took.count();
    }
    ends.of(rank).finish(rank);
  };
  on_all_ranks(2, walk, [&] {
    for (const auto& end : ends.all) end->halt();
  });
  return ns;
}

}  // namespace

std::string_view name(TransportKind kind) {
  return kind == TransportKind::mailboxes ? "mailboxes" : "tcp";
}

std::vector<double> measure_link(TransportKind kind, std::size_t bytes, std::uint32_t repeats) {
  constexpr std::size_t room = std::size_t{1} << 25;
  const std::size_t words = (bytes + 7) / 8;
  const auto fit = static_cast<std::uint32_t>(room / std::max<std::size_t>(16 * words, 1));
  const std::uint32_t at_once = std::clamp<std::uint32_t>(fit, 1, 64) + 1;
  const Ends ends = ends_of(kind, boxes_for(at_once, words));
  std::vector<double> samples;
  while (samples.size() < repeats) {
    const std::vector<double> round_trips = round_trips_ns(ends, at_once, words);
    for (std::size_t i = 1; i < round_trips.size() && samples.size() < repeats; ++i) {
      samples.push_back(round_trips[i] / 2);
    }
  }
  return samples;
}

}  // namespace penstock
