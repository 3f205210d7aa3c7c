#include "experiments/input/scenario/settle_hardware.hpp"

#include <doctest/doctest.h>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {
namespace {

/// Two stages that hand 1 MB on; its hardware comes with the settings.
const std::string ideal_stages = R"({
  "model":    { "stages": [ {"forward_us": 1, "activation_bytes": 1e6}, {"forward_us": 1} ] },
  "schedule": { "name": "forward-only", "microbatches": 1 } })";

Layout with(const std::string& hardware) {
  return settle(parse_scenario(ideal_stages, "s.json", {"/hardware=" + hardware}));
}

/// What a scenario comes to: its makespan, or why it is refused.
std::string outcome(const std::string& hardware) {
  return refused_with<InputError>([&] { return text_us(run(with(hardware)).report->makespan); });
}

void check_refused(const std::string& hardware, const std::string& start) {
  const std::string text = outcome(hardware);
  CAPTURE(text);
  CHECK(text.starts_with(start));
}

}  // namespace

TEST_CASE("hardware by a machine's name has its device, its links and roofline's times") {
  const Layout layout = with(R"({"name": "dgx-h100"})");
  CHECK(layout.hardware.cost_model == "roofline");
  REQUIRE(layout.hardware.spec.machine);
  CHECK(layout.hardware.spec.machine->device.name == "h100-sxm5-80gb");
  CHECK(layout.hardware.spec.topology->kind == "rails");
  CHECK(layout.memory.capacity_bytes == 85520809984);
}

TEST_CASE("a machine takes another device, and keeps its links") {
  const Layout own = with(R"({"name": "dgx-h100"})");
  const Layout other = with(R"({"name": "dgx-h100", "device": "h200-sxm-141gb"})");
  const Machine& machine = *other.hardware.spec.machine;
  CHECK(machine.name == "dgx-h100");
  CHECK(machine.device.name == "h200-sxm-141gb");
  CHECK(machine.link->bandwidth_bytes_per_s ==
        own.hardware.spec.machine->link->bandwidth_bytes_per_s);
  CHECK(other.hardware.spec.topology->parameters == own.hardware.spec.topology->parameters);
  CHECK(other.memory.capacity_bytes == 150109106995);
  CHECK(own.memory.capacity_bytes == 85520809984);
  CHECK(other.hardware.notes.front() == "dgx-h100 with h200-sxm-141gb in place of its own device");
}

TEST_CASE("machines kept by their names are told apart by the device in place of their own") {
  const Catalogue catalogue = read_catalogue();
  MachinesByName machines{8};
  const auto device = [&](const std::string& hardware) {
    const Scenario scenario = parse_scenario(ideal_stages, "s.json", {"/hardware=" + hardware});
    return settle_hardware(scenario, &catalogue, &machines).spec.machine->device.name;
  };
  CHECK(device(R"({"name": "dgx-h100"})") == "h100-sxm5-80gb");
  CHECK(device(R"({"name": "dgx-h100", "device": "h200-sxm-141gb"})") == "h200-sxm-141gb");
  CHECK(device(R"({"name": "dgx-h100", "device": "b200-sxm"})") == "b200-sxm");
  CHECK(device(R"({"name": "dgx-h100"})") == "h100-sxm5-80gb");
  CHECK(machines.count() == 3);
}

TEST_CASE("a capacity that is stated counts, not that of the device") {
  const Layout layout =
      settle(parse_scenario(ideal_stages, "s.json",
                            {R"(/hardware={"name": "dgx-1"})", "/memory={\"capacity_bytes\": 7}"}));
  CHECK(layout.memory.capacity_bytes == 7);
  CHECK_FALSE(with(R"({"name": "ideal"})").memory.capacity_bytes.has_value());
}

TEST_CASE("a device alone gets a link by name, or by numbers, or both") {
  // 1 MB over 150 GB/s, or 1 GB/s, and the latency; before and after it 1 us each.
  CHECK(outcome(R"({"name": "v100-sxm2-16gb", "link": "nvlink-2", "latency_us": 0,
                    "bandwidth_bytes_per_s": 1e9})") == "1002");
  CHECK(outcome(R"({"name": "v100-sxm2-16gb", "bandwidth_bytes_per_s": 1e9, "latency_us": 5})") ==
        "1007");
  CHECK(outcome(R"({"name": "roofline", "device": "v100-sxm2-16gb", "transfer_us": 3})") == "5");
  const Layout layout = with(R"({"name": "v100-sxm2-16gb", "link": "nvlink-2"})");
  CHECK(layout.hardware.spec.bandwidth_bytes_per_s == 150e9);
  CHECK(layout.hardware.spec.latency_us == 1.0);
  CHECK(layout.hardware.spec.machine->nic->bandwidth_bytes_per_s == 150e9);
  check_refused(R"({"name": "v100-sxm2-16gb"})",
                "s.json: /hardware/link: \"link\" is missing; v100-sxm2-16gb is a device alone");
}

