#include "experiments/input/catalogue/catalogue.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "experiments/input/files/json_input.hpp"
#include "hardware_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

const std::string slow_link =
    R"({"penstock": 1, "is": "link", "name": "string", "summary": "two tins",
  "bandwidth_bytes_per_s": {"value": 10, "assumption": "shouted"}})";

const std::string abacus = R"({"penstock": 1, "is": "device", "name": "abacus", "summary": "beads",
  "peak_flops": {"fp32": {"value": 2, "source": "tried"}},
  "memory_bytes": {"value": 13, "source": "counted"},
  "memory_bandwidth_bytes_per_s": {"value": 4, "assumption": "by hand"}})";

const std::string office =
    R"({"penstock": 1, "is": "machine", "name": "office", "summary": "clerks",
  "device": {"value": "abacus", "source": "seen"}, "devices": {"value": 4, "source": "seen"},
  "link": {"value": "string", "source": "seen"},
  "topology": {"kind": {"value": "mesh", "assumption": "all know each other"}}})";

/// The text of an item with one value of it replaced.
std::string with(const std::string& text, const std::string& pointer, const json& value) {
  json document = json::parse(text);
  document[json::json_pointer(pointer)] = value;
  return document.dump();
}

std::string without(const std::string& text, const std::string& key) {
  json document = json::parse(text);
  document.erase(key);
  return document.dump();
}

/// Why a file is refused.
std::string entry_refusal(const std::string& text) {
  return refused_with<InputError>([&] { parse_catalogue_file(text, "x.json"); });
}

Catalogue catalogue_of(const std::vector<std::string>& texts) {
  Catalogue catalogue;
  for (const std::string& text : texts) {
    CatalogueItem item = parse_catalogue_file(text, "x.json");
    catalogue[item.name] = item;
  }
  return catalogue;
}

/// Calls `check(place, fact)` for every fact of a file.
template <class Check>
void for_each_fact(const json& document, const std::string& place, Check check) {
  for (const auto& [key, value] : document.items()) {
    if (value.is_array() && key == "attention") {
      for (const json& fact : value) check(place + "/" + key, fact);
    }
    if (!value.is_object()) continue;
    if (value.contains("value")) {
      check(place + "/" + key, value);
    } else {
      for_each_fact(value, place + "/" + key, check);
    }
  }
}

}  // namespace

TEST_CASE("catalogue: every fact has a source, was fitted or is an assumption, one of them") {
  REQUIRE(built_in_catalogue().size() > 40);
  for (const BuiltInFile& file : built_in_catalogue()) {
    CAPTURE(file.name);
    std::size_t facts = 0;
    for_each_fact(json::parse(file.text), "", [&](const std::string& place, const json& fact) {
      CAPTURE(place);
      CHECK(fact.contains("source") + fact.contains("fitted") + fact.contains("assumption") == 1);
      ++facts;
    });
    CHECK(facts > 0);
  }
}

TEST_CASE("catalogue: each file is named after what it holds, and everything it names is there") {
  const Catalogue catalogue = read_catalogue();
  for (const BuiltInFile& file : built_in_catalogue()) {
    CAPTURE(file.name);
    const CatalogueItem item = parse_catalogue_file(std::string(file.text), std::string(file.name));
    CHECK(item.name + ".json" == file.name);
    REQUIRE(catalogue.contains(item.name));
    if (item.is == "link") {
      CHECK(link_of(item).bandwidth_bytes_per_s() > 0);
    } else if (item.is == "stack") {
      const json stack = json::parse(file.text);
      for (const auto& named : stack["devices"].items()) {
        CHECK(find_item(catalogue, "device", named.key()) != nullptr);
      }
    } else {
      const Device device = machine_of(catalogue, item).device;
      CHECK(device.memory_bytes > 0);
      CHECK(device.peak_flops.contains("fp32"));  // vector kernels run at it
    }
  }
}

TEST_CASE("catalogue: an MI325X computes as an MI300X in every precision") {
  const Catalogue catalogue = read_catalogue();
  const auto peaks = [&](const char* name) {
    return machine_of(catalogue, catalogue.at(name)).device.peak_flops;
  };
  const auto older = peaks("mi300x"), newer = peaks("mi325x");
  CHECK(older.size() == newer.size());
  for (const auto& [precision, flops] : newer) {
    CAPTURE(precision);
    REQUIRE(older.contains(precision));
    CHECK(older.at(precision) == doctest::Approx(flops).epsilon(1e-3));
  }
}

