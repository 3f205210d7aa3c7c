#include "experiments/run/layout/written.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/layout/training.hpp"
#include "sim/base/error.hpp"
#include "sim/model/partition.hpp"

namespace penstock {
namespace {

/// Which cells of a written order move weights and gradients.
void settle_collectives(Layout& layout) {
  Communication& comms = layout.communication;
  const bool unshards = any_cell(comms.rows, [](Comm comm) { return comm == Comm::unshard; });
  comms.weights = gathers_weights(layout) && unshards;
  comms.gradients = shares_weights(layout) && layout.schedule.has_backward() &&
                    any_cell(comms.rows, [](Comm comm) { return comm == Comm::reduce_grad; });
  if (comms.weights || !unshards) return;
  layout.notes.push_back(fmt::format(
      "UNSHARD and RESHARD gather and free nothing: {}",
      layout.memory.zero < 3 ? "/memory/zero is not 3" : "each device keeps all of its weights"));
}

/// By model stage: whether what it sends on is small enough to leave without its RECV.
std::vector<bool> eager_stages(const Scenario& scenario, const Layout& layout) {
  std::vector<bool> eager;
  const auto most = scenario.schedule.eager_bytes;
  if (!most) return eager;
  const double share = training_of(layout).received_share;
  for (const StageSizes& sizes : stage_sizes(layout.model, layout.partition)) {
    eager.push_back(sizes.activation_bytes * share <= *most);
  }
  return eager;
}

/// The EXCHANGEs of an order among the SENDs and RECVs that it leaves open.
std::vector<std::vector<CommCell>> merged(const std::vector<std::vector<CommCell>>& exchanges,
                                          const std::vector<std::vector<CommCell>>& lowered) {
  std::vector<std::vector<CommCell>> rows(lowered.size());
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    std::vector<CommCell> moves = lowered[rank];
    std::erase_if(moves, [](const CommCell& cell) { return !has_microbatch(cell.comm); });
    std::ranges::merge(exchanges[rank], moves, std::back_inserter(rows[rank]), {},
                       &CommCell::before, &CommCell::before);
  }
  return rows;
}

/// Whether transfers keep the ranks at their ends waiting.
bool transfers_hold_up(const Scenario& scenario) {
  const TransferRules& rules = scenario.hardware.transfers;
  return rules.blocking || rules.rendezvous || rules.sends_in_flight > 0 ||
         rules.receives_in_flight > 0;
}

}  // namespace

Communication written_communication(const Scenario& scenario, const Schedule& schedule,
                                    const Placement& placement,
                                    std::vector<std::vector<CommCell>> stated) {
  const ScheduleSection& section = scenario.schedule;
  if (section.communication != Communicating::written) return {};
  if (!any_cell(stated, [](Comm comm) { return !is_exchange(comm); })) {
    try {
      const Lowering lowering{.fsdp = scenario.memory.zero == 3};
      auto lowered = read_torch_csv(write_torch_comms(schedule, placement, lowering)).comms;
      stated = stated.empty() ? std::move(lowered) : merged(stated, lowered);
    } catch (const RuleError& error) {
      throw InputError("/schedule/communication", error.what());
    }
  }
  return {.streams = section.streams.value_or(CommStreams::pair),
          .batched = section.batched.value_or(false),
          .rows = std::move(stated)};
}

void check_beside_written(const Scenario& scenario) {
  if (transfers_hold_up(scenario)) {
    throw InputError("/hardware/transfers",
                     "where SEND and RECV are written, the order and its streams say what waits; "
                     "leave it out, or set /schedule/communication=implicit");
  }
  if (scenario.offload && scenario.offload->keep) {
    throw InputError(
        "/offload/keep",
        "it adds actions to an order whose SENDs and RECVs are written; leave one out");
  }
}

void check_exchanges(const Scenario& scenario, const Layout& layout) {
  if (!transfers_hold_up(scenario) || exchanges_of(layout).empty()) return;
  throw InputError(
      "/hardware/transfers",
      "an exchange holds up no sender; leave it out, or /schedule/exchanges and exchange_us");
}

void settle_communication(const Scenario& scenario, Layout& layout) {
  if (!layout.communication.written()) return;
  settle_collectives(layout);
  write_exchanges(layout);
  layout.communication.receives_hold = !scenario.batch;
  layout.communication.eager = eager_stages(scenario, layout);
}

}  // namespace penstock
