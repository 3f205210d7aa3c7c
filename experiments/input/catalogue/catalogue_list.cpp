#include "experiments/input/catalogue/catalogue_list.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"

namespace penstock {
namespace {

std::string gigabytes(double bytes) { return fmt::format("{:.4g} GB", bytes * 1e-9); }

std::string numbers_of(const Device& device) {
  std::string peaks;
  for (const auto& [precision, flops] : device.peak_flops) {
    peaks += fmt::format("{}{} {:.4g}", peaks.empty() ? "" : ", ", precision, flops * 1e-12);
  }
  return fmt::format("{} TFLOP/s dense; {} at {}/s", peaks, gigabytes(device.memory_bytes),
                     gigabytes(device.memory_bandwidth_bytes_per_s));
}

std::string numbers_of(const LinkFacts& link) {
  std::string text = gigabytes(link.bandwidth_bytes_per_s()) + "/s each way";
  if (link.links > 1) text += fmt::format(" over {} links", link.links);
  return text + fmt::format(", {:.4g} µs", link.one.latency_us);
}

std::string numbers_of(const Machine& machine) {
  std::string text =
      fmt::format("{} x {}, {}", machine.devices, machine.device.name, machine.topology->kind);
  if (const auto inside = speed_inside(machine)) {
    text += fmt::format("; a device has {}/s inside", gigabytes(inside->bandwidth_bytes_per_s));
  }
  if (const auto outside = speed_outside(machine)) {
    text += fmt::format(", {}/s outside", gigabytes(outside->bandwidth_bytes_per_s));
  }
  return text;
}

/// The devices that a stack was fitted on.
std::string stack_text(const CatalogueItem& item) {
  const ordered_json facts = ordered_json::parse(item.text);
  std::string devices;
  for (const auto& [device, constants] : facts["devices"].items()) {
    devices += (devices.empty() ? "" : ", ") + device;
  }
  return "constants of its own on " + devices;
}

std::string numbers_of(const Catalogue& catalogue, const CatalogueItem& item) {
  if (item.is == "link") return numbers_of(link_of(item));
  if (item.is == "stack") return stack_text(item);
  const Machine machine = machine_of(catalogue, item);
  return item.is == "device" ? numbers_of(machine.device) : numbers_of(machine);
}

ordered_json facts_of(const CatalogueItem& item) {
  ordered_json facts = ordered_json::parse(item.text);
  for (const char* key : {"penstock", "is", "name", "summary"}) facts.erase(key);
  return facts;
}

}  // namespace

ordered_json catalogue_json(const Catalogue& catalogue) {
  ordered_json all = ordered_json::array();
  for (const char* is : {"machine", "device", "link", "stack"}) {
    for (const auto& [name, item] : catalogue) {
      if (item.is != is) continue;
      all.push_back({{"name", name},
                     {"summary", item.summary},
                     {"is", is},
                     {"numbers", numbers_of(catalogue, item)},
                     {"file", item.built_in ? "built in" : item.source},
                     {"facts", facts_of(item)}});
    }
  }
  return all;
}

}  // namespace penstock
