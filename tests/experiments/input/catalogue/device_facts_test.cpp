#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/input/catalogue/catalogue.hpp"
#include "tests/support/layers.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

/// The facts that a catalogue must have of a device of the data, in its own units.
struct Row {
  const char* name;   // in the data
  const char* entry;  // in the catalogue
};
constexpr Row rows[] = {{"P100 SXM2 16GB", "p100-sxm2-16gb"},
                        {"P100 PCIe 16GB", "p100-pcie-16gb"},
                        {"P40 24GB", "p40-24gb"},
                        {"V100 SXM2 16GB", "v100-sxm2-16gb"},
                        {"V100 SXM2 32GB", "v100-sxm2-32gb"},
                        {"A100 SXM4 40GB", "a100-sxm4-40gb"},
                        {"A100 SXM4 80GB", "a100-sxm4-80gb"},
                        {"H100 SXM5 80GB", "h100-sxm5-80gb"},
                        {"H200 SXM 141GB", "h200-sxm-141gb"},
                        {"B200 SXM (HGX)", "b200-sxm"},
                        {"GB200 (per GPU)", "gb200"},
                        {"MI250X (OAM, two dies)", "mi250x"},
                        {"MI300X", "mi300x"},
                        {"TPU v2 chip (2 cores)", "tpu-v2"},
                        {"TPU v3 chip (2 cores)", "tpu-v3"},
                        {"TPU v4 chip", "tpu-v4"}};

/// What the data knows by the name of a fact of the catalogue; matrix units count where they are
/// told apart.
std::optional<double> peak_in(const json& device, const std::string& precision) {
  const json& peaks = device["peak_TFLOPs"];
  for (const std::string& key : {precision, precision + "_tensor"}) {
    if (peaks.contains(key)) return peaks[key].get<double>() * 1e12;
  }
  return std::nullopt;
}

/// Whether the data has a number from memory only; `parts` are the words it may use for it.
bool from_memory(const json& device, const std::vector<const char*>& parts) {
  const json& memory = device["from_memory"];
  if (memory.is_boolean()) return memory;
  for (const char* part : parts) {
    if (memory.contains(part)) return memory[part];
  }
  return false;
}

void check_fact(const json& fact, double value, bool remembered, const std::string& source) {
  CHECK(fact["value"].get<double>() == doctest::Approx(value));
  REQUIRE(fact.contains(remembered ? "assumption" : "source"));
  if (!remembered) CHECK(says(fact["source"].get<std::string>(), source));
}

}  // namespace

TEST_CASE("catalogue: devices have the numbers of the data, with its source or as from memory") {
  const auto data = oracle("hardware.json");
  if (!data) return;
  const Catalogue catalogue = read_catalogue();
  for (const json& device : data->at("devices")) {
    CAPTURE(device["name"].get<std::string>());
    const auto* row = std::find_if(std::begin(rows), std::end(rows),
                                   [&](const Row& r) { return device["name"] == r.name; });
    REQUIRE(row != std::end(rows));
    const json facts = json::parse(catalogue.at(row->entry).text);
    const std::string source = device["source"];
    // What a device reports: not above its data sheet in GiB, and not far below it in GB.
    const double reported = facts["memory_bytes"]["value"], gigabytes = device["mem_GB"];
    CHECK(reported <= gigabytes * 1024 * 1024 * 1024);
    CHECK(reported > 0.94 * gigabytes * 1e9);
    check_fact(facts["memory_bandwidth_bytes_per_s"], device["mem_GBps"].get<double>() * 1e9,
               from_memory(device, {"mem_GBps", "mem", "rest"}), source);
    for (const auto& named : facts["peak_flops"].items()) {
      CAPTURE(named.key());
      const auto peak = peak_in(device, named.key());
      if (peak) {
        check_fact(named.value(), *peak,
                   from_memory(device, {"peak", "exact 1307/2615/81.7", "rest"}), source);
      } else {
        CHECK(named.value().contains("assumption"));
      }
    }
  }
}

}  // namespace penstock::testing
