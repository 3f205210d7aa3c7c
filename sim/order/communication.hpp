#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/numbers.hpp"
#include "sim/order/placement.hpp"

namespace penstock {

/// The communication of a lowered order.
enum class Comm : std::uint8_t {
  send_forward,      // SEND_F: the output of a stage goes to the next
  receive_forward,   // RECV_F: a stage receives its own input
  send_backward,     // SEND_B: the input gradient goes to the previous stage
  receive_backward,  // RECV_B: a stage receives its output gradient
  unshard,
  reshard,
  reduce_grad,        // reduces the gradients of a stage, and divides them by the microbatches
  exchange_forward,   // EXCHANGE_F: tokens that a stage puts out go to where the next works on them
  exchange_backward,  // EXCHANGE_B: gradients of its input go back to where they belong
  wait_send_forward,  // WAIT_SEND_F: until what a SEND_F sends has arrived
  wait_send_backward,  // WAIT_SEND_B
  wait_reduce_grad,
};
/// Indexed by Comm: the words of PyTorch's notation, which has no exchanges.
constexpr std::array<std::string_view, 12> comm_words{
    "SEND_F",      "RECV_F",     "SEND_B",     "RECV_B",      "UNSHARD",     "RESHARD",
    "REDUCE_GRAD", "EXCHANGE_F", "EXCHANGE_B", "WAIT_SEND_F", "WAIT_SEND_B", "WAIT_REDUCE_GRAD"};

constexpr bool is_send(Comm comm) {
  return comm == Comm::send_forward || comm == Comm::send_backward;
}
constexpr bool is_receive(Comm comm) {
  return comm == Comm::receive_forward || comm == Comm::receive_backward;
}
/// An all-to-all between two stages on one rank, by the devices that share their experts.
constexpr bool is_exchange(Comm comm) {
  return comm == Comm::exchange_forward || comm == Comm::exchange_backward;
}
constexpr bool is_send_wait(Comm comm) {
  return comm == Comm::wait_send_forward || comm == Comm::wait_send_backward;
}
/// One of the cells that PyTorch has since 2.15.
constexpr bool is_wait(Comm comm) { return comm >= Comm::wait_send_forward; }
constexpr bool has_microbatch(Comm comm) {
  return is_send(comm) || is_receive(comm) || is_exchange(comm) || is_send_wait(comm);
}

/// A communication cell of a row.
struct CommCell {
  Comm comm;
  Stage stage;
  Microbatch microbatch;  // 0 if absent
  std::uint32_t column = 0;
  std::uint32_t before = 0;  // the action of its row that it precedes

  friend bool operator==(const CommCell&, const CommCell&) = default;
};
/// "1RECV_F3", "1UNSHARD".
std::string text(const CommCell& cell);

/// Whether the rows of an order have a cell that `test` looks for.
bool any_cell(const std::vector<std::vector<CommCell>>& rows, bool (*test)(Comm));

/// A tensor that crosses ranks, or is exchanged within one: a gradient or an activation, by the
/// stage that sends it.
struct Crossing {
  bool gradient;
  Stage sender;
  Stage receiver;
  Microbatch microbatch;
};
/// The tensor of a SEND, a RECV or the wait for a SEND; nothing if the neighbour of its stage is
/// not on another rank. That of an EXCHANGE; nothing if the neighbour is not on the same rank.
std::optional<Crossing> crossing_of(const CommCell& cell, const Placement& placement);

/// Whose communication a run has: transfers that start as soon as they can, or the order's own.
enum class Communicating : std::uint8_t { implicit, written };

/// Which SENDs and RECVs of a rank queue behind each other.
enum class CommStreams : std::uint8_t {
  rank,       // all: one communicator
  pair,       // those with one other rank: a communicator each, as NCCL makes for single ones
  direction,  // all SENDs, and all RECVs
  message,    // none, as with gloo
};
constexpr std::array<std::string_view, 4> comm_stream_names{"rank", "pair", "direction", "message"};

/// Communication as an order has it. A rank issues a cell when the action before it has ended, and
/// what waits between the two wait for. The
/// tensor of a SEND and its RECV moves once both are at the head of their streams, which it then
/// holds until it has arrived; an eager one does not wait for its RECV. UNSHARD, REDUCE_GRAD and
/// EXCHANGE of a rank go one after the other in a stream of their own.
struct Communication {
  CommStreams streams = CommStreams::pair;
  bool batched = false;     // cells next to each other and with one other rank are issued as one
  std::vector<bool> eager;  // by model stage: of what passes between it and the next
  bool weights = false;     // UNSHARD gathers the weights of a stage, RESHARD frees them
  bool gradients = false;   // REDUCE_GRAD reduces those of a stage
  // A RECV_F takes the memory of its activation; else the transfer does, as it starts. Not where
  // microbatches differ: their sizes belong to the actions of their own.
  bool receives_hold = true;
  std::vector<std::vector<CommCell>> rows;  // by rank; empty: each tensor moves as it is there

  bool written() const { return !rows.empty(); }
  friend bool operator==(const Communication&, const Communication&) = default;
};

}  // namespace penstock
