#include "experiments/input/catalogue/catalogue_list.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/nearest.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/base/error.hpp"

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

Machine with_topology(Machine machine) {
  set_topology(machine);
  return machine;
}

Machine machine_of_file(Catalogue catalogue, const std::string& path) {
  const std::string name = add_catalogue_file(path, catalogue);
  const CatalogueItem& item = catalogue[name];
  if (item.is == "machine") return with_topology(machine_of(catalogue, item));
  throw InputError(fmt::format(
      "{}: \"{}\" is a {} alone; --hardware needs a machine, which joins devices by links", path,
      name, item.is));
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

bool is_machine_file(const Catalogue& catalogue, const std::string& value) {
  const bool is_path = value.ends_with(".json") || value.find('/') != std::string::npos;
  return is_path && !catalogue.contains(value);
}

Machine machine_of_option(const Catalogue& catalogue, const std::string& value) {
  if (is_machine_file(catalogue, value)) return machine_of_file(catalogue, value);
  const CatalogueItem* item = find_item(catalogue, "machine", value);
  if (item == nullptr) {
    throw UsageError("--hardware: " +
                     unknown_text(fmt::format("machine \"{}\"", value), value,
                                  names_of_items(catalogue, "machine")) +
                     ", or a file that ends in .json");
  }
  return with_topology(machine_of(catalogue, *item));
}

}  // namespace penstock
