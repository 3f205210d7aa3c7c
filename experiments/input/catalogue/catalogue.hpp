#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "hardware_models/spec/machine.hpp"

namespace penstock {

/// One device, link, machine or stack, as its file describes it.
struct CatalogueItem {
  std::string source;  // the file
  std::string is;      // "device", "link", "machine" or "stack"
  std::string name;
  std::string summary;
  std::string text;  // the whole file, JSON that fits the schema
  bool built_in = false;
};

/// Items by name.
using Catalogue = std::map<std::string, CatalogueItem, std::less<>>;

/// The built-in files, then the *.json of $XDG_DATA_HOME/penstock/hardware (default:
/// ~/.local/share/penstock/hardware) and of each folder of $PENSTOCK_HARDWARE. Later items replace
/// earlier ones of the same name. Throws InputError with the file's name in front.
Catalogue read_catalogue();

/// Adds the item of a user's file, and from the same folder the items of its device and links where
/// files have their names. Returns its name. Throws InputError with the file's name in front.
std::string add_catalogue_file(const std::string& path, Catalogue& catalogue);

/// Reads one file. Throws InputError with its name in front.
CatalogueItem read_catalogue_file(const std::string& path);
/// Parses text; `source` is the file's name in errors.
CatalogueItem parse_catalogue_file(const std::string& text, const std::string& source);

/// A machine with its device and links; a device alone becomes a machine without links. Throws
/// InputError, with the file's name in front, for unknown names and for an invalid topology.
Machine machine_of(const Catalogue& catalogue, const CatalogueItem& item);

/// Links of one kind on a device.
struct LinkFacts {
  Speed one;
  double links = 1;

  double bandwidth_bytes_per_s() const { return one.bandwidth_bytes_per_s * links; }
};
LinkFacts link_of(const CatalogueItem& item);

/// The item of this kind and name, or nullptr.
const CatalogueItem* find_item(const Catalogue& catalogue, std::string_view is,
                               std::string_view name);

/// The names of all items of a kind, for error texts.
std::string names_of_items(const Catalogue& catalogue, std::string_view is);

/// A file compiled into the program.
struct BuiltInFile {
  std::string_view name;
  std::string_view text;
};
std::span<const BuiltInFile> built_in_catalogue();
/// The schema file, as shipped: one definition for each kind of item.
std::string_view catalogue_schema();

}  // namespace penstock
