#include "experiments/input/scenario/hardware_section.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "experiments/input/catalogue/catalogue.hpp"

namespace penstock {

const Fields& fields_of(const TransferRules& /*rules*/) {
  using T = TransferRules;
  const Takes count = whole(0, 1'000'000);
  static const Fields fields{
      "how ranks send",
      {field<&T::blocking>("blocking", truth(),
                           "sends are blocking: a rank continues once its data has left"),
       field<&T::rendezvous>("rendezvous", truth(),
                             "a transfer starts once its receiver waits for it"),
       field<TransferRules>("in_flight", count, "default of sends_in_flight and receives_in_flight",
                            [](const nlohmann::json& value, TransferRules& rules) {
                              rules.sends_in_flight = rules.receives_in_flight = value;
                            }),
       field<&T::sends_in_flight>("sends_in_flight", count,
                                  "concurrent sends of a rank; 0: unlimited"),
       field<&T::receives_in_flight>("receives_in_flight", count,
                                     "concurrent receives of a rank; 0: unlimited")}};
  return fields;
}

const Fields& fields_of(const LinkSpec& /*link*/) {
  using L = LinkSpec;
  static const Fields fields{
      "",
      {field<&L::name>("name", full_text(), "name in routes and results; default \"from>to\""),
       field<&L::from>("from", full_text(),
                       "source: the number of a device, \"host\", or the name of a switch"),
       field<&L::to>("to", full_text(), "destination"),
       field<&L::bandwidth_bytes_per_s>("bandwidth_bytes_per_s", bandwidth()),
       field<&L::latency_us>("latency_us", time_us())},
      {"bandwidth_bytes_per_s"}};
  return fields;
}

namespace {

using nlohmann::json;
using H = HardwareSection;
using S = HardwareSpec;

Takes share() { return number(1e-6, 1); }

/// A number, or the limit for large work and the size that reaches half of it.
Takes efficiency(std::string_view most, std::string_view half_key, const Takes& half_takes,
                 std::string_view half) {
  return either(share(),
                object_of({"", {{"most", share(), most}, {half_key, half_takes, half}}, {"most"}}));
}

Efficiency efficiency_of(const json& stated, const char* half_at) {
  if (stated.is_number()) return {{{1, stated}}};
  return {{{1, stated["most"]}}, stated.value(half_at, 0.0)};
}

/// The keys of "stack", where it is no name.
Fields stack_choice_fields() {
  const Field name =
      field<&StackChoice::name>("name", full_text(), "a stack of the catalogue, or none");
  return with({"", {name}}, {&stack_constants()});
}

void read_stack(const json& stated, HardwareSection& hardware) {
  if (stated.is_string()) {
    hardware.stack.name = stated;
  } else {
    json own = stated;
    hardware.stack.name = stated.value("name", "");
    own.erase("name");
    hardware.stack.own = own.dump();
  }
}

Takes topology() {
  nlohmann::ordered_json schema = object_of({"",
                                             {{"kind", full_text(), "a kind of topology"}},
                                             {},
                                             meaning(number(), "a parameter of the topology")})
                                      .schema();
  schema["patternProperties"] = {{"_us$", any_time().schema()},
                                 {"_bytes$", any_bytes().schema()},
                                 {"_bytes_per_s$", any_bandwidth().schema()}};
  return schema;
}

void read_topology(const json& topology, HardwareSection& hardware) {
  TopologySpec& spec = hardware.stated.topology.emplace();
  for (const auto& [key, value] : topology.items()) {
    if (key == "kind") {
      spec.kind = value;
    } else {
      spec.parameters[key] = value;
    }
  }
}

/// A kind of collective, which a scenario may choose the algorithm of.
Field collective(std::string_view key, std::string_view about = "an algorithm, or auto") {
  return {key, text(), about};
}

const Fields& collective_fields() {
  static const Fields fields{
      "algorithm of each collective, see penstock list collectives; auto: the fastest",
      {collective("all_reduce"), collective("reduce_scatter"), collective("all_gather"),
       collective("all_to_all"),
       collective("ring_exchange", "an algorithm, or auto: of context parallelism")}};
  return fields;
}

/// By kind of collective; "auto" leaves the choice open.
void read_collectives(const json& collectives, HardwareSection& hardware) {
  for (const auto& [key, value] : collectives.items()) {
    const CollectiveKind kind = *collective_kind(key);
    const auto algorithm = value.get<std::string>();
    if (algorithm != "auto") {
      hardware.stated.collectives[kind] = &collective_algorithm(kind, algorithm);
    }
  }
}

void read_routes(const json& routes, HardwareSection& hardware) {
  for (const auto& [ends, names] : routes.items()) hardware.stated.routes[ends] = names;
}

/// The key of these that a section states, the first one; empty: none.
std::string stated_key(const json& section, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (section.contains(field.key)) return std::string(field.key);
  }
  return "";
}

/// Keys about a device, which only a machine or device of the catalogue has.
const std::vector<Field>& device_settings() {
  static const std::vector<Field> fields{
      field<&H::power_watts>("power_watts", watts(),
                             "power cap of a device: its matrix units slow down with the cube "
                             "root of the power"),
      field<H>("efficiency",
               efficiency("limit for large products", "half_at_gflop", number(0, 1e9),
                          "GFLOP of a product that reaches half of that"),
               "share of peak reached by matrix products: one number, or the limit for large "
               "products and the size that reaches half of it",
               [](const json& stated, H& hardware) {
                 hardware.efficiency = efficiency_of(stated, "half_at_gflop");
               }),
      field<H>("memory_efficiency",
               efficiency("limit for large kernels", "half_at_mb", megabytes(),
                          "MB moved by a kernel that reaches half of that"),
               "share of memory bandwidth reached: one number, or the limit for large kernels and "
               "the size that reaches half of it",
               [](const json& stated, H& hardware) {
                 hardware.memory_efficiency = efficiency_of(stated, "half_at_mb");
               }),
      field<&H::unaligned_efficiency>("unaligned_efficiency", share(),
                                      "factor on it for matrix products with a size that is not a "
                                      "multiple of 8, such as a vocabulary of 50257"),
      field<&H::kernel_us>("kernel_us", time_us(), "overhead per kernel on the device"),
      field<&H::kernel_issue_us>("kernel_issue_us", time_us(),
                                 "time of the host to issue one kernel; 0 with captured graphs"),
      field<&H::collective_us>("collective_us", time_us(),
                               "overhead per collective: launch and synchronization")};
  return fields;
}

/// Keys about the links that a machine brings.
const std::vector<Field>& link_settings() {
  static const std::vector<Field> fields{
      field<&H::link_efficiency>("link_efficiency", share(),
                                 "share of bandwidth reached by links inside a machine"),
      field<&H::nic_efficiency>("nic_efficiency", share(), "share of bandwidth reached by NICs")};
  return fields;
}

}  // namespace

