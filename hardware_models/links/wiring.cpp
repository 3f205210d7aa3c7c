#include "hardware_models/links/wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

Rank end_of_route(const HardwareSpec& spec, std::string_view text, const std::string& where) {
  if (text == "host") return host_memory;
  if (text == "data") return data_replicas;
  const auto rank = number_in(text);
  if (rank && *rank < spec.ranks) return Rank{*rank};
  throw InputError(where, fmt::format("unknown rank \"{}\"; ranks are 0 to {}, and \"host\" or "
                                      "\"data\" may be one end",
                                      text, spec.ranks - 1));
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
  const auto is_rank = [&](Rank end) { return index(end) < spec.ranks; };
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
    if (std::find(route.begin(), route.end(), found->second) != route.end()) {
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

}  // namespace

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || std::to_string(value) != text) return std::nullopt;
  return value;
}

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

Wiring wiring_of(const HardwareSpec& spec) {
  if (spec.topology && (!spec.links.empty() || !spec.routes.empty())) {
    throw InputError("/hardware/topology",
                     "conflicts with \"links\" or \"routes\"; give either a topology or links");
  }
  if (spec.topology) return wiring_by_kind(spec);
  if (spec.links.empty()) {
    throw InputError("/hardware",
                     "custom hardware has no links; give \"links\" with \"routes\", "
                     "\"links\" with \"from\" and \"to\", or a \"topology\"");
  }
  return spec.routes.empty() ? wiring_by_ends(spec) : wiring_by_routes(spec);
}

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

}  // namespace penstock
