#include "hardware_models/layers/building/tensor_group.hpp"

namespace penstock {
namespace {

/// The bytes of a collective are those of the whole tensor.
void add(LayerWork& work, const CellShape& shape, Pass pass, CollectiveKind kind, double numbers) {
  const double bytes = shape.tokens() * numbers * shape.activation_size;
  work.collectives.push_back({.pass = pass, .kind = kind, .group = Group::tensor, .bytes = bytes});
}

}  // namespace

void enter_tensor_group(LayerWork& work, const CellShape& shape, double numbers) {
  if (shape.tensor == 1) return;
  if (!shape.sequence_parallel) {
    add(work, shape, Pass::backward_input, CollectiveKind::all_reduce, numbers);
    return;
  }
  add(work, shape, Pass::forward, CollectiveKind::all_gather, numbers);
  add(work, shape, Pass::backward_input, CollectiveKind::reduce_scatter, numbers);
  add(work, shape, Pass::backward_weight, CollectiveKind::all_gather, numbers);
  work.workspace_bytes += shape.tokens() * numbers * shape.activation_size;
}

void leave_tensor_group(LayerWork& work, const CellShape& shape, double numbers, Pass backward) {
  if (shape.tensor == 1) return;
  if (!shape.sequence_parallel) {
    add(work, shape, Pass::forward, CollectiveKind::all_reduce, numbers);
    return;
  }
  add(work, shape, Pass::forward, CollectiveKind::reduce_scatter, numbers);
  add(work, shape, backward, CollectiveKind::all_gather, numbers);
}

}  // namespace penstock
