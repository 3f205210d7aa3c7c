#include "experiments/input/orders/named_order.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/orders/comms_check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/named.hpp"
#include "sim/order/order_fault.hpp"

namespace penstock {

std::map<std::string, std::string, std::less<>> rule_settings(
    const std::vector<std::string>& settings) {
  std::map<std::string, std::string, std::less<>> all;
  for (const std::string& setting : settings) {
    const auto [key, value] = option_setting(setting, "schedule");
    const auto parsed = parse_json(value);
    all[key] = parsed.is_string() ? parsed.get<std::string>() : value;
  }
  return all;
}

CheckedOrder order_named(const OrderRequest& request, std::string_view remedy) {
  const ScheduleEntry* entry = find_named(schedule_entries(), request.name);
  if (entry == nullptr) {
    throw UsageError(unknown_text(fmt::format("schedule \"{}\"", request.name),
                                  meant_schedule(request.name), names_of(schedule_entries())));
  }
  CheckedOrder order{.name = std::string(entry->name),
                     .microbatches = request.options.microbatch_count,
                     .weights = entry->weights};
  try {
    const std::uint32_t chunks =
        request.chunks ? *request.chunks : usual_chunks(*entry, request.options);
    if (chunks > Limits::stages / request.ranks) {
      throw RuleError(fmt::format("{} ranks of {} chunks: at most {} stages are supported",
                                  request.ranks, chunks, Limits::stages));
    }
    order.placement = place_stages(*entry, request.ranks, chunks, request.options, remedy);
    check_options(entry->name, entry->options, request.options);
    check_size(order.placement, request.options);
    if (entry->slices_for != nullptr) order.slices = entry->slices_for(request.options);
    need_memory_for(order.name, order.placement, request.options, order.slices, request.cell_bytes);
    order.schedule = make_schedule(*entry, order.placement, request.options);
  } catch (const RuleError& error) {
    throw UsageError(fmt::format("{}: {}", entry->name, error.what()));
  }
  return order;
}

void require_sound(const OrderFile& order, const Placement& placement,
                   Communicating communication) {
  if (const auto fault = find_order_fault(order.schedule, placement)) {
    throw OrderError(index(fault->rank), column_of(order, fault->rank, fault->action), fault->text);
  }
  require_sound_comms(order, placement, communication);
}

CheckedOrder order_of_csv(const std::string& name, const std::string& text,
                          const std::vector<std::vector<Stage>>& chains) {
  return about_file(name, [&] {
    OrderFile file = read_torch_csv(text);
    CheckedOrder order{.name = name, .placement = placement_of(file, chains)};
    require_sound(file, order.placement);
    order.microbatches = MicrobatchColumns(file.schedule).count();
    if (!file.compute_only()) order.communication.rows = std::move(file.comms);
    order.schedule = std::move(file.schedule);
    return order;
  });
}

}  // namespace penstock