TEST_CASE("a device may have a topology, and a link for what its groups do") {
  const Layout layout = with(R"({"name": "h100-sxm5-80gb", "link": "nvlink-4",
    "topology": {"kind": "nvswitch", "nvlink_bandwidth_bytes_per_s": 1e9}})");
  CHECK_FALSE(layout.hardware.spec.bandwidth_bytes_per_s.has_value());
  CHECK(layout.hardware.spec.machine->nic->bandwidth_bytes_per_s == 450e9);
  CHECK(text_us(run(layout).report->makespan) == "1002");
}

TEST_CASE("ideal links may be named too") {
  const Layout layout = with(R"({"name": "ideal", "link": "ib-hdr"})");
  CHECK(layout.hardware.spec.bandwidth_bytes_per_s == 25e9);
  CHECK_FALSE(layout.hardware.spec.machine.has_value());
}

TEST_CASE("what a device reaches can be said in the scenario") {
  const Layout layout = with(R"({"name": "dgx-a100", "efficiency": 0.5,
    "memory_efficiency": 0.75, "kernel_us": 7, "kernel_issue_us": 0})");
  const Device& device = layout.hardware.spec.machine->device;
  CHECK(efficiency_at(device.matrix_efficiency, 1e-3) == 0.5);
  CHECK(efficiency_at(device.matrix_efficiency, 1e3) == 0.5);
  CHECK(device.tile == 1);
  CHECK(efficiency_at(device.memory_efficiency, 1) == 0.75);
  CHECK(device.kernel_us == 7);
  CHECK(device.kernel_issue_us == 0);
}

TEST_CASE("efficiencies may grow with the size of a kernel") {
  const Layout layout = with(R"({"name": "dgx-a100",
    "efficiency": {"most": 0.8, "half_at_gflop": 2}, "unaligned_efficiency": 0.25,
    "memory_efficiency": {"most": 0.5, "half_at_mb": 10}, "collective_us": 30})");
  const Machine& machine = *layout.hardware.spec.machine;
  CHECK(efficiency_at(machine.device.matrix_efficiency, 2) == doctest::Approx(0.4));
  CHECK(efficiency_at(machine.device.memory_efficiency, 10) == doctest::Approx(0.25));
  CHECK(machine.device.tile == 1);
  CHECK(machine.device.unaligned_efficiency == 0.25);
  CHECK(machine.collective_us == 30);
  CHECK(efficiency_at(with(R"({"name": "dgx-a100", "efficiency": {"most": 0.8}})")
                          .hardware.spec.machine->device.matrix_efficiency,
                      1e-3) == 0.8);
  check_refused(R"({"name": "dgx-a100", "efficiency": {"most": 1.5}})",
                "s.json: /hardware/efficiency/most: 1.5 is not ");
  check_refused(R"({"name": "dgx-a100", "memory_efficiency": {"most": 1, "half_at_gflop": 2}})",
                "s.json: /hardware/memory_efficiency/half_at_gflop: unknown key");
  check_refused(R"({"name": "dgx-a100", "memory_efficiency": [0.5]})",
                "s.json: /hardware/memory_efficiency: [0.5] is not ");
  check_refused(R"({"name": "dgx-a100", "efficiency": 0})",
                "s.json: /hardware/efficiency: 0 is not ");
}

TEST_CASE("transfers over the links of a machine go at the share of their speed that is reached") {
  // 1 MB over NVLink of 450 GB/s, at a share that leaves 1 GB/s, and both hops of 1 us.
  CHECK(outcome(R"({"name": "dgx-h100", "link_efficiency": 0.5,
                    "topology": {"nvlink_bandwidth_bytes_per_s": 2e9}})") == "1004");
  CHECK(outcome(R"({"name": "dgx-h100", "nic_efficiency": 0.5, "link_efficiency": 1,
                    "topology": {"nvlink_bandwidth_bytes_per_s": 1e9}})") == "1004");
  const char* refusal = "it is about the links that a machine brings";
  check_refused(R"({"name": "v100-sxm2-16gb", "link": "nvlink-2", "link_efficiency": 0.5})",
                std::string("s.json: /hardware/link_efficiency: ") + refusal);
  check_refused(R"({"name": "ideal", "nic_efficiency": 0.5})",
                std::string("s.json: /hardware/nic_efficiency: ") + refusal);
  check_refused(R"({"name": "ideal", "collective_us": 5})",
                "s.json: /hardware/collective_us: it is about a device");
}

TEST_CASE("parameters of a machine's topology can be replaced, and its kind") {
  // 1 MB over NVLink, both hops of 1 us, at 1 GB/s.
  CHECK(outcome(R"({"name": "dgx-h100", "link_efficiency": 1,
                    "topology": {"nvlink_bandwidth_bytes_per_s": 1e9}})") == "1004");
  const Layout layout = with(R"({"name": "dgx-h100", "topology": {"kind": "leaf-spine",
    "nodes_per_leaf": 4, "spines": 2, "uplink_bandwidth_bytes_per_s": 1e11}})");
  CHECK(layout.hardware.spec.topology->parameters.at("nic_bandwidth_bytes_per_s") == 43.5e9);
  CHECK(layout.hardware.spec.topology->parameters.at("devices_per_node") == 8);
  CHECK(with(R"({"name": "tpu-v3-slice", "topology": {"x": 8, "y": 8}})")
            .hardware.spec.machine->devices == 64);
  check_refused(R"({"name": "dgx-h100", "topology": {"spines": 2}})",
                "s.json: /hardware/topology/spines: unknown parameter \"spines\"; rails takes");
}

