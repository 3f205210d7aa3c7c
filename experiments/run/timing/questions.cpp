#include "experiments/run/timing/questions.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

const Fields& kernel_fields() {
  using Q = KernelQuestion;
  static const Fields fields{
      "",
      {field<&Q::kind>("kind", full_text()), field<&Q::dtype>("dtype", full_text()),
       field<&Q::attention>("attention", full_text(), "the kernel of the device that runs it"),
       field<&Q::watts>("watts", number(0, watts().bounds().second), "a power cap; 0: none"),
       field<&Q::sizes>("sizes", map_of(number()))},
      {"kind", "sizes"}};
  return fields;
}

struct NamedCollective {
  std::string kind;
  CollectiveQuestion question;
};

const Fields& collective_fields() {
  using N = NamedCollective;
  using Q = CollectiveQuestion;
  static const Fields fields{
      "",
      {field<&N::kind>("kind", full_text()),
       field<&N::question, &Q::bytes>("bytes", number(1, Limits::bytes)),
       field<&N::question, &Q::devices>("devices", whole(2, most_calculated_devices)),
       field<&N::question, &Q::stride>("stride", whole(1, Limits::network_links))},
      {"kind", "bytes", "devices"}};
  return fields;
}

const Fields& question_fields() {
  static const Fields fields{"",
                             {{"penstock", whole(1, 1)},
                              {"hardware", full_text(), "a machine; of a kernel also a device"},
                              {"kernel", object_of(kernel_fields())},
                              {"collective", object_of(collective_fields())}},
                             {"hardware"}};
  return fields;
}

double bus_bytes_per_s(const CollectiveCall& call, double us) { return bus_bytes(call) / us * 1e6; }

}  // namespace

Machine machine_or_device(const Catalogue& catalogue, const std::string& name) {
  for (const char* is : {"device", "machine"}) {
    const CatalogueItem* item = find_item(catalogue, is, name);
    if (item == nullptr) continue;
    Machine machine = machine_of(catalogue, *item);
    set_topology(machine);
    return machine;
  }
  throw InputError("/hardware", unknown_text(fmt::format("device or machine \"{}\"", name), name,
                                             names_of_items(catalogue, "device") + ", " +
                                                 names_of_items(catalogue, "machine")));
}

ordered_json kernel_json(const std::string& hardware, const KernelTiming& timing) {
  const Kernel& kernel = timing.kernel;
  return {{"penstock", 1},
          {"hardware", hardware},
          {"precision", timing.precision},
          {"us", timing.us},
          {"flops", kernel.flops},
          {"bytes", kernel.bytes},
          {"flops_per_s", timing.flops_per_s()},
          {"bytes_per_s", timing.bytes_per_s()},
          {"peak_flops_per_s", timing.peak_flops_per_s}};
}

ordered_json collective_json(const std::string& hardware, const CollectiveTimings& timings) {
  const CollectiveCall& call = timings.call;
  ordered_json all = ordered_json::array();
  for (const AlgorithmTiming& one : timings.algorithms) {
    all.push_back({{"name", one.algorithm->name},
                   {"formula_us", one.formula_us},
                   {"flows_us", nullptr},
                   {"bus_bandwidth_bytes_per_s", bus_bytes_per_s(call, one.formula_us)},
                   {"flows_bus_bandwidth_bytes_per_s", nullptr}});
    if (!one.flows_us) continue;
    all.back()["flows_us"] = *one.flows_us;
    all.back()["flows_bus_bandwidth_bytes_per_s"] = bus_bytes_per_s(call, *one.flows_us);
  }
  return {{"penstock", 1},
          {"kind", name(call.kind)},
          {"bytes", call.bytes},
          {"hardware", hardware},
          {"devices", call.members.count},
          {"machines", call.members.machines()},
          {"devices_in_each_machine", call.members.per_machine},
          {"seats", timings.seats},
          {"quickest", quickest(call).name},
          {"algorithms", std::move(all)}};
}

ordered_json timed(const Catalogue& catalogue, const json& question) {
  static const Schema schema(schema_of(question_fields()));
  schema.check(question);
  const std::string hardware = question["hardware"];
  const Machine machine = machine_or_device(catalogue, hardware);
  if (question.contains("kernel")) {
    KernelQuestion kernel;
    read_fields(kernel_fields(), question["kernel"], &kernel);
    return below("/kernel",
                 [&] { return kernel_json(hardware, time_kernel(machine.device, kernel)); });
  }
  if (!question.contains("collective")) {
    throw InputError("", "expected \"kernel\" or \"collective\"");
  }
  NamedCollective named;
  read_fields(collective_fields(), question["collective"], &named);
  const auto kind = collective_kind(named.kind);
  if (!kind) {
    throw InputError("/collective/kind", fmt::format("unknown collective \"{}\"", named.kind));
  }
  named.question.kind = *kind;
  named.question.flows = false;
  CollectiveTimings timings;
  try {
    timings = time_collective(machine, named.question);
  } catch (const UsageError& error) {
    throw InputError("/collective", error.what());
  }
  const auto is_quickest = [&](const AlgorithmTiming& one) {
    return one.algorithm == &quickest(timings.call);
  };
  std::erase_if(timings.algorithms, [&](const auto& one) { return !is_quickest(one); });
  return collective_json(hardware, timings);
}

}  // namespace penstock
