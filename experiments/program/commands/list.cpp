#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/registry.hpp"
#include "experiments/program/commands/registry.hpp"
#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec.hpp"
#include "hardware_models/collectives/registry.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/topologies/registry.hpp"
#include "schedules/partitioners/registry.hpp"
#include "schedules/policies/registry.hpp"
#include "schedules/registry.hpp"
#include "validate/backends/registry.hpp"

namespace penstock::list_file {
namespace {

/// Each kind of entry becomes a JSON array of objects with a name, a summary and more.
/// Name and summary of what a registry or an entry has.
template <class Named>
ordered_json named_json(const Named& one) {
  return {{"name", one.name}, {"summary", one.summary}};
}

/// The entries of a registry. `add` puts more into the object of each.
template <class Entry, class Add>
ordered_json entries_json(std::span<const Entry* const> entries, Add add) {
  return list_json(entries, [&](const Entry* entry) {
    ordered_json one = named_json(*entry);
    add(*entry, one);
    return one;
  });
}
template <class Entry>
ordered_json entries_json(std::span<const Entry* const> entries) {
  return entries_json(entries, [](const Entry&, ordered_json&) {});
}

ordered_json options_of(std::span<const ScheduleOption> options) {
  return list_json(options, named_json<ScheduleOption>);
}

ordered_json schedules() {
  return entries_json(schedule_entries(), [](const ScheduleEntry& entry, ordered_json& one) {
    one.update({{"needs", entry.needs},
                {"bubble", entry.bubble},
                {"peak_activations", entry.peak},
                {"weights", name(entry.weights)},
                {"options", options_of(entry.options)}});
  });
}

ordered_json policies() {
  return entries_json(policy_entries(), [](const PolicyEntry& entry, ordered_json& one) {
    one["options"] = options_of(options_of_policy(entry));
  });
}

ordered_json partitioners() { return entries_json(partitioner_entries()); }
ordered_json cost_models() { return entries_json(cost_model_entries()); }

/// The parameters of an entry, with their defaults.
template <class Parameter>
ordered_json parameters_of(std::span<const Parameter> parameters) {
  return list_json(parameters, [](const Parameter& parameter) {
    // NaN means that the entry chooses the default itself, so none is shown.
    const bool shown = parameter.otherwise && !std::isnan(*parameter.otherwise);
    ordered_json one = named_json(parameter);
    one["required"] = !parameter.otherwise;
    one["default"] = shown ? ordered_json(*parameter.otherwise) : ordered_json();
    return one;
  });
}

ordered_json layers() {
  return entries_json(layer_kind_entries(), [](const LayerKindEntry& entry, ordered_json& one) {
    one["options"] = parameters_of(entry.parameters);
  });
}

/// Cost models, the items of the catalogue, and kinds of topology.
ordered_json hardware() {
  ordered_json all = cost_models();
  for (ordered_json& model : all) model["is"] = "cost model";
  for (ordered_json& item : catalogue_json(read_catalogue())) all.push_back(std::move(item));
  const auto add = [](const TopologyEntry& entry, ordered_json& one) {
    one["is"] = "topology";
    one["options"] = parameters_of(entry.parameters);
  };
  for (ordered_json& kind : entries_json(topology_entries(), add)) all.push_back(std::move(kind));
  return all;
}

/// With the error of each codec, at its defaults, on normally distributed values.
ordered_json codecs() {
  const std::vector<float> values = draw_values({}, std::size_t{1} << 14, 1);
  return entries_json(codec_entries(), [&](const CodecEntry& entry, ordered_json& one) {
    const CodecSpec usual{std::string(entry.name), {}};
    const double bits = bits_per_value(usual);
    const CodecError error = codec_error(make_codec(usual), values);
    one["numbers"] = fmt::format(
        "by default {} bits a value, {:.2f} times less than bf16; normal values {:.1f} "
        "dB above their error, {:.0f} % of them lost to zero",
        bits, 16 / bits, error.sqnr_db, 100 * error.flushed_share);
    one["bits_per_value"] = bits;
    one["options"] = parameters_of(entry.parameters);
  });
}

ordered_json collectives() {
  const auto kind_json = [](const ServedKind& served) -> ordered_json {
    return {{"name", name(served.kind)}, {"summary", fmt::format("start + {}", served.formula)}};
  };
  return entries_json(collective_entries(), [&](const CollectiveEntry& entry, ordered_json& one) {
    one["kinds"] = list_json(entry.kinds, kind_json);
  });
}

/// With the reason why a backend cannot run on this machine, if any.
ordered_json backends() {
  return entries_json(backend_entries(), [](const BackendEntry& entry, ordered_json& one) {
    one["obstacle"] = or_null(entry.obstacle(PricedPlan{}), &Obstacle::text);
  });
}

ordered_json formats() { return entries_json(format_entries()); }

struct Kind {
  const char* name;
  ordered_json (*list)();
};
constexpr std::array<Kind, 10> kinds{{{"schedules", schedules},
                                      {"policies", policies},
                                      {"partitioners", partitioners},
                                      {"hardware", hardware},
                                      {"cost-models", cost_models},
                                      {"layers", layers},
                                      {"codecs", codecs},
                                      {"collectives", collectives},
                                      {"backends", backends},
                                      {"formats", formats}}};

/// An option with its default, if any: "nic_latency_us: of a NIC, default 0".
std::string option_text(const ordered_json& option) {
  std::string line = fmt::format("{}: {}", option["name"].get<std::string>(),
                                 option["summary"].get<std::string>());
  if (option.value("required", false)) return line + ", required";
  if (!option.contains("default") || option["default"].is_null()) return line;
  return line + fmt::format(", default {}", option["default"].get<double>());
}

/// Each entry: name and summary on one line, then one line per further fact.
void print_lines(const ordered_json& entries) {
  std::size_t width = 0;
  for (const ordered_json& entry : entries) {
    width = std::max(width, entry["name"].get_ref<const std::string&>().size());
  }
  const auto text = [](const ordered_json& value) { return value.get<std::string>(); };
  for (const ordered_json& entry : entries) {
    const std::string is = entry.contains("is") ? text(entry["is"]) + ": " : "";
    const std::string numbers = entry.contains("numbers") ? "; " + text(entry["numbers"]) : "";
    show(fmt::format("{:<{}}  {}{}{}\n", text(entry["name"]), width, is, text(entry["summary"]),
                     numbers));
    if (entry.contains("file"))
      show(fmt::format("{:{}}  file: {}\n", "", width, text(entry["file"])));
    if (entry.contains("obstacle") && entry["obstacle"].is_string()) {
      show(fmt::format("{:{}}  not here: {}\n", "", width, text(entry["obstacle"])));
    }
    if (entry.contains("needs")) {
      show(fmt::format("{:{}}  needs {}; bubble {}; peak {}\n", "", width, text(entry["needs"]),
                       text(entry["bubble"]), text(entry["peak_activations"])));
    }
    for (const char* key : {"options", "kinds"}) {
      for (const ordered_json& option : entry.value(key, ordered_json::array())) {
        show(fmt::format("{:{}}  {}\n", "", width, option_text(option)));
      }
    }
  }
}

/// The entries of this name. Throws UsageError if there is none.
ordered_json named(const ordered_json& entries, const std::string& kind, const std::string& name) {
  ordered_json found = ordered_json::array();
  std::vector<std::string> names;
  for (const ordered_json& entry : entries) {
    names.push_back(entry["name"]);
    if (names.back() == name) found.push_back(entry);
  }
  if (!found.empty()) return found;
  throw UsageError(fmt::format("list {}: {}", kind,
                               unknown_text(fmt::format("name \"{}\"", name), name, names)));
}

/// All facts of an item of the catalogue, each with its source or as an assumption.
void print_facts(const ordered_json& entries) {
  for (const ordered_json& entry : entries) {
    const ordered_json facts = entry.value("facts", ordered_json::object());
    for (const auto& [fact, value] : facts.items()) {
      show(fmt::format("{}: {}\n", fact, value.dump()));
    }
  }
}

/// One entry by name. Items of the catalogue are printed as files, which `--hardware` reads.
void print_one(const std::string& kind, const std::string& name, bool json,
               const ordered_json& entries) {
  if (!json) {
    print_lines(entries);
    return print_facts(entries);
  }
  const Catalogue catalogue = read_catalogue();
  const auto item = kind == "hardware" ? catalogue.find(name) : catalogue.end();
  if (item != catalogue.end()) return show(item->second.text);
  show(printed(ordered_json{{"penstock", 1}, {kind, entries}}));
}

/// Words that people look for, and the kind that has them.
const std::map<std::string, std::string> other_kinds{
    {"machine", "hardware"},      {"machines", "hardware"}, {"device", "hardware"},
    {"devices", "hardware"},      {"gpus", "hardware"},     {"link", "hardware"},
    {"links", "hardware"},        {"stacks", "hardware"},   {"topologies", "hardware"},
    {"catalogue", "hardware"},    {"models", "layers"},     {"orders", "schedules"},
    {"algorithms", "collectives"}};

std::vector<std::string> suggested_names(std::string_view) {
  std::vector<std::string> known;
  for (const auto& [name, item] : read_catalogue()) known.push_back(name);
  for (const ScheduleEntry* entry : schedule_entries()) known.emplace_back(entry->name);
  return known;
}

struct Options : Arguments {
  Text kind = line.required_choice("KIND", words_of(kinds), "what to list", other_kinds);
  Text name = line.optional("NAME", "only this one; of hardware, all its facts", suggested_names);
  Flag json = line.json("print it as JSON; NAME of hardware: a file for --hardware");
};

int print_list(const Options& options) {
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const Kind& k) { return options.kind == k.name; });
  ordered_json entries = kind->list();
  if (!options.name.empty()) {
    entries = named(entries, options.kind, options.name);
    print_one(options.kind, options.name, options.json, entries);
  } else if (options.json) {
    show(printed(ordered_json{{"penstock", 1}, {options.kind, entries}}));
  } else {
    print_lines(entries);
  }
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry list_entry{
    .name = "list",
    .summary = "show schedules, hardware, layers, codecs, formats and more",
    .group = CommandGroup::help,
    .example = "penstock list schedules",
    .declare = command<Options, print_list>,
};

}  // namespace penstock::list_file
