#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// One device, link or machine, as its file describes it.
struct CatalogueItem {
  std::string source;  // the file
  std::string is;      // "device", "link" or "machine"
  std::string name;
  std::string summary;
  std::string text;  // the whole file, JSON that fits the schema
  bool built_in = false;
};

/// Items by name.
using Catalogue = std::map<std::string, CatalogueItem, std::less<>>;

/// The built-in files, then the *.json of $XDG_DATA_HOME/penstock/hardware (without the variable
/// ~/.local/share/penstock/hardware) and of each folder of $PENSTOCK_HARDWARE. Of items with the
/// same name the last one counts. Throws InputError with the file's name in front.
Catalogue read_catalogue();

/// One file. Throws InputError with its name in front.
CatalogueItem read_catalogue_file(const std::string& path);
/// The same for text that is already here; `source` stands for the file's name.
CatalogueItem parse_catalogue_file(const std::string& text, const std::string& source);

/// A machine with its device and links; a device becomes a machine of its own, without links.
/// Throws InputError, with the file's name in front, for names that the catalogue lacks and for a
/// topology that cannot be built.
Machine machine_of(const Catalogue& catalogue, const CatalogueItem& item);

/// The links that a device has of a kind.
struct LinkFacts {
  Speed one;
  double links = 1;

  double bandwidth_bytes_per_s() const { return one.bandwidth_bytes_per_s * links; }
};
LinkFacts link_of(const CatalogueItem& item);

/// The item of some kind by its name, or nullptr.
const CatalogueItem* find_item(const Catalogue& catalogue, std::string_view is,
                               std::string_view name);

/// The names of all items of a kind, for error texts.
std::string names_of_items(const Catalogue& catalogue, std::string_view is);

// What the build knows of it.

/// A file as it was when the program was built.
struct BuiltInFile {
  std::string_view name;
  std::string_view text;
};
std::span<const BuiltInFile> built_in_catalogue();
/// The schema file, as shipped: one definition for each kind of item.
std::string_view catalogue_schema();

}  // namespace penstock
