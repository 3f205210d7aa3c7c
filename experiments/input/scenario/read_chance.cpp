#include "experiments/input/scenario/read_chance.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

void read_stragglers(const json& stragglers, Chance& chance) {
  for (const json& one : stragglers) {
    Straggler straggler{Rank{one["rank"].get<std::uint32_t>()}, one["factor"]};
    straggler.from = Microbatch{one.value("from", index(straggler.from))};
    straggler.until = Microbatch{one.value("until", index(straggler.until))};
    take(one, "replica", straggler.replica);
    if (straggler.from >= straggler.until) {
      throw InputError(fmt::format("/chance/stragglers/{}/until", chance.stragglers.size()),
                       fmt::format("{} ends before it begins; it must be above \"from\", {}",
                                   index(straggler.until), index(straggler.from)));
    }
    chance.stragglers.push_back(straggler);
  }
}

void read_slow_links(const json& links, Chance& chance) {
  for (const json& one : links) {
    const Rank from{one["from"].get<std::uint32_t>()}, to{one["to"].get<std::uint32_t>()};
    if (from == to) {
      throw InputError(
          fmt::format("/chance/slow_links/{}/to", chance.slow_links.size()),
          fmt::format("rank {} has no link to itself; a link leads to another rank", index(to)));
    }
    chance.slow_links.push_back({from, to, one["factor"]});
  }
}

}  // namespace

std::optional<SlowMachines> read_slow_machines(const json& section) {
  if (!section.contains("slow_machines")) return std::nullopt;
  const json& slow = section["slow_machines"];
  return SlowMachines{slow["share"], slow["factor"]};
}

Chance read_chance(const json& section) {
  Chance chance;
  take(section, "seed", chance.seed);
  take(section, "jitter", chance.jitter);
  take(section, "samples", chance.samples);
  take(section, "transfer_jitter", chance.transfer_jitter);
  if (chance.jitter != 0 && !chance.samples.empty()) {
    throw InputError("/chance/samples", "\"samples\" conflicts with \"jitter\"; give one of them");
  }
  read_stragglers(section.value("stragglers", json::array()), chance);
  read_slow_links(section.value("slow_links", json::array()), chance);
  return chance;
}

}  // namespace penstock
