#include <algorithm>
#include <cstring>

#include "validate/training/layered_body.hpp"

namespace penstock {

/// The codec of the link to the next stage, in both directions.
const TensorCodec* LayeredBody::link_codec(const TensorLabel& label) const {
  if (coders_.empty()) return nullptr;
  const std::uint32_t gradient = label.kind == TensorKind::gradient ? 1 : 0;
  const auto& link = coders_[label.model_stage - gradient].link;
  return link ? &*link : nullptr;
}

void LayeredBody::append_packed(const TensorCodec& codec, const Tensor& tensor) {
  const std::vector<std::uint8_t> bytes = codec.packed(tensor.values, errors_of(coding_.link));
  sent_.resize(words_for(bytes.size()));
  std::memcpy(sent_.data(), bytes.data(), bytes.size());
}

/// Encodes what F has kept, and counts it.
void LayeredBody::pack(const CellKey& cell) {
  if (coders_.empty()) return;
  Kept& kept = kept_.at(cell);
  if (const auto& codec = coders_[model_stage_of(cell.stage)].stash) {
    kept.packed.pack(*codec, codable(layers_of(cell.stage), kept.layers, kept.input),
                     errors_of(coding_.stash));
  }
  const double plain = static_cast<double>(numbers_of(kept.layers) + kept.input.values.size());
  kept.held_bytes = kept.packed.bytes() + job_.layers->shape.activation_size * plain;
  hold(kept.held_bytes);
}

void LayeredBody::hold(double bytes) {
  stash_bytes_ += bytes;
  peak_stash_bytes_ = std::max(peak_stash_bytes_, stash_bytes_);
}

void LayeredBody::unpack(const CellKey& cell, Kept& kept) {
  if (kept.packed.empty()) return;
  kept.packed.unpack(*coders_[model_stage_of(cell.stage)].stash,
                     codable(layers_of(cell.stage), kept.layers, kept.input));
}

void LayeredBody::add_coding(CodingNumbers& coding) const {
  CodingNumbers own = coding_;
  own.peak_stash_bytes[rank_] = peak_stash_bytes_;
  add(own, coding);
}

}  // namespace penstock
