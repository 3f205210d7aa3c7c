#include "tests/support/chakra_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

namespace penstock::testing {
namespace {

/// Sender, receiver, tag.
using MessageKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

MessageKey key_of(const ReadNode& node) {
  return {node.numbers.at("comm_src"), node.numbers.at("comm_dst"), node.numbers.at("comm_tag")};
}

bool is_message(const ReadNode& node) {
  return node.type == comm_send_node || node.type == comm_recv_node;
}

struct Finished {
  Time end;
  std::uint32_t hops = 0;
};

class Replay {
 public:
  Replay(const std::vector<ReadTrace>& devices, const ReplayNetwork& network)
      : devices_(devices), network_(network), finished_(devices.size()) {}

  Replayed run() {
    while (pass()) {
    }
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (finished_[d].size() != devices_[d].nodes.size()) {
        throw std::runtime_error(fmt::format("device {} never finishes", d));
      }
    }
    return result_;
  }

 private:
  /// Runs every node that can run. Returns whether any did.
  bool pass() {
    bool ran = false;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      for (const ReadNode& node : devices_[d].nodes) {
        if (finished_[d].count(node.id) == 0 && can_run(d, node)) {
          run_node(d, node);
          ran = true;
        }
      }
    }
    return ran;
  }

  bool can_run(std::size_t device, const ReadNode& node) const {
    for (const std::uint64_t need : node.data_deps) {
      if (finished_[device].count(need) == 0) return false;
    }
    if (node.type == comm_recv_node) return arrived_.count(key_of(node)) != 0;
    return node.type != comm_send_node || before_on_link(device, node);
  }

  /// Whether all earlier sends of this device to the same device have run.
  bool before_on_link(std::size_t device, const ReadNode& node) const {
    for (const ReadNode& other : devices_[device].nodes) {
      if (other.id == node.id) return true;
      if (other.type == comm_send_node && finished_[device].count(other.id) == 0 &&
          other.numbers.at("comm_dst") == node.numbers.at("comm_dst")) {
        return false;
      }
    }
    return true;
  }

  void run_node(std::size_t device, const ReadNode& node) {
    Finished at;
    for (const std::uint64_t need : node.data_deps) {
      const Finished& other = finished_[device].at(need);
      at = {std::max(at.end, other.end), std::max(at.hops, other.hops)};
    }
    if (node.type == comp_node) {
      // As the roofline of ASTRA-sim with a peak of 1,000 operations a nanosecond, cut off.
      const std::uint64_t nanoseconds = node.numbers.at("num_ops") / 1000;
      at.end += from_ns(static_cast<std::int64_t>(nanoseconds));
    } else if (node.type == comm_send_node) {
      const Carriage carriage = network_.message(node.numbers.at("comm_size"));
      at.end = over(links_[{device, node.numbers.at("comm_dst")}], at.end, carriage);
      arrived_[key_of(node)] = {at.end, at.hops + 1};
    } else if (node.type == comm_recv_node) {
      at = arrived_.at(key_of(node));
    } else {
      at.end = over(links_[{device, devices_.size()}], at.end, network_.collective(node));
      ++at.hops;
    }
    finished_[device][node.id] = at;
    result_.makespan = std::max(result_.makespan, at.end);
    result_.hops = std::max(result_.hops, at.hops);
  }

  /// When something arrives that has waited for a link since `ready`.
  static Time over(Time& free, Time ready, const Carriage& carriage) {
    free = std::max(free, ready) + carriage.occupies;
    return free + carriage.latency;
  }

  const std::vector<ReadTrace>& devices_;
  const ReplayNetwork& network_;
  std::vector<std::map<std::uint64_t, Finished>> finished_;
  std::map<MessageKey, Finished> arrived_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Time> links_;  // when each is free
  Replayed result_;
};

}  // namespace

Replayed replay(const std::vector<ReadTrace>& devices, const ReplayNetwork& network) {
  return Replay(devices, network).run();
}

std::string trace_fault(const std::vector<ReadTrace>& devices) {
  std::map<MessageKey, std::uint64_t> sends, receives;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    std::set<std::uint64_t> numbers;
    for (const ReadNode& node : devices[d].nodes) {
      if (!numbers.insert(node.id).second) return fmt::format("{}: two nodes {}", d, node.id);
      if (!is_message(node)) continue;
      const bool sent = node.type == comm_send_node;
      if (node.numbers.at(sent ? "comm_src" : "comm_dst") != d) {
        return fmt::format("{}: node {} is another's", d, node.id);
      }
      const auto [at, is_new] =
          (sent ? sends : receives).emplace(key_of(node), node.numbers.at("comm_size"));
      if (!is_new) return fmt::format("{}: node {} is one message with another", d, node.id);
    }
    for (const ReadNode& node : devices[d].nodes) {
      for (const std::uint64_t need : node.data_deps) {
        if (numbers.count(need) == 0) return fmt::format("{}: no node {}", d, need);
      }
    }
  }
  return sends == receives ? "" : "what is sent is not what is received";
}

}  // namespace penstock::testing
