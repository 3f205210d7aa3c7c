#include "hardware_models/links/wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "hardware_models/spec/machine.hpp"
#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// A number in the spelling of `std::to_string`.
std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || std::to_string(value) != text) return std::nullopt;
  return value;
}

Rank end_of_route(const HardwareSpec& spec, std::string_view text, const std::string& where) {
  if (text == "host") return host_memory;
  if (text == "data") return data_replicas;
  const auto rank = number_in(text);
  if (rank && *rank < spec.all_ranks()) return Rank{*rank};
  throw InputError(where, fmt::format("unknown rank \"{}\"; ranks are 0 to {}, and \"host\" or "
                                      "\"data\" may be one end",
                                      text, spec.all_ranks() - 1));
}

/// The ends that "0>1" names.
std::pair<Rank, Rank> ends_of_route(const HardwareSpec& spec, const std::string& key) {
  const std::string where = "/hardware/routes" + pointer_step(key);
  const std::size_t arrow = key.find('>');
  if (arrow == std::string::npos) {
    throw InputError(where,
                     fmt::format("\"{}\" is not a pair of ranks; write it like \"0>1\"", key));
  }
  const std::string_view text = key;
  const Rank from = end_of_route(spec, text.substr(0, arrow), where);
  const Rank to = end_of_route(spec, text.substr(arrow + 1), where);
  const auto is_rank = [&](Rank end) { return index(end) < spec.all_ranks(); };
  if (from == to || (!is_rank(from) && !is_rank(to))) {
    throw InputError(where, fmt::format("\"{}\" does not lead from a rank to another end; write it "
                                        "like \"0>1\" or \"0>host\"",
                                        key));
  }
  return {from, to};
}

Route named_links(const std::map<std::string, std::uint32_t>& numbers, const std::string& key,
                  const std::vector<std::string>& names) {
  Route route;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string where = fmt::format("/hardware/routes{}/{}", pointer_step(key), i);
    const auto found = numbers.find(names[i]);
    if (found == numbers.end()) {
      throw InputError(where,
                       fmt::format("unknown link \"{}\"; name one of /hardware/links", names[i]));
    }
    if (std::ranges::find(route, found->second) != route.end()) {
      throw InputError(where, fmt::format("\"{}\" occurs twice in this route; a transfer uses "
                                          "a link once",
                                          names[i]));
    }
    route.push_back(found->second);
  }
  return route;
}

std::vector<NetworkLink> links_by_name(const HardwareSpec& spec) {
  std::vector<NetworkLink> links;
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    const LinkSpec& link = spec.links[i];
    const std::string where = fmt::format("/hardware/links/{}", i);
    if (!link.from.empty() || !link.to.empty()) {
      throw InputError(where,
                       "\"from\" and \"to\" conflict with \"routes\"; give the ends of all "
                       "links, or routes");
    }
    if (link.name.empty()) throw InputError(where + "/name", "\"name\" is missing: routes need it");
    links.push_back({link.name, link.bandwidth_bytes_per_s, link.latency_us});
  }
  return links;
}

using NodeAt = std::function<std::optional<Node>(Rank end, Rank other)>;

/// Seats up to that of the last device.
std::uint64_t seats_of(const HardwareSpec& spec) {
  return spec.machine ? seat_of(*spec.machine, spec.devices() - 1) + 1 : spec.devices();
}

/// Nodes of a cluster in the order of devices.
std::vector<Node> seated(const HardwareSpec& spec, const std::vector<Node>& seats) {
  std::vector<Node> nodes;
  for (std::uint64_t device = 0; device < spec.devices(); ++device) {
    nodes.push_back(seats[spec.machine ? seat_of(*spec.machine, device) : device]);
  }
  return nodes;
}

/// Devices of a rank that share a NIC: they all send at once.
std::uint32_t nic_sharers(const HardwareSpec& spec) {
  const auto sharing = spec.topology->parameters.find("devices_per_nic");
  if (sharing == spec.topology->parameters.end()) return 1;
  return static_cast<std::uint32_t>(
      std::clamp(static_cast<double>(spec.devices_per_rank), 1.0, sharing->second));
}

/// The device at an end of a link that is not host memory.
class DeviceAt {
 public:
  explicit DeviceAt(const HardwareSpec& spec)
      : machine_(spec.machine && spec.machine->topology ? spec.machine : std::nullopt) {
    for (const Rank rank : Numbers<Rank>(spec.all_ranks())) {
      devices_.push_back(spec.devices_of(rank));
    }
  }

  /// For data replicas: the device of another copy of the rank at the other end, else the next
  /// device of its group; nothing where it is alone.
  std::optional<std::uint64_t> operator()(Rank end, Rank other) const {
    if (end != data_replicas) return devices_[index(end)].first;
    const RankDevices& devices = devices_[index(other)];
    if (devices.count == 1) return std::nullopt;
    return devices.per_replica == devices.count ? devices.first + 1 : copy_of(devices);
  }

