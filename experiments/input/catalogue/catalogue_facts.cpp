#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "hardware_models/topologies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/base/parameters.hpp"

namespace penstock {

const Fields& fields_of(const EfficiencyPoint& /*point*/) {
  using P = EfficiencyPoint;
  static const Fields fields{
      "",
      {field<&P::size>("size", number(1e-12, 1e12)), field<&P::share>("share", number(1e-6, 1))},
      {"size", "share"}};
  return fields;
}

namespace {

using nlohmann::json;

Takes name() {
  return nlohmann::ordered_json{{"type", "string"},
                                {"minLength", 1},
                                {"maxLength", 100},
                                {"description", "by which scenarios name it"}};
}

Takes sentence() {
  return nlohmann::ordered_json{{"type", "string"}, {"minLength", 1}, {"maxLength", 1000}};
}

/// An object that names exactly one origin.
Takes with_origin(Fields fields, std::initializer_list<const char*> origins) {
  nlohmann::ordered_json one_of;
  for (const char* origin : origins) {
    fields.fields.push_back({origin, sentence()});
    one_of.push_back({{"required", {origin}}});
  }
  nlohmann::ordered_json schema = object_of(fields).schema();
  schema["oneOf"] = std::move(one_of);
  return schema;
}

/// A fact of a device, link or machine, whose value is what the field takes.
Field fact(Field field) {
  field.takes = with_origin({"a fact: its \"value\", with the \"source\" that says so or the "
                             "\"assumption\" behind it, one of them",
                             {{"value", field.takes}},
                             {"value"}},
                            {"source", "assumption"});
  if (field.read) {
    field.read = [read = std::move(field.read)](const json& stated, void* item) {
      read(stated["value"], item);
    };
  }
  return field;
}

/// The same of a stack.
Field constant(Field field) {
  Takes value = field.takes;
  field = fact(std::move(field));
  field.takes = with_origin(
      {"a constant of a framework: its \"value\", with the \"source\" that says so, the rows that "
       "it was \"fitted\" to, or the \"assumption\" behind it, one of them",
       {{"value", std::move(value)},
        {"spread", number(0, 10), "relative standard deviation of a fitted value"}},
       {"value"}},
      {"source", "fitted", "assumption"});
  return field;
}

Takes any_rate() { return meaning(number(1, 1e18), "a second"); }
Takes any_size() { return meaning(number(0, 1e18), "bytes"); }
Takes any_us() { return meaning(number(0, 1e12), "microseconds"); }
Takes count() { return whole(1, 65'536); }
Takes reached() { return meaning(number(1e-6, 1), "the share that is reached"); }

/// The fields of a kind of item, behind those that every item has.
Fields item_fields(const char* is, std::vector<Field> own, std::vector<std::string_view> required) {
  Fields all{"",
             {{"penstock", nlohmann::ordered_json{{"enum", {1}}}, "version of this format"},
              {"is", words({is})},
              {"name", name()},
              {"summary", sentence()}},
             {"penstock", "is", "name", "summary"}};
  all.fields.insert(all.fields.end(), own.begin(), own.end());
  all.required.insert(all.required.end(), required.begin(), required.end());
  return all;
}

Takes table(std::string_view about) {
  return meaning(list_of(object_of(fields_of(EfficiencyPoint{})), 1, 1000), about);
}

Takes efficiency_table() {
  return table("what share of a peak kernels of some size reach, ascending in size");
}

const Fields& attention_fields() {
  using A = AttentionSpeed;
  static const Fields fields{
      "the speed of one pass of an attention kernel; a backward counts 2.5 times the FLOPs of its "
      "forward",
      {field<&A::kernel>("kernel", name()),
       field<A>("pass", words({"forward", "backward"}), "",
                [](const json& pass, A& speed) { speed.backward = pass == "backward"; }),
       field<&A::head_size>("head_size", count()),
       field<&A::by_keys>("value", table("the share of the peak, ascending in keys"))},
      {"kernel", "pass", "head_size", "value"}};
  return fields;
}

void read_attention(const json& speeds, Device& device) {
  for (const json& speed : speeds) {
    read_fields(attention_fields(), speed, &device.attention.emplace_back());
  }
}

/// Peaks by precision.
Fields peak_fields() {
  Fields fields{
      "dense, without sparsity, a second, by precision; fp32 stands for the vector units too", {}};
  for (const char* precision : {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"}) {
    fields.fields.push_back(fact({precision, any_rate()}));
  }
  return fields;
}

Takes peaks() {
  nlohmann::ordered_json schema = object_of(peak_fields()).schema();
  schema["minProperties"] = 1;
  return schema;
}

const Fields& device_fields() {
  using D = Device;
  static const Fields fields = [] {
    std::vector<Field> own{
        field<D>("peak_flops", peaks(), "",
                 [](const json& peaks, D& device) {
                   for (const auto& [precision, peak] : peaks.items()) {
                     device.peak_flops[precision] = peak["value"];
                   }
                 }),
        fact(field<&D::memory_bytes>("memory_bytes", any_size())),
        fact(field<&D::memory_bandwidth_bytes_per_s>("memory_bandwidth_bytes_per_s", any_rate())),
        fact(field<&D::tile>("tile", count())),
        fact(field<&D::multiprocessors>("multiprocessors", count())),
        fact(field<&D::power_watts>("power_watts", count())),
        fact(field<D>(
            "power_cap_watts", count(), "",
            [](const json& cap, D& device) { device.power_share = share_under_cap(device, cap); })),
        fact(field<&D::like>("like", name())),
        fact(field<&D::usual_stack>("usual_stack", name())),
        field<D>("attention",
                 list_of(with_origin(attention_fields(), {"source", "assumption"}), 1, 100),
                 "speeds of attention kernels by the keys that an average query reads: half of the "
                 "sequence under a causal mask",
                 read_attention),
        fact(field<&D::context_bytes>("context_bytes", any_size())),
        fact(field<&D::reserve>("reserve", meaning(number(0, 0.99), "a share of the whole")))};
    const std::vector<Field>& prices = price_fields();
    own.insert(own.end(), prices.begin(), prices.end());
    return item_fields("device", std::move(own),
                       {"peak_flops", "memory_bytes", "memory_bandwidth_bytes_per_s"});
  }();
  return fields;
}

const Fields& link_fields() {
  using L = LinkFacts;
  static const Fields fields = item_fields(
      "link",
      {fact(field<&L::one, &Speed::bandwidth_bytes_per_s>("bandwidth_bytes_per_s", any_rate())),
       fact(field<&L::links>("links", count())),
       fact(field<&L::one, &Speed::latency_us>("latency_us", any_us()))},
      {"bandwidth_bytes_per_s"});
  return fields;
}

/// Takes the topology from the file.
void read_topology(const json& facts, Machine& machine) {
  TopologySpec& topology = machine.topology.emplace();
  for (const auto& [key, fact] : facts.items()) {
    if (key == "kind") {
      topology.kind = fact["value"];
    } else {
      topology.parameters[key] = fact["value"];
    }
  }
}

const Fields& machine_fields() {
  using M = Machine;
  static const Fields fields = item_fields(
      "machine",
      {fact({"device", name()}), fact(field<&M::devices>("devices", count())),
       fact({"link", name()}), fact(field<&M::links>("links", count())),
       fact({"host_link", name()}), fact({"nic_link", name()}),
       fact(field<&M::devices_per_nic>("devices_per_nic", count())),
       field<M>("topology",
                object_of({"", {fact({"kind", name()})}, {"kind"}, fact({"", number()}).takes}),
                "a kind of topology; other keys are those of its parameters that do not follow "
                "from the links",
                read_topology),
       fact(field<&M::link_efficiency>("link_efficiency", reached())),
       fact(field<&M::nic_efficiency>("nic_efficiency", reached())),
       fact(field<&M::collective_us>("collective_us", any_us())),
       fact(field<M>("in_network_bandwidth_bytes_per_s", any_rate(), "",
                     [](const json& rate, M& machine) {
                       machine.in_network.emplace().bandwidth_bytes_per_s = rate;
                     })),
       fact(field<M>("in_network_us", any_us(), "",
                     [](const json& us, M& machine) {
                       if (machine.in_network) machine.in_network->latency_us = us;
                     })),
       fact(field<&M::communication_bytes>("communication_bytes", any_size())),
       fact(field<&M::warm_up_us>("warm_up_us", any_us()))},
      {"device", "devices", "topology"});
  return fields;
}

Fields stack_item_fields() {
  const Takes constants = object_of(stack_fields());
  Takes by_device =
      nlohmann::ordered_json{{"type", "object"}, {"additionalProperties", constants.schema()}};
  return item_fields("stack",
                     {{"devices", std::move(by_device), "constants by the name of a device"},
                      {"others", constants}},
                     {"devices", "others"});
}

Device device_of(const CatalogueItem& item) {
  Device device;
  device.name = item.name;
  read_fields(device_fields(), json::parse(item.text), &device);
  return device;
}

/// The item that a fact of a file names.
const CatalogueItem& item_named(const Catalogue& catalogue, const CatalogueItem& by,
                                const json& facts, const char* key, const char* is) {
  const std::string name = facts[key]["value"];
  if (const CatalogueItem* found = find_item(catalogue, is, name)) return *found;
  throw in_file(by.source, InputError(fmt::format("/{}/value", key),
                                      fmt::format("there is no {} \"{}\"; known: {}", is, name,
                                                  names_of_items(catalogue, is))));
}

/// The combined speed of a device's links of one kind.
std::optional<Speed> speed_of(const Catalogue& catalogue, const CatalogueItem& by,
                              const json& facts, const char* key) {
  if (!facts.contains(key)) return std::nullopt;
  const LinkFacts link = link_of(item_named(catalogue, by, facts, key, "link"));
  return Speed{link.bandwidth_bytes_per_s(), link.one.latency_us};
}

void take_links(const Catalogue& catalogue, const CatalogueItem& item, const json& facts,
                Machine& machine) {
  if (facts.contains("link")) {
    const LinkFacts link = link_of(item_named(catalogue, item, facts, "link", "link"));
    machine.link = link.one;
    machine.links = link.links;
  }
  machine.host = speed_of(catalogue, item, facts, "host_link");
  machine.nic = speed_of(catalogue, item, facts, "nic_link");
}

/// Refuses a topology without stated link speeds; its defaults would not be those of this machine.
void check_links(const CatalogueItem& item, const Machine& machine) {
  const TopologyEntry* kind = find_named(topology_entries(), machine.topology->kind);
  if (kind == nullptr) return;  // building the topology reports it
  constexpr std::string_view links = "nvlink_bandwidth_bytes_per_s, link_bandwidth_bytes_per_s";
  for (const Parameter& parameter : kind->parameters) {
    if (!is_listed(links, parameter.name)) continue;
    if (machine.topology->parameters.contains(std::string(parameter.name))) continue;
    throw in_file(item.source,
                  InputError("/link", fmt::format("it is missing; machines of the topology {} "
                                                  "have such links",
                                                  kind->name)));
  }
}

/// Fills in the parameters of the machine's topology and checks it.
void settle_topology(const CatalogueItem& item, Machine& machine) {
  set_topology(machine, *machine.topology);
  try {
    check_topology(machine.topology->kind, machine.topology->parameters);
  } catch (const InputError& error) {
    constexpr std::string_view above = "/hardware";
    throw in_file(item.source, InputError(error.where().substr(above.size()), error.what()));
  }
  check_links(item, machine);
}

}  // namespace

const std::vector<Field>& price_fields() {
  using D = Device;
  static const std::vector<Field> fields{
      fact(field<&D::matrix_efficiency, &Efficiency::table>("matrix_efficiency",
                                                            efficiency_table())),
      fact(field<&D::fp8_efficiency>("fp8_efficiency", efficiency_table())),
      fact(field<&D::unaligned_efficiency>("unaligned_efficiency", reached())),
      fact(field<&D::tile_start>("tile_start", count())),
      fact(field<&D::memory_efficiency, &Efficiency::table>("memory_efficiency",
                                                            efficiency_table())),
      fact(field<&D::kernel_us>("kernel_us", any_us())),
      fact(field<&D::kernel_issue_us>("kernel_issue_us", any_us()))};
  return fields;
}

const std::vector<Field>& stack_constants() {
  using C = StackConstants;
  const Takes share = number(1e-6, 2), part = number(0, 1), passes = number(0.1, 100);
  static const std::vector<Field> fields{
      field<&C::matrix_share>("matrix_share", share, "of the rate of matrix products"),
      field<&C::fp8_share>("fp8_share", share, "the same for products in fp8"),
      field<&C::fp4_share>("fp4_share", share, "the same for products in fp4"),
      field<&C::expert_gflop>("expert_gflop", number(0, 1e6),
                              "work that each expert of a product costs besides its own: small "
                              "ones run slowly"),
      field<&C::expert_issue_us>("expert_issue_us", any_us(),
                                 "of the host for each expert of a product in a low precision: "
                                 "its casts and its launch"),
      field<&C::attention>("attention", full_text(), "an attention kernel of the device"),
      field<&C::attention_share>("attention_share", share, "of the rate of that kernel"),
      field<&C::fp8_attention_share>("fp8_attention_share", share,
                                     "the same in fp8, of the rate at the peak of fp8; default: "
                                     "attention_share"),
      field<&C::computes_masked>("computes_masked", truth(),
                                 "attention also computes scores that the mask hides"),
      field<&C::vector_passes>("vector_passes", passes,
                               "passes of memory-bound kernels over their data, over the fewest "
                               "possible"),
      field<&C::routing_passes>("routing_passes", passes,
                                "the same of kernels that route tokens to experts"),
      field<&C::routing_us>("routing_us", any_us(),
                            "that a pass through a layer of experts waits for the host"),
      field<&C::stops_recomputing>("stops_recomputing", truth(),
                                   "recomputation of a layer ends when all is back that its "
                                   "backward reads, without its last product"),
      field<&C::hides_rings>("hides_rings", truth(),
                             "keys and values travel around context groups behind attention"),
      field<&C::deduplicates>("deduplicates", truth(),
                              "a token goes to each device once, and through each NIC once, "
                              "however many of its experts are there"),
      field<&C::tensor_hidden>("tensor_hidden", part,
                               "share of gathers and scatters of tensor groups, inside a machine, "
                               "that runs behind products"),
      field<&C::overlaps_gathers>("overlap_gathers", truth(),
                                  "new weights arrive behind the first forwards of a step"),
      field<&C::keeps_narrow>("keeps_narrow", truth(),
                              "inputs of products in a low precision are kept in it"),
      field<&C::leaves_placeholders>("leaves_placeholders", truth(),
                                     "products leave a placeholder gradient of each shape"),
      field<&C::gathers_exposed>("gathers_exposed", part,
                                 "share of ZeRO-3's gathers that computing waits for, though they "
                                 "are prefetched"),
      field<&C::sums_exposed>("sums_exposed", part,
                              "share of the collectives of replicas, overlapped with computing, "
                              "that still lengthens a step: they take cores and bandwidth"),
      field<&C::step_us>("step_us", any_us(), "of a step, besides memory traffic of the update"),
      field<&C::scale_loss>("scale_loss", part,
                            "time that computing takes more with each doubling of the replicas")};
  return fields;
}

const Fields& stack_fields() {
  using S = Stack;
  static const Fields fields = [] {
    Fields all{"", within<&S::constants>(stack_constants())};
    all.fields.push_back(
        field<&S::kernel_issue_us>("kernel_issue_us", meaning(number(0, 1e6), "microseconds")));
    for (const char* key : {"spread", "spread_narrow", "spread_experts", "spread_states"}) {
      all.fields.push_back({key, number(1e-6, 2)});
    }
    using R = FittedRange;
    for (Field& one : within<&S::fitted>({
             field<&R::devices>("fitted_devices", whole(1, 1'000'000),
                                "the most of a run behind these constants"),
             field<&R::kernel_us>("fitted_kernel_us", any_us(),
                                  "the least mean time of the kernels of such a run"),
             field<&R::expert_tokens>("fitted_expert_tokens", number(1, 1e9),
                                      "the fewest that an expert of such a run multiplies at once"),
         })) {
      all.fields.push_back(std::move(one));
    }
    for (Field& one : all.fields) one = constant(std::move(one));
    return all;
  }();
  return fields;
}

const std::map<std::string, Takes>& catalogue_kinds() {
  static const std::map<std::string, Takes> kinds{{"device", object_of(device_fields())},
                                                  {"link", object_of(link_fields())},
                                                  {"machine", object_of(machine_fields())},
                                                  {"stack", object_of(stack_item_fields())}};
  return kinds;
}

std::string_view catalogue_schema() {
  static const std::string text = [] {
    nlohmann::ordered_json schema{
        {"$schema", "http://json-schema.org/draft-07/schema#"},
        {"title", "Penstock catalogue: one device, link, machine or stack a file"}};
    for (const auto& [is, takes] : catalogue_kinds()) {
      schema["oneOf"].push_back({{"$ref", "#/definitions/" + is}});
      schema["definitions"][is] = takes.schema();
    }
    return printed(schema);
  }();
  return text;
}

LinkFacts link_of(const CatalogueItem& item) {
  LinkFacts link;
  read_fields(link_fields(), json::parse(item.text), &link);
  link.one.bandwidth_bytes_per_s /= link.links;
  return link;
}

Machine machine_of(const Catalogue& catalogue, const CatalogueItem& item,
                   const CatalogueItem* device) {
  Machine machine;
  machine.name = item.name;
  if (item.is == "device") {
    machine.device = device_of(item);
    return machine;
  }
  const json facts = json::parse(item.text);
  const CatalogueItem& own = item_named(catalogue, item, facts, "device", "device");
  machine.device = device_of(device != nullptr ? *device : own);
  take_links(catalogue, item, facts, machine);
  read_fields(machine_fields(), facts, &machine);
  settle_topology(item, machine);
  return machine;
}

}  // namespace penstock
