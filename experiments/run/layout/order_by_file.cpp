#include <fmt/format.h>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/comms_check.hpp"
#include "experiments/input/scenario/named_file.hpp"
#include "experiments/run/layout/order.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "sim/base/error.hpp"
#include "sim/order/order_fault.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {
namespace {

/// Runs a step and puts the order's file in front of its errors.
template <class Step>
auto about_file(const std::string& path, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

/// Uses the scenario's chains, or one chain of all stages.
Placement placement_of_file(const Scenario& scenario, const OrderFile& order) {
  try {
    return placement_of(order, scenario.schedule.chains);
  } catch (const InputError& error) {
    throw in_file(scenario.source, InputError("/schedule/chains", error.what()));
  }
}

}  // namespace

Order order_by_file(const Scenario& scenario) {
  const std::string path =
      named_file(scenario.source, scenario.folder, "/schedule/file", scenario.schedule.file);
  const std::string text = read_file(path);
  const OrderFile file = about_file(path, [&] {
    OrderFile read = read_torch_csv(text);
    placement_of(read, {});  // refuses faults that do not depend on the chains
    return read;
  });
  Order order;
  order.name = scenario.schedule.file;
  order.placement = placement_of_file(scenario, file);
  about_file(path, [&] {
    const auto fault = find_order_fault(file.schedule, order.placement);
    if (fault) {
      throw OrderError(index(fault->rank), column_of(file, fault->rank, fault->action),
                       fault->text);
    }
    require_sound_comms(file, order.placement);
  });
  order.microbatches = MicrobatchColumns(file.schedule).count();
  order.schedule = file.schedule;
  order.note = untimed_comms_note(file);
  return order;
}

void check_against_order(const Scenario& scenario, const Degrees& degrees, const Batch& batch,
                         const Order& order) {
  const std::uint32_t ranks = order.schedule.ranks();
  if (scenario.parallel.pipeline && *scenario.parallel.pipeline != ranks) {
    throw InputError("/parallel/pipeline",
                     fmt::format("it is {}, but the order has {}", *scenario.parallel.pipeline,
                                 counted(ranks, "row")));
  }
  const std::uint32_t stages = order.placement.stage_count();
  if (scenario.parallel.chunks && std::uint64_t{*scenario.parallel.chunks} * ranks != stages) {
    throw InputError("/parallel/chunks",
                     fmt::format("it is {}, but the order has {} on {}", *scenario.parallel.chunks,
                                 counted(stages, "stage"), counted(ranks, "rank")));
  }
  if (batch.microbatches && *batch.microbatches != order.microbatches) {
    throw InputError("/schedule/microbatches",
                     fmt::format("it is {}, but the order has {}", *batch.microbatches,
                                 counted(order.microbatches, "microbatch", "microbatches")));
  }
  if (!scenario.schedule.settings.empty()) {
    throw InputError(option_pointer(scenario.schedule.settings.begin()->first),
                     "unknown key; an order from a file takes no options of a rule");
  }
  if (!scenario.partition.ranks.empty()) {
    throw InputError("/partition/ranks", "an order from a file brings its own placement");
  }
  for (const auto& chain : order.placement.chains()) {
    if (chain.size() == order.placement.chains().front().size()) continue;
    throw InputError("/schedule/chains",
                     "the chains differ in length; each is one copy of the "
                     "model");
  }
  check_devices(scenario, degrees, ranks);
}

}  // namespace penstock