 private:
  /// All-reduces across machines use the NIC of each device, to the same local rank of another
  /// machine if a copy is there; others go to the next copy.
  std::uint64_t copy_of(const RankDevices& devices) const {
    const std::uint64_t next = devices.first + devices.per_replica;
    if (!machine_) return next;
    const std::uint64_t seat = seat_of(*machine_, devices.first), all = machine_->devices;
    std::optional<std::uint64_t> outside;
    const std::uint64_t end = devices.first + devices.count;
    for (std::uint64_t copy = next; copy < end; copy += devices.per_replica) {
      const std::uint64_t other = seat_of(*machine_, copy);
      if (other / all == seat / all) continue;
      if (other % all == seat % all) return copy;
      if (!outside) outside = copy;
    }
    return outside.value_or(next);
  }

  std::vector<RankDevices> devices_;  // by rank
  std::optional<Machine> machine_;    // with a topology
};

Wiring over_graph(std::shared_ptr<const KnownRoutes> routes, std::string where, NodeAt node_at) {
  return {std::shared_ptr<const std::vector<NetworkLink>>(routes, &routes->links()),
          [routes, where = std::move(where), node_at = std::move(node_at)](const Link& link) {
            const auto from = node_at(link.from, link.to);
            const auto to = node_at(link.to, link.from);
            const auto route = from && to ? routes->between(*from, *to) : std::nullopt;
            if (route) return *route;
            throw InputError(where,
                             fmt::format("no route over these links for transfers \"{}\"; connect "
                                         "their ends",
                                         text(link)));
          }};
}

void check_ends(const HardwareSpec& spec, std::size_t number) {
  const LinkSpec& link = spec.links[number];
  for (const auto& [key, end] : {std::pair{"from", &link.from}, std::pair{"to", &link.to}}) {
    const std::string where = fmt::format("/hardware/links/{}/{}", number, key);
    if (end->empty()) {
      throw InputError(where, fmt::format("\"{}\" is missing: without \"routes\" each link needs "
                                          "both ends",
                                          key));
    }
    const auto device = number_in(*end);
    if (!device || *device < spec.devices()) continue;
    throw InputError(where, fmt::format("unknown device {}; devices are 0 to {}, other names "
                                        "are switches",
                                        *end, spec.devices() - 1));
  }
}

/// Machines of the catalogue have a fixed size unless their topology connects several.
void check_machine(const HardwareSpec& spec) {
  const auto& machine = spec.machine;
  const TopologyEntry* entry = find_named(topology_entries(), spec.topology->kind);
  if (!machine || !machine->topology || entry == nullptr || !entry->one_machine) return;
  if (spec.devices() <= machine->devices) return;
  throw InputError("/hardware/topology",
                   fmt::format("{} has {} devices and {} connects no further machines, but the "
                               "degrees of /parallel need {}; name a topology that does, such "
                               "as rails",
                               machine->name, machine->devices, entry->name, spec.devices()));
}

constexpr std::size_t most_kept_devices = 1 << 16;  // some 100 MiB

SeatedCluster cluster_of(const HardwareSpec& spec) {
  if (seats_of(spec) > Limits::network_links) {
    throw InputError("/hardware/topology",
                     fmt::format("{} devices are too many for a topology: at most {}",
                                 spec.devices(), Limits::network_links));
  }
  check_machine(spec);
  Cluster cluster = make_cluster(spec.topology->kind, static_cast<std::uint32_t>(seats_of(spec)),
                                 spec.topology->parameters, nic_sharers(spec));
  return {std::make_shared<const KnownRoutes>(std::move(cluster.topology)),
          seated(spec, cluster.devices), seated(spec, cluster.host_of)};
}

Wiring wiring_over(std::shared_ptr<const SeatedCluster> cluster, const HardwareSpec& spec) {
  return over_graph(
      cluster->routes, "/hardware/topology",
      [cluster, device_at = DeviceAt(spec)](Rank end, Rank other) -> std::optional<Node> {
        if (end == host_memory) return cluster->host_of[*device_at(other, end)];
        const auto device = device_at(end, other);
        return device ? std::optional(cluster->devices[*device]) : std::nullopt;
      });
}

/// The links by name. Throws InputError for a duplicate.
std::map<std::string, std::uint32_t> numbers_by_name(const std::vector<NetworkLink>& links) {
  std::map<std::string, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    const auto [found, is_new] = numbers.try_emplace(links[i].name, i);
    if (is_new) continue;
    throw InputError(fmt::format("/hardware/links/{}/name", i),
                     fmt::format("\"{}\" is already the name of link {}; names must be unique",
                                 links[i].name, found->second));
  }
  return numbers;
}

