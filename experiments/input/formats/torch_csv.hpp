#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// An order as read from a file.
struct OrderFile {
  Schedule schedule;
  std::vector<std::vector<std::uint32_t>> column;  // by action: its column, counting blank cells
  std::vector<std::vector<CommCell>> comms;        // by rank; none in a compute-only order
  std::optional<std::pair<std::uint32_t, std::uint32_t>>
      blank;  // row, column of the first blank cell
  bool byte_order_mark = false;

  bool compute_only() const;
};

/// An error in the content of an order, with rank and column, both from 0.
class OrderError : public InputError {
 public:
  OrderError(std::size_t rank, std::size_t column, const std::string& what);
  std::size_t rank() const { return rank_; }
  std::size_t column() const { return column_; }

 private:
  std::size_t rank_;
  std::size_t column_;
};

/// The first fault of an order file. Rank and column count from 0; blank cells count.
struct CellFault {
  std::size_t rank;
  std::size_t column;
  std::string text;
};

/// Reads an order in PyTorch's notation, with or without communication. Row i is rank i, cells run
/// left to right, in quotes or without, and blank cells are idle time and dropped. Every line is a
/// row: an empty one, even at the end, is a rank without actions, as in Python's csv module.
/// Trailing text in a cell is an error. Throws OrderError; its place reads "row R, column C".
OrderFile read_torch_csv(std::string_view text);

/// The placement of an order file: each stage on the rank whose row names it. `chains` lists the
/// copies of the model. If it is empty, there are two copies if the stages are placed as in a
/// bidirectional order and no microbatch runs in both halves (on a V, every microbatch does);
/// otherwise one copy with all stages in ascending order. Throws InputError for a stage on two
/// ranks (an OrderError), a stage that no row names, or invalid chains.
Placement placement_of(const OrderFile& order, std::vector<std::vector<Stage>> chains);

/// The column of an action; the end of the row for an action past the last one.
std::uint32_t column_of(const OrderFile& order, Rank rank, std::uint32_t action);

/// The part of an order that PyTorch's notation can express, and the actions that it cannot: "0U3
/// of rank 0".
struct TorchOrder {
  Schedule schedule;
  std::vector<std::string> left_out;
};
TorchOrder torch_order(const Schedule& schedule);

/// An order in PyTorch's notation, with communication where it is written. Actions that the
/// notation does not have are in it by our names.
std::string torch_text(const Schedule& schedule, const Communication& communication = {});

/// An order in PyTorch's notation, and the actions left out because the notation cannot express
/// them.
struct TorchCsv {
  std::string text;
  std::vector<std::string> left_out;
};
/// With communication where it is written.
TorchCsv write_torch_csv(const Schedule& schedule, const Communication& communication = {});

}  // namespace penstock
