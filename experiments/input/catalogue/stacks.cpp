#include "experiments/input/catalogue/stacks.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace penstock {
namespace {

using nlohmann::json;

void note(const json& fact, std::string_view name, Provenance& provenance) {
  std::vector<std::string>& names = fact.contains("source")   ? provenance.measured
                                    : fact.contains("fitted") ? provenance.fitted
                                                              : provenance.assumed;
  names.emplace_back(name);
}

/// The facts of a stack for a device: its own, and those of all others where it states none.
json facts_for(const json& document, std::string_view device) {
  json facts = document["others"];
  const auto own = document["devices"].find(std::string(device));
  if (own != document["devices"].end()) facts.merge_patch(*own);
  return facts;
}

template <class Value>
void take_fact(const json& facts, const char* key, Value& target) {
  if (facts.contains(key)) target = facts[key]["value"].get<Value>();
}

StackConstants constants_of(const json& facts) {
  StackConstants constants;
  take_fact(facts, "matrix_share", constants.matrix_share);
  constants.fp8_share = constants.matrix_share;
  take_fact(facts, "fp8_share", constants.fp8_share);
  take_fact(facts, "attention", constants.attention);
  take_fact(facts, "attention_share", constants.attention_share);
  take_fact(facts, "computes_masked", constants.computes_masked);
  take_fact(facts, "vector_passes", constants.vector_passes);
  take_fact(facts, "overlap_gathers", constants.overlaps_gathers);
  return constants;
}

/// The text behind a fact.
std::string reason_of(const json& fact) {
  for (const char* key : {"source", "fitted", "assumption"}) {
    if (fact.contains(key)) return fact[key];
  }
  return "";
}

}  // namespace

Stack stack_of(const CatalogueItem& item, std::string_view device) {
  const json document = json::parse(item.text);
  json facts = facts_for(document, device);
  Stack stack;
  stack.constants = constants_of(facts);
  stack.constants.name = item.name;
  stack.known_device = document["devices"].contains(std::string(device));
  if (facts.contains("kernel_issue_us")) stack.kernel_issue_us = facts["kernel_issue_us"]["value"];
  take_fact(facts, "spread", stack.spread);
  stack.spread_of = reason_of(facts["spread"]);
  facts.erase("spread");
  facts.erase("attention");        // a name: the speeds are those of the device
  facts.erase("overlap_gathers");  // the default of a key of the scenario
  for (const auto& [name, fact] : facts.items()) note(fact, name, stack.provenance);
  return stack;
}

Provenance provenance_of(const CatalogueItem& device, const std::string& attention) {
  constexpr std::array prices{"matrix_efficiency", "fp8_efficiency",    "unaligned_efficiency",
                              "tile_start",        "memory_efficiency", "kernel_us",
                              "kernel_issue_us"};
  const json facts = json::parse(device.text);
  Provenance provenance;
  for (const char* name : prices) {
    if (facts.contains(name)) note(facts[name], name, provenance);
  }
  for (const json& speed : facts.value("attention", json::array())) {
    if (speed["kernel"] != attention) continue;
    note(speed, "attention", provenance);
    break;
  }
  return provenance;
}

}  // namespace penstock