TEST_CASE("catalogue: every machine carries a pipeline from any of its devices to the next") {
  const Catalogue catalogue = read_catalogue();
  std::size_t machines = 0;
  for (const auto& named : catalogue) {
    if (named.second.is != "machine") continue;
    CAPTURE(named.first);
    ++machines;
    HardwareSpec spec;
    spec.machine = machine_of(catalogue, named.second);
    spec.topology = spec.machine->topology;
    spec.ranks = static_cast<std::uint32_t>(spec.machine->devices);
    const auto hardware = find_named(cost_model_entries(), "roofline")->make(spec);
    for (std::uint32_t rank = 1; rank < spec.ranks; ++rank) {
      CHECK(hardware->transfer(1e9, Rank{rank - 1}, Rank{rank}).occupies_us > 0);
      CHECK(hardware->transfer(1e9, Rank{rank}, host_memory).occupies_us > 0);
    }
    CHECK(hardware->peak_flops() > 0.0);
  }
  CHECK(machines == 25);
}

TEST_CASE("catalogue: a file is refused with the place of its fault and what would be right") {
  CHECK(entry_refusal(abacus) == "accepted");
  CHECK(entry_refusal(slow_link) == "accepted");
  CHECK(entry_refusal(office) == "accepted");
  CHECK(entry_refusal("") == "x.json: the file is empty; a JSON document is needed");
  CHECK(entry_refusal("[]") == "x.json: expected a JSON object");
  CHECK(entry_refusal("{}") ==
        "x.json: /is: expected which it is: \"device\", \"link\", \"machine\" or \"stack\"");
  CHECK(entry_refusal(with(abacus, "/is", 7)) ==
        "x.json: /is: expected which it is: \"device\", \"link\", \"machine\" or \"stack\"");
  CHECK(entry_refusal(with(abacus, "/penstock", 2)) ==
        "x.json: /penstock: 2 is not 1 (version of this format)");
  CHECK(entry_refusal(without(abacus, "memory_bytes")) ==
        "x.json: /memory_bytes: \"memory_bytes\" is missing");
  CHECK(entry_refusal(with(abacus, "/peak_flops/fp31", {{"value", 1}, {"source", "x"}})) ==
        "x.json: /peak_flops/fp31: unknown key \"fp31\"; did you mean \"fp32\"? known: bf16, fp16, "
        "fp32, fp4, fp64, fp8, int8, "
        "tf32");
  CHECK(entry_refusal(with(abacus, "/name", "ideal")) ==
        "x.json: /name: \"ideal\" is the name of a cost model; choose another");
}

TEST_CASE("catalogue: its schema takes every file that is built in, and no wrong one") {
  const Schema schema(json::parse(catalogue_schema()));
  const auto taken = [&](std::string_view text) {
    return refused_at([&] { schema.check(json::parse(text)); }) == "accepted";
  };
  for (const BuiltInFile& file : built_in_catalogue()) {
    CAPTURE(file.name);
    CHECK(taken(file.text));
  }
  for (const std::string& item : {slow_link, abacus, office}) {
    CHECK(taken(item));
    CHECK_FALSE(taken(with(item, "/zzz", 1)));
    CHECK_FALSE(taken(with(item, "/is", "shelf")));
  }
  CHECK_FALSE(taken("[]"));
  CHECK_FALSE(taken("{}"));
}

TEST_CASE("catalogue: a fact without a source or an assumption is refused, and one with both") {
  const std::string fact =
      " (a fact: its \"value\", with the \"source\" that says so or the \"assumption\" behind it, "
      "one of them)";
  const std::string both_or_none = " is not valid" + fact;
  CHECK(entry_refusal(with(abacus, "/memory_bytes", {{"value", 13}})) ==
        "x.json: /memory_bytes: {\"value\":13}" + both_or_none);
  CHECK(entry_refusal(with(abacus, "/memory_bytes/assumption", "a guess")) ==
        "x.json: /memory_bytes: {\"assumption\":\"a guess\",\"source\":\"counte…" + both_or_none);
  CHECK(entry_refusal(with(abacus, "/memory_bytes", 13)) ==
        "x.json: /memory_bytes: 13 is not an object" + fact);
  CHECK(entry_refusal(with(abacus, "/memory_bytes/source", ""))
            .starts_with("x.json: /memory_bytes/source: \"\" is not "));
}