/// The links of plain hardware: numbers.
const Fields& fields_of(const HardwareSpec& /*spec*/) {
  static const Fields fields{
      "",
      {cost(field<&S::transfer_us>("transfer_us", time_us(),
                                   "delay of each tensor that crosses ranks; does not occupy a "
                                   "link")),
       turned(cost(field<&S::latency_us>(
                  "latency_us", time_us(),
                  "time from sending the last byte of a tensor to its arrival")),
              {"Link latency", 0.1, 10'000}),
       turned(cost(field<&S::bandwidth_bytes_per_s>(
                  "bandwidth_bytes_per_s", bandwidth(),
                  "bandwidth of the link each way between two ranks")),
              {"Link bandwidth", 1e8, 1e12}),
       field<&S::host_latency_us>("host_latency_us", time_us(),
                                  "latency between a rank and host memory; default: as between "
                                  "ranks"),
       field<&S::host_bandwidth_bytes_per_s>("host_bandwidth_bytes_per_s", bandwidth(),
                                             "bandwidth each way between a rank and host memory; "
                                             "default: as between ranks")}};
  return fields;
}

const Fields& hardware_fields() {
  static const auto plain_links = within<&H::stated>(fields_of(HardwareSpec{}).fields);
  static const std::vector<Field> wiring{
      field<H>("collectives", object_of(collective_fields()), "", read_collectives),
      field<&H::transfers>("transfers", object_of(fields_of(TransferRules{}))),
      field<&H::stated, &S::sharing>("sharing", words({"fifo", "fair"}),
                                     "how transfers share physical links"),
      field<&H::stated, &S::links>("links", list_of(object_of(fields_of(LinkSpec{})), 1, 1'000'000),
                                   "unidirectional physical links of custom hardware"),
      field<H>("routes", map_of(list_of(text(), 1)),
               "links of a transfer, by its ends: \"0>1\", \"0>host\", \"0>data\"", read_routes),
      field<H>("topology", topology(),
               "topology of custom hardware, or one that replaces the machine's; other keys are "
               "its parameters, see penstock list hardware",
               read_topology)};
  static const Fields fields = with(
      {"what it runs on",
       {note(),
        field<&H::name>("name", text(),
                        "a cost model, or a machine or device of the catalogue; see penstock list "
                        "hardware"),
        field<&H::file>(
            "file", full_text(),
            "a machine or device by a file such as those of the catalogue, instead of a name"),
        field<&H::device>("device", full_text(),
                          "a device of the catalogue: in place of the machine's own, or for the "
                          "cost models roofline and measured"),
        field<&H::link>("link", full_text(),
                        "a link of the catalogue, one each way between two ranks; its speed where "
                        "that is not given"),
        field<&H::profile>("profile", full_text(),
                           "measured times of layers: a profile or a profile store"),
        field<H>(
            "stack", either(full_text(), object_of(stack_choice_fields())),
            "what a framework makes of the device: a stack of the catalogue, with or without its "
            "year, or none. Default: that of the command's framework. Without a command it is "
            "fsdp-compiled with zero 2 and 3, otherwise megatron-bridge. A device that the default "
            "does not list has megatron-bridge, or its own: xla on TPUs. There is none where "
            "efficiency or memory_efficiency is given, and on a device of your own file without "
            "\"like\"",
            read_stack),
        field<&H::devices>("devices", whole(1, 1'048'576), "how many devices there are")}},
      {&plain_links, &wiring, &device_settings(), &link_settings()});
  return fields;
}

HardwareSection read_hardware(const json& section, const TrainingCommand& command) {
  HardwareSection hardware;
  hardware.devices = command.devices;
  hardware.usual_stack = command.stack;
  read_fields(hardware_fields(), section, &hardware);
  hardware.named = section.contains("name");
  hardware.device_setting = stated_key(section, device_settings());
  hardware.link_setting = stated_key(section, link_settings());
  if (hardware.device_setting.empty() && section.contains("collectives")) {
    hardware.device_setting = "collectives";
  }
  constexpr std::array connecting{"link",  "transfer_us", "latency_us", "bandwidth_bytes_per_s",
                                  "links", "routes",      "topology"};
  hardware.names_links =
      std::ranges::any_of(connecting, [&](const char* key) { return section.contains(key); });
  return hardware;
}

}  // namespace penstock