TEST_CASE("hardware by a file is as if it stood in the catalogue") {
  const Scratch folder;
  folder.file("mine.json", R"({"penstock": 1, "is": "machine", "name": "mine", "summary": "two",
    "device": {"value": "p40-24gb", "source": "bought"}, "devices": {"value": 2, "source": "seen"},
    "host_link": {"value": "pcie-3-x16", "source": "seen"},
    "topology": {"kind": {"value": "pcie-tree", "source": "seen"},
                 "devices_per_switch": {"value": 2, "source": "seen"},
                 "pcie_latency_us": {"value": 0, "source": "wished"},
                 "pcie_bandwidth_bytes_per_s": {"value": 1e9, "source": "measured"}}})");
  const auto makespan = [&](const std::string& source) {
    return text_us(run(parse_scenario(ideal_stages, source, {R"(/hardware={"file": "mine.json"})"}))
                       .report->makespan);
  };
  CHECK(makespan(folder.path("s.json")) == "1002");
  check_refused(R"({"file": ")" + folder.path("gone.json") + R"("})",
                folder.path("gone.json") + ": cannot open");
  check_refused(R"({"name": "ideal", "file": "mine.json"})",
                "s.json: /hardware/file: it conflicts with \"name\"; give one of them");
  const std::string link = folder.file("link.json", R"({"penstock": 1, "is": "link", "name": "l",
    "summary": "l", "bandwidth_bytes_per_s": {"value": 1, "source": "x"}})");
  check_refused(R"({"file": ")" + link + R"("})",
                "s.json: /hardware/file: \"l\" is a link; a machine or a device is needed");
}

TEST_CASE("what contradicts itself is refused with what would be right") {
  check_refused(R"({"name": "dgx-9"})",
                "s.json: /hardware/name: unknown name \"dgx-9\"; did you mean \"dgx-1\"? known: "
                "custom, ideal, measured, "
                "roofline; machines: dgx-1, ");
  check_refused(R"({"name": "nvlink-4"})", "s.json: /hardware/name: unknown name \"nvlink-4\"");
  check_refused(R"({"name": "roofline"})",
                "s.json: /hardware/device: \"device\" is missing: roofline needs one");
  check_refused(R"({"name": "roofline", "device": "dgx-1"})",
                "s.json: /hardware/device: unknown name \"dgx-1\"; known: a100-sxm4-40gb");
  check_refused(
      R"({"name": "ideal", "device": "p40-24gb"})",
      "s.json: /hardware/device: layers on ideal hardware take the times that they state");
  check_refused(R"({"name": "a100-sxm4-80gb", "device": "p40-24gb"})",
                "s.json: /hardware/device: it conflicts with \"a100-sxm4-80gb\", which is a device "
                "itself; it goes with the name of a machine");
  check_refused(R"({"name": "dgx-1", "device": "p40-24"})",
                "s.json: /hardware/device: unknown name \"p40-24\"; did you mean \"p40-24gb\"?");
  check_refused(R"({"name": "dgx-1", "link": "nvlink-4"})",
                "s.json: /hardware/link: dgx-1 has its own links; parameters of \"topology\"");
  check_refused(R"({"name": "dgx-1", "bandwidth_bytes_per_s": 1e9})",
                "s.json: /hardware/bandwidth_bytes_per_s: dgx-1 has its own links");
  check_refused(R"({"name": "dgx-1", "links": [{"bandwidth_bytes_per_s": 1}]})",
                "s.json: /hardware/links: dgx-1 has its own links");
  check_refused(R"({"name": "p40-24gb", "link": "rope"})",
                "s.json: /hardware/link: unknown name \"rope\"; known: ethernet-10, ");
  check_refused(R"({"name": "ideal", "profile": "p.json"})",
                "s.json: /hardware/profile: ideal hardware takes no times from a profile");
  check_refused(R"({"name": "dgx-1", "profile": "gone.json"})", "gone.json: cannot open");
  check_refused(R"({"name": "custom", "topology": {"spines": 2}})",
                "s.json: /hardware/topology/kind: \"kind\" is missing; known: cube-mesh, ");
}

TEST_CASE("a broken catalogue is no matter to a scenario that uses none of it") {
  const Scratch folder;
  const std::string broken = folder.file("broken.json", "{");
  const Variable folders("PENSTOCK_HARDWARE", folder.path(""));
  CHECK(outcome(R"({"name": "ideal"})") == "2");
  check_refused(R"({"name": "dgx-1"})", broken + ": line 1, column");
}

}  // namespace penstock::testing
