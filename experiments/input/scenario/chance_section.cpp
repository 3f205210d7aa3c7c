#include "experiments/input/scenario/chance_section.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

Takes rank() { return whole(0, 16'383); }
Takes microbatch() { return whole(0, 4'294'967'295); }

Takes factor() { return meaning(number(1e-6, 1e6), "how many times as long"); }

}  // namespace

const Fields& fields_of(const Straggler& /*straggler*/) {
  using S = Straggler;
  static const Fields fields{
      "",
      {field<&S::rank>("rank", rank()), field<&S::factor>("factor", factor()),
       field<&S::from>("from", microbatch(), "the first microbatch that is slow"),
       field<&S::until>("until", microbatch(), "the first microbatch that is no longer slow"),
       field<&S::replica>("replica", whole(0, 255),
                          "the only data replica in which it is slow; the run shows replica 0")},
      {"rank", "factor"}};
  return fields;
}

const Fields& fields_of(const SlowLink& /*link*/) {
  using L = SlowLink;
  static const Fields fields{"",
                             {field<&L::from>("from", rank()), field<&L::to>("to", rank()),
                              field<&L::factor>("factor", factor())},
                             {"from", "to", "factor"}};
  return fields;
}

const Fields& fields_of(const SlowMachines& /*machines*/) {
  using M = SlowMachines;
  static const Fields fields{
      "machines that are slow for good: the middle rank takes the expected factor of the slowest "
      "machine of the layout (MegaScale: 0.005 of all machines, 1.1)",
      {field<&M::share>("share", number(0, 1), "of all machines"),
       field<&M::factor>("factor", factor(), "of the duration of their actions")},
      {"share", "factor"}};
  return fields;
}

namespace {

void check_stragglers(const std::vector<Straggler>& stragglers) {
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    const Straggler& one = stragglers[i];
    if (one.from < one.until) continue;
    throw InputError(fmt::format("/chance/stragglers/{}/until", i),
                     fmt::format("{} ends before it begins; it must be above \"from\", {}",
                                 index(one.until), index(one.from)));
  }
}

void check_links(const std::vector<SlowLink>& links) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].from != links[i].to) continue;
    throw InputError(fmt::format("/chance/slow_links/{}/to", i),
                     fmt::format("rank {} has no link to itself; a link leads to another rank",
                                 index(links[i].to)));
  }
}

}  // namespace

const Fields& chance_fields() {
  using S = ChanceSection;
  const Takes sigma = number(0, 2);
  static const Fields fields{
      "random variation of the durations of actions and transfers",
      {note(),
       field<&S::chance, &Chance::seed>("seed", whole(0, 9'007'199'254'740'991),
                                        "other seeds draw other numbers"),
       turned(field<&S::chance, &Chance::jitter>(
                  "jitter", sigma,
                  "of actions: lognormal factors with mean 1 and this standard deviation of their "
                  "logarithm"),
              {"Jitter", 0, 0.5}),
       field<&S::chance, &Chance::samples>("samples", list_of(factor(), 1, 1'000'000),
                                           "of actions, instead of jitter: one of these factors, "
                                           "with equal probability"),
       field<&S::chance, &Chance::transfer_jitter>("transfer_jitter", sigma, "jitter of transfers"),
       field<&S::chance, &Chance::stragglers>("stragglers",
                                              list_of(object_of(fields_of(Straggler{})), 0, 65'536),
                                              "ranks whose actions take factor times as long"),
       field<&S::slow_machines>("slow_machines", object_of(fields_of(SlowMachines{}))),
       field<&S::chance, &Chance::slow_links>(
           "slow_links", list_of(object_of(fields_of(SlowLink{})), 0, 65'536),
           "pairs of ranks between which transfers take factor times as long")}};
  return fields;
}

ChanceSection read_chance(const nlohmann::json& section) {
  ChanceSection read;
  read_fields(chance_fields(), section, &read);
  if (read.chance.jitter != 0 && !read.chance.samples.empty()) {
    throw InputError("/chance/samples", "\"samples\" conflicts with \"jitter\"; give one of them");
  }
  check_stragglers(read.chance.stragglers);
  check_links(read.chance.slow_links);
  return read;
}

}  // namespace penstock
