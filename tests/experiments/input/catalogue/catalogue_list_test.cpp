#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/json_output.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

ordered_json listed(const ordered_json& all, const char* name) {
  for (const ordered_json& entry : all) {
    if (entry["name"] == name) return entry;
  }
  return {};
}

}  // namespace

TEST_CASE(
    "the catalogue is listed with the main numbers of each thing, and all facts as they are") {
  const ordered_json all = catalogue_json(read_catalogue());
  const ordered_json device = listed(all, "p40-24gb");
  CHECK(device["is"] == "device");
  CHECK(device["numbers"] == "fp32 11.76 TFLOP/s dense; 24.03 GB at 346 GB/s");
  CHECK(device["facts"]["memory_bytes"]["value"] == 24032313344);
  CHECK(device["facts"]["memory_bytes"].contains("assumption"));
  CHECK_FALSE(device["facts"].contains("name"));
  CHECK(says(listed(all, "gb200")["numbers"].get<std::string>(), "fp4 10000, "));
  const ordered_json link = listed(all, "nvlink-4");
  CHECK(link["numbers"] == "450 GB/s each way over 18 links, 1 µs");
  CHECK(link["facts"]["bandwidth_bytes_per_s"].contains("source"));
  const ordered_json machine = listed(all, "dgx-1");
  CHECK(machine["numbers"] ==
        "8 x v100-sxm2-16gb, cube-mesh; a device has 120 GB/s inside, 5.625 GB/s outside");
  CHECK(machine["facts"]["topology"]["kind"]["value"] == "cube-mesh");
}

TEST_CASE("a listed item says whether it is built in, or which file it comes from") {
  Catalogue catalogue = read_catalogue();
  CHECK(listed(catalogue_json(catalogue), "nvlink-4")["file"] == "built in");
  catalogue["nvlink-4"].built_in = false;
  catalogue["nvlink-4"].source = "folder/mine.json";
  CHECK(listed(catalogue_json(catalogue), "nvlink-4")["file"] == "folder/mine.json");
}

TEST_CASE("machines are listed before devices, links and stacks, each by name") {
  const ordered_json all = catalogue_json(read_catalogue());
  std::vector<std::string> kinds;
  for (const ordered_json& entry : all) {
    if (kinds.empty() || kinds.back() != entry["is"]) kinds.push_back(entry["is"]);
  }
  CHECK(kinds == std::vector<std::string>{"machine", "device", "link", "stack"});
  CHECK(all.front()["name"] == "dgx-1");
}

}  // namespace penstock::testing
