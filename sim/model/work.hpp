#pragma once

#include <cstdint>

#include "sim/order/schedule.hpp"

namespace penstock {

/// What a kernel occupies: matrix units, matrix units in the rhythm of a flash attention kernel, or
/// only memory and vector units.
enum class KernelKind : std::uint8_t { matrix, attention, vector };

/// A kernel and how often it runs in sequence. Passes are F, I and W; B is I plus W, and
/// recomputation repeats F.
struct Kernel {
  Pass pass = Pass::forward;
  KernelKind kind = KernelKind::vector;
  double flops = 0;  // of one run
  double bytes = 0;  // read and written by one run
  // Of a matrix product: `batch` products of rows x inner by inner x columns. Of an attention
  // kernel: rows are queries, inner the size of a head, columns the keys of an average query.
  double rows = 0;
  double columns = 0;
  double inner = 0;
  double batch = 1;
  double masked = 1;     // work with all masked scores, over `flops`
  bool narrows = false;  // a product with weights, which runs in fp8 when the model does
  bool logits = false;   // a product of a head, whose loss keeps a softmax of its result
  bool grouped = false;  // a product of several experts at once
  bool routes = false;   // sends tokens to their experts, or back
  bool returns = false;  // brings them back: the host need not wait to learn how many go where
  bool shared = false;   // of an expert that all tokens pass, whoever their other experts are
  bool fused = false;    // moves `bytes` in any framework, without further passes over its data
  double count = 1;
  bool selective = false;  // selective recomputation repeats it
  bool closes = false;     // of F: no backward of its layer reads its result, or a later one

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// A collective operation of a group of devices.
enum class CollectiveKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  ring_exchange,  // each device passes its tensor on until all devices have seen all of them
};

/// The kind of parallelism that forms the group.
enum class Group : std::uint8_t { tensor, context, expert, expert_tensor };

/// A collective inside a layer, and how often it runs in sequence.
struct Collective {
  Pass pass = Pass::forward;
  CollectiveKind kind = CollectiveKind::all_reduce;
  Group group = Group::tensor;
  double bytes = 0;  // of the whole tensor; for ring_exchange and all_to_all, of one device
  double count = 1;
  bool selective = false;  // selective recomputation repeats it
  bool closes = false;     // as of a kernel
  double copies = 1;       // of an all-to-all: the experts that each of its values goes to

  friend bool operator==(const Collective&, const Collective&) = default;
};

}  // namespace penstock
