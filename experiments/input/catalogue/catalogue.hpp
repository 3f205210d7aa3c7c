#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/fields/fields.hpp"
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
/// earlier ones of the same name. Warns once of a folder of the user that cannot be read, and
/// leaves it out. Throws InputError with the file's name in front.
Catalogue read_catalogue();

/// Adds the item of a user's file, and from the same folder the items of its device and links where
/// files have their names. Returns its name. Throws InputError with the file's name in front.
std::string add_catalogue_file(const std::string& path, Catalogue& catalogue);

/// Parses the text of a file; `source` is the file's name in errors.
CatalogueItem parse_catalogue_file(const std::string& text, const std::string& source);

/// A machine with its links and its device, or another in its place; a device alone becomes a
/// machine without links. Throws InputError, with the file's name in front, for unknown names and
/// for an invalid topology.
Machine machine_of(const Catalogue& catalogue, const CatalogueItem& item,
                   const CatalogueItem* device = nullptr);

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
/// What a file of each kind takes, and all of it as the text of a schema.
const std::map<std::string, Takes>& catalogue_kinds();
std::string_view catalogue_schema();

/// The machines, devices, links and stacks of a catalogue, in this order: kind, main numbers in one
/// line, "file" ("built in" or a path), and "facts" with all values, sources and assumptions.
nlohmann::ordered_json catalogue_json(const Catalogue& catalogue);

/// Whether a value of --hardware is a user's file: no name of the catalogue, and a path or a name
/// that ends in .json.
bool is_machine_file(const Catalogue& catalogue, const std::string& value);

/// The machine that an option names, with its topology: one of the catalogue, or a user's file.
/// Throws UsageError that lists the machines, and InputError with the file's name in front.
Machine machine_of_option(const Catalogue& catalogue, const std::string& value,
                          std::string_view option = "--hardware");

/// Where the constants of some item come from, by name.
struct Provenance {
  std::vector<std::string> measured;  // or stated by a data sheet
  std::vector<std::string> fitted;    // to published runs
  std::vector<std::string> assumed;
};

/// How far published step times lie from predicted ones.
struct StackSpread {
  double value = 0;
  std::string because;  // the rows behind it, or why it is assumed
};

/// The sizes of the runs behind a stack's constants; 0: unknown.
struct FittedRange {
  double devices = 0;        // most of a run
  double kernel_us = 0;      // least mean time of a run's kernels
  double expert_tokens = 0;  // fewest of an expert in one product
};

/// What a framework makes of one device.
struct Stack {
  StackConstants constants;
  std::optional<double> kernel_issue_us;
  // Relative standard deviations of published step times around predicted ones: of all runs, and of
  // those with narrow products or experts where theirs is stated.
  std::map<std::string, StackSpread> spreads;
  FittedRange fitted;
  bool known_device = false;  // the stack lists the device; otherwise its constants are general
  Provenance provenance;
};

/// What a framework makes of a device: the keys of StackConstants.
const std::vector<Field>& stack_constants();
/// The constants of a stack, as its file states them.
const Fields& stack_fields();
/// The facts of a device that price kernels.
const std::vector<Field>& price_fields();

/// Products in fp8 and fp4 reach the shares of wider ones where no own share is stated.
void set_open_shares(const nlohmann::json& stated, StackConstants& constants);

/// The constants of a stack on a device.
Stack stack_of(const CatalogueItem& item, std::string_view device);

/// Where the facts of a device come from that price kernels, `attention` among its attention
/// kernels.
Provenance provenance_of(const CatalogueItem& device, const std::string& attention);

}  // namespace penstock
