#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/timing/questions.hpp"
#include "sim/base/limits.hpp"

namespace penstock::collective_file {
namespace {

struct Options : Arguments {
  Text kind = line.required_choice(
      "KIND",
      {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "ring_exchange"},
      "what the devices do together");
  Text bytes = line.option(
      "--bytes", "of the whole tensor; of all_to_all and ring_exchange those of one device",
      "BYTES");
  Text hardware = line.option("--hardware", "a machine (penstock list hardware), or its file",
                              "NAME|FILE", suggested_machines);
  Number devices = line.number("--devices", "of the group");
  Number stride = line.number("--stride", "from one of its devices to the next, otherwise 1");
  Text algorithm = line.option("--algorithm", "only this one", "NAME");
  Flag formula = line.flag("--formula", "without flows; up to 65536 devices");
  Flag json = line.json();
};

double bytes_given(const std::string& text) {
  if (text.empty()) throw UsageError("--bytes is missing");
  double bytes = 0;
  try {
    bytes = quantity_of(text, QuantityKind::bytes);
  } catch (const InputError& error) {
    throw UsageError(fmt::format("--bytes: {}", error.what()));
  }
  if (bytes >= 1 && bytes <= Limits::bytes) return bytes;
  throw UsageError(fmt::format("--bytes is {}: expected 1 to {:g}", text, Limits::bytes));
}

CollectiveQuestion question_of(const Options& options) {
  const std::uint32_t devices = within(
      "--devices", options.devices, options.formula ? most_calculated_devices : most_timed_devices);
  if (devices == 1) throw UsageError("--devices is 1; a group has 2 at least");
  return {*collective_kind(options.kind), bytes_given(options.bytes), devices,
          within("--stride", options.stride.value_or(1), Limits::network_links), !options.formula};
}

std::string timings_text(const std::string& machine, const CollectiveTimings& timings) {
  const CollectiveCall& call = timings.call;
  double longest_us = 0;
  for (const AlgorithmTiming& one : timings.algorithms) {
    longest_us = std::max(longest_us, one.formula_us);
  }
  const TimeUnit unit = unit_for(from_us(longest_us));
  std::vector<std::vector<std::string>> rows{{"algorithm", "formula", "as flows", "bus GB/s"}};
  for (const AlgorithmTiming& one : timings.algorithms) {
    rows.push_back({std::string(one.algorithm->name), time_text(from_us(one.formula_us), unit),
                    one.flows_us ? time_text(from_us(*one.flows_us), unit) : "-",
                    number_text(bus_bytes(call) / one.formula_us * 1e-3)});
  }
  return fmt::format("{} of {:g} bytes, {} devices on {} × {}: {} (times in {})\n{}",
                     name(call.kind), call.bytes, call.members.count, call.members.machines(),
                     machine, timings.seats, unit.name, aligned(rows, {0}));
}

int print_timings(const Options& options) {
  const CollectiveQuestion question = question_of(options);
  const CollectiveTimings timings = time_collective(
      machine_of_option(read_catalogue(), options.hardware), question, options.algorithm);
  show(options.json ? printed(collective_json(options.hardware, timings))
                    : timings_text(options.hardware, timings));
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry collective_entry{
    .name = "collective",
    .summary = "time a collective on a machine, by formula and as flows",
    .group = CommandGroup::plan,
    .example = "penstock collective all_reduce --bytes 1e9 --hardware dgx-a100 --devices 16",
    .declare = command<Options, print_timings>,
};

}  // namespace penstock::collective_file
