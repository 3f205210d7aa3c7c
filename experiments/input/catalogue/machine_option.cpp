#include "experiments/input/catalogue/machine_option.hpp"

#include <fmt/format.h>

#include "experiments/input/files/nearest.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

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
