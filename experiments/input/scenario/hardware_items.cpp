#include "experiments/input/scenario/hardware_items.hpp"

#include <fmt/format.h>

#include "experiments/input/files/nearest.hpp"
#include "experiments/input/scenario/hardware_checks.hpp"
#include "experiments/input/scenario/named_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {

std::string add_own_item(const Scenario& scenario, Catalogue& catalogue) {
  const std::string path =
      named_file(scenario.source, scenario.folder, "/hardware/file", scenario.hardware.file);
  const std::string name = add_catalogue_file(path, catalogue);
  if (catalogue[name].is == "link") {
    refuse_hardware(scenario, "file",
                    fmt::format("\"{}\" is a link; a machine or a device is needed", name));
  }
  return name;
}

const CatalogueItem* machine_item(const Scenario& scenario, const std::string& name,
                                  const Catalogue& catalogue) {
  const std::string& device = scenario.hardware.device;
  if (is_cost_model(name)) {
    if (device.empty()) return nullptr;
    if (const CatalogueItem* item = find_item(catalogue, "device", device)) return item;
    refuse_hardware(scenario, "device",
                    unknown_text(fmt::format("name \"{}\"", device), device,
                                 names_of_items(catalogue, "device")));
  }
  if (!device.empty()) {
    refuse_hardware(
        scenario, "device",
        fmt::format("it conflicts with \"{}\", which has its own device; it goes with the name "
                    "\"roofline\" or \"measured\"",
                    name));
  }
  for (const char* is : {"machine", "device"}) {
    if (const CatalogueItem* item = find_item(catalogue, is, name)) return item;
  }
  const std::string models = names_of(cost_model_entries());
  const std::string machines = names_of_items(catalogue, "machine");
  const std::string devices = names_of_items(catalogue, "device");
  const auto near = nearest(name, split_names(models + ", " + machines + ", " + devices));
  refuse_hardware(scenario, "name",
                  fmt::format("unknown name \"{}\";{} known: {}; machines: {}; devices: {}", name,
                              near ? fmt::format(" did you mean \"{}\"?", *near) : "", models,
                              machines, devices));
}

}  // namespace penstock
