#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/memory_need.hpp"
#include "schedules/registry.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// An order that no scenario asked for.
struct CheckedOrder {
  std::string name;  // of its rule, or as its file is called
  Placement placement;
  Schedule schedule;
  Communication communication;  // of a file that has cells of it
  std::uint32_t microbatches = 0;
  std::uint32_t slices = 1;  // cells per microbatch and stage, by the rule
  WeightUse weights = WeightUse::flushed;
};

/// An order by its rule. The sizes are within Limits.
struct OrderRequest {
  std::string name;
  std::uint32_t ranks = 1;
  std::optional<std::uint32_t> chunks;  // empty: as usual
  ScheduleOptions options;
  double cell_bytes = CellBytes::order;  // that work on it takes
};

/// Options of a rule from "key=value", as --set takes them. Throws UsageError.
std::map<std::string, std::string, std::less<>> rule_settings(
    const std::vector<std::string>& settings);

/// Throws UsageError for an unknown rule, and for sizes and options that it does not support, and
/// OverBudget.
/// `remedy` precedes the number of chunks that would be right: ": give --chunks ".
CheckedOrder order_named(const OrderRequest& request, std::string_view remedy);

/// Throws OrderError for the first fault of an order, with its communication.
void require_sound(const OrderFile& order, const Placement& placement,
                   Communicating communication = Communicating::implicit);

/// An order in PyTorch's notation, checked. Throws InputError that starts with `name`.
CheckedOrder order_of_csv(const std::string& name, const std::string& text,
                          const std::vector<std::vector<Stage>>& chains);

}  // namespace penstock
