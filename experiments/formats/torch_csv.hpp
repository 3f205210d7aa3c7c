#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/placement.hpp"
#include "sim/schedule.hpp"

namespace penstock {

/// An order as a file had it.
struct OrderFile {
  Schedule schedule;
  std::vector<std::vector<std::uint32_t>> column;  // of each action: its column, blanks counted
};

/// Reads a compute-only order in PyTorch's notation: row i is rank i, cells run left to right, a blank
/// cell is idle time and dropped. Strict: what follows a cell's text is an error. Throws InputError
/// whose place is "row R, column C", both from 0.
OrderFile read_torch_csv(std::string_view text);

/// Where an order file puts its stages: each on the rank whose row names it. `chains` lists the copies
/// of the model; empty means one, of all stages in ascending order. Throws InputError for a stage on
/// two ranks, a stage that no row names, or faulty chains.
Placement placement_of(const OrderFile& order, std::vector<std::vector<Stage>> chains);

/// "row 2, column 5" of an action of a rank; the end of the row for an action past its last.
std::string place_text(const OrderFile& order, Rank rank, std::uint32_t action);

/// An order in PyTorch's notation, and the actions that the notation cannot carry, which it lacks.
struct TorchCsv {
  std::string text;
  std::vector<std::string> left_out;
};
TorchCsv write_torch_csv(const Schedule& schedule);

}  // namespace penstock