TEST_CASE("catalogue: hostile values are refused") {
  CHECK(entry_refusal(with(abacus, "/memory_bytes/value", -1))
            .starts_with("x.json: /memory_bytes/value: -1 is not a number "
                         "from 0 to"));
  CHECK(entry_refusal(with(abacus, "/memory_bytes/value", 1e300))
            .starts_with("x.json: /memory_bytes/value: 1e+300 is not "));
  CHECK(entry_refusal(with(abacus, "/memory_bandwidth_bytes_per_s/value", 0))
            .starts_with("x.json: /memory_bandwidth_bytes_per_s/value: 0 is not "));
  CHECK(entry_refusal(with(abacus, "/peak_flops", json::object()))
            .starts_with("x.json: /peak_flops: {} is not "));
  CHECK(entry_refusal(with(abacus, "/reserve", {{"value", 1}, {"source", "x"}}))
            .starts_with("x.json: /reserve/value: 1 is not "));
  CHECK(entry_refusal(with(office, "/devices/value", 1e9))
            .starts_with("x.json: /devices/value: 1000000000 is not "));
  CHECK(entry_refusal(with(office, "/devices/value", 1.5))
            .starts_with("x.json: /devices/value: 1.5"));
  CHECK(entry_refusal(with(office, "/topology/kind", "mesh"))
            .starts_with("x.json: /topology/kind: \"mesh\" is not "));
  CHECK(entry_refusal(abacus.substr(0, abacus.size() / 2)).starts_with("x.json: line "));
}

TEST_CASE("catalogue: a machine may say what its links reach, and a device what is unaligned") {
  const auto fact = [](double value) { return json{{"value", value}, {"source", "measured"}}; };
  std::string faster = with(office, "/link_efficiency", fact(0.5));
  faster = with(with(faster, "/nic_efficiency", fact(1)), "/collective_us", fact(20));
  CHECK(entry_refusal(faster) == "accepted");
  CHECK(entry_refusal(with(abacus, "/unaligned_efficiency", fact(0.25))) == "accepted");
  CHECK(entry_refusal(with(office, "/nic_efficiency", fact(1.5)))
            .starts_with("x.json: /nic_efficiency/value: 1.5 is not "));
  CHECK(entry_refusal(with(office, "/link_efficiency", fact(0)))
            .starts_with("x.json: /link_efficiency/value: 0 is not "));
}

TEST_CASE("catalogue: the sizes of a table of efficiencies ascend") {
  const auto table = [](double first, double second) {
    return json{{"assumption", "x"},
                {"value", {{{"size", first}, {"share", 0.1}}, {{"size", second}, {"share", 0.2}}}}};
  };
  CHECK(entry_refusal(with(abacus, "/matrix_efficiency", table(1, 2))) == "accepted");
  CHECK(entry_refusal(with(abacus, "/matrix_efficiency", table(2, 2))) ==
        "x.json: /matrix_efficiency/value/1/size: 2 is not above the size before it; sizes "
        "ascend");
  CHECK(entry_refusal(with(abacus, "/memory_efficiency", table(0, 2)))
            .starts_with("x.json: /memory_efficiency/value/0/size: 0 is not "));
}

TEST_CASE("catalogue: a machine has what its device and its links say") {
  const Catalogue catalogue = catalogue_of({slow_link, abacus, office});
  const Machine machine = machine_of(catalogue, catalogue.at("office"));
  CHECK(machine.device.name == "abacus");
  CHECK(machine.device.peak_flops.at("fp32") == 2);
  CHECK(machine.device.memory_bytes == 13);
  CHECK(machine.devices == 4);
  CHECK(machine.link->bandwidth_bytes_per_s == 10);
  CHECK(machine.topology->parameters.at("link_bandwidth_bytes_per_s") == 10);
  const Machine alone = machine_of(catalogue, catalogue.at("abacus"));
  CHECK(alone.name == "abacus");
  CHECK(alone.devices == 1);
  CHECK_FALSE(alone.topology.has_value());
}

