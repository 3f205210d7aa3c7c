#include "experiments/catalogue/machine_option.hpp"

#include <fmt/format.h>

#include "experiments/files/nearest.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/base/error.hpp"

namespace penstock {

Machine machine_of_option(const Catalogue& catalogue, const std::string& name) {
  const CatalogueItem* item = find_item(catalogue, "machine", name);
  if (item == nullptr) {
    throw UsageError("--hardware: " + unknown_text(fmt::format("machine \"{}\"", name), name,
                                                   names_of_items(catalogue, "machine")));
  }
  Machine machine = machine_of(catalogue, *item);
  set_topology(machine);
  return machine;
}

}  // namespace penstock
