#include "experiments/input/catalogue/stacks.hpp"

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
  read_fields(stack_fields(), facts, &stack);
  if (!facts.contains("fp8_share")) stack.constants.fp8_share = stack.constants.matrix_share;
  stack.constants.name = item.name;
  stack.known_device = document["devices"].contains(std::string(device));
  stack.spread_of = reason_of(facts["spread"]);
  facts.erase("spread");
  facts.erase("attention");        // a name: the speeds are those of the device
  facts.erase("overlap_gathers");  // the default of a key of the scenario
  for (const auto& [name, fact] : facts.items()) note(fact, name, stack.provenance);
  return stack;
}

Provenance provenance_of(const CatalogueItem& device, const std::string& attention) {
  const json facts = json::parse(device.text);
  Provenance provenance;
  for (const Field& price : price_fields()) {
    if (facts.contains(price.key)) note(facts[price.key], price.key, provenance);
  }
  for (const json& speed : facts.value("attention", json::array())) {
    if (speed["kernel"] != attention) continue;
    note(speed, "attention", provenance);
    break;
  }
  return provenance;
}

}  // namespace penstock