TEST_CASE("catalogue: a machine that names what is not there, or no topology, is refused") {
  const auto refused = [&](const char* pointer, const json& value) {
    const Catalogue catalogue = catalogue_of({slow_link, abacus, with(office, pointer, value)});
    return refused_with<InputError>([&] { machine_of(catalogue, catalogue.at("office")); });
  };
  CHECK(refused("/device/value", "slide rule") ==
        "x.json: /device/value: there is no device \"slide rule\"; known: abacus");
  CHECK(refused("/link/value", "abacus") ==
        "x.json: /link/value: there is no link \"abacus\"; known: string");
  CHECK(refused("/topology/kind/value", "ring")
            .starts_with("x.json: /topology/kind: unknown kind \"ring\"; known: "));
  CHECK(refused("/topology/spines", {{"value", 2}, {"source", "x"}})
            .starts_with("x.json: /topology/spines: unknown parameter \"spines\"; mesh takes "
                         "devices_per_node"));
  CHECK(refused("/topology/nic_latency_us", {{"value", -2}, {"source", "x"}})
            .starts_with("x.json: /topology/nic_latency_us: -2 is not "));
}

TEST_CASE("catalogue: of one name the last folder counts, the user's after what is built in") {
  const Scratch config, first, second;
  std::filesystem::create_directories(config.path("penstock/hardware"));
  config.file("penstock/hardware/a.json", with(abacus, "/summary", "of the user"));
  first.file("mine.json", with(slow_link, "/name", "nvlink-4"));
  first.file("b.json", with(abacus, "/summary", "of the first folder"));
  first.file("notes.txt", "not of the catalogue");
  second.file("c.json", with(abacus, "/summary", "of the second folder"));
  const Variable xdg("XDG_DATA_HOME", config.path(""));
  CHECK(read_catalogue().at("abacus").summary == "of the user");
  CHECK(read_catalogue().at("abacus").source == config.path("/penstock/hardware/a.json"));
  const Variable folders("PENSTOCK_HARDWARE", first.path("") + "::" + second.path(""));
  const Catalogue catalogue = read_catalogue();
  CHECK(catalogue.at("abacus").summary == "of the second folder");
  CHECK(catalogue.at("nvlink-4").summary == "two tins");
  CHECK(catalogue.at("nvlink-3").summary != "two tins");
  CHECK_FALSE(catalogue.at("nvlink-4").built_in);
  CHECK(catalogue.at("nvlink-3").built_in);
}

TEST_CASE("catalogue: without XDG_DATA_HOME the user's files are below the home folder") {
  const Scratch home;
  std::filesystem::create_directories(home.path(".local/share/penstock/hardware"));
  home.file(".local/share/penstock/hardware/a.json", abacus);
  const Variable variable("HOME", home.path(""));
  CHECK(read_catalogue().contains("abacus"));
}

// As where the home is that of another user: nothing can be looked at below a file.
TEST_CASE("catalogue: a folder of the user that cannot be read is left out") {
  const Scratch home;
  const Variable data("XDG_DATA_HOME", home.file("unreadable", ""));
  CHECK(read_catalogue().size() == built_in_catalogue().size());
}

// What was built is enough: where the sources stood may be gone, or have changed.
TEST_CASE("catalogue: without folders of a user, everything is built in") {
  const Scratch empty;
  const Variable data("XDG_DATA_HOME", empty.path(""));
  const Catalogue catalogue = read_catalogue();
  CHECK(catalogue.size() == built_in_catalogue().size());
  for (const auto& [name, item] : catalogue) {
    CAPTURE(name);
    CHECK(item.built_in);
  }
}

TEST_CASE(
    "catalogue: a folder that is not there, a broken file and a name given twice are refused") {
  const auto refused = [](const std::string& folders) -> std::string {
    const Variable variable("PENSTOCK_HARDWARE", folders);
    return refused_with<InputError>([&] { read_catalogue(); });
  };
  const Scratch folder;
  CHECK(refused(folder.path("nowhere")) ==
        folder.path("nowhere") +
            ": not a folder; PENSTOCK_HARDWARE takes folders separated by colons");
  const std::string a = folder.file("a.json", abacus);
  CHECK(refused(folder.path("")) == "accepted");
  const std::string b = folder.file("b.json", abacus);
  CHECK(refused(folder.path(".")) ==
        folder.path("./b.json") + ": /name: \"abacus\" is already the name of " +
            folder.path("./a.json") + "; names are unique within a folder");
  folder.file("b.json", "{");
  CHECK(refused(folder.path(".")).starts_with(folder.path("./b.json") + ": line 1, column"));
}

}  // namespace penstock::testing