/// Named links, and routes over them.
Wiring wiring_by_routes(const HardwareSpec& spec) {
  Wiring wiring{std::make_shared<const std::vector<NetworkLink>>(links_by_name(spec)), {}};
  const auto numbers = numbers_by_name(*wiring.links);
  std::map<std::pair<Rank, Rank>, Route> routes;
  for (const auto& [key, names] : spec.routes) {
    routes[ends_of_route(spec, key)] = named_links(numbers, key, names);
  }
  wiring.route = [routes = std::move(routes)](const Link& link) {
    const auto found = routes.find({link.from, link.to});
    if (found != routes.end()) return found->second;
    throw InputError("/hardware/routes",
                     fmt::format("no route \"{}\", but the plan has transfers that need "
                                 "it; list its links",
                                 text(link)));
  };
  return wiring;
}

/// Links with ends: a device number, "host", or any other name for a switch. Devices forward, so
/// rings and meshes of devices are possible.
Wiring wiring_by_ends(const HardwareSpec& spec) {
  Topology topology;
  std::map<std::string, Node> nodes;
  const auto node_of = [&](const std::string& name) {
    const auto [found, is_new] = nodes.try_emplace(name);
    if (is_new) found->second = name == "host" ? topology.add_end(name) : topology.add_switch(name);
    return found->second;
  };
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    const LinkSpec& link = spec.links[i];
    check_ends(spec, i);
    const Node from = node_of(link.from);
    const Node to = node_of(link.to);
    topology.connect(from, to, {link.bandwidth_bytes_per_s, link.latency_us});
    if (!link.name.empty()) topology.links.back().name = link.name;
  }
  numbers_by_name(topology.links);  // rejects duplicates
  return over_graph(
      std::make_shared<const KnownRoutes>(std::move(topology)), "/hardware/links",
      [nodes, device_at = DeviceAt(spec)](Rank end, Rank other) -> std::optional<Node> {
        std::string name = "host";
        if (end != host_memory) {
          const auto device = device_at(end, other);
          if (!device) return std::nullopt;
          name = std::to_string(*device);
        }
        const auto found = nodes.find(name);
        return found == nodes.end() ? std::nullopt : std::optional(found->second);
      });
}

/// A topology with the devices that the degrees of parallelism need.
Wiring wiring_by_kind(const HardwareSpec& spec) {
  return wiring_over(std::make_shared<const SeatedCluster>(cluster_of(spec)), spec);
}

}  // namespace

Wiring wiring_of(const HardwareSpec& spec) {
  if (spec.topology && (!spec.links.empty() || !spec.routes.empty())) {
    throw InputError("/hardware/topology",
                     "conflicts with \"links\" or \"routes\"; give either a topology or links");
  }
  if (spec.topology) return spec.clusters ? spec.clusters->wiring(spec) : wiring_by_kind(spec);
  if (spec.links.empty()) {
    throw InputError("/hardware",
                     "custom hardware has no links; give \"links\" with \"routes\", "
                     "\"links\" with \"from\" and \"to\", or a \"topology\"");
  }
  return spec.routes.empty() ? wiring_by_ends(spec) : wiring_by_routes(spec);
}

std::optional<Route> KnownRoutes::between(Node from, Node to) const {
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = known_.find({from, to}); found != known_.end()) return found->second;
  }
  std::optional<Route> route = router_.route(from, to);
  const std::lock_guard guard(mutex_);
  return known_.try_emplace({from, to}, std::move(route)).first->second;
}

Clusters::Key Clusters::key(const HardwareSpec& spec) {
  std::array<std::uint64_t, 4> seats{};
  if (spec.machine && spec.machine->seating) {
    const Seating& seating = *spec.machine->seating;
    seats = {seating.most, seating.larger, seating.fewer, seating.machines};
  }
  return {spec.topology->kind,
          spec.topology->parameters,
          nic_sharers(spec),
          spec.devices(),
          spec.machine ? spec.machine->devices : 0,
          seats};
}

std::shared_ptr<const SeatedCluster> Clusters::find(const Key& key) {
  const std::lock_guard guard(mutex_);
  const auto found = std::ranges::find(known_, key, &Known::key);
  if (found == known_.end()) return nullptr;
  std::rotate(found, found + 1, known_.end());
  return known_.back().cluster;
}

void Clusters::keep(const Key& key, std::shared_ptr<const SeatedCluster> cluster) {
  const std::lock_guard guard(mutex_);
  devices_ += cluster->devices.size();
  known_.push_back({key, std::move(cluster)});
  while (devices_ > most_kept_devices && known_.size() > 1) {
    devices_ -= known_.front().cluster->devices.size();
    known_.erase(known_.begin());
  }
}

Wiring Clusters::wiring(const HardwareSpec& spec) {
  const Key at = key(spec);
  std::shared_ptr<const SeatedCluster> cluster = find(at);
  if (cluster == nullptr) {
    cluster = std::make_shared<const SeatedCluster>(cluster_of(spec));
    keep(at, cluster);
  }
  return wiring_over(std::move(cluster), spec);
}

}  // namespace penstock
