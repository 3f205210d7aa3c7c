#pragma once

#include "experiments/layout/layout.hpp"
#include "experiments/layout/stage_coding.hpp"

namespace penstock {

/// The bytes of a value as it is: of the model's dtype, two where it has none.
double plain_value_bytes(const Layout& layout);

/// What a codec makes of bytes, and how long it takes for them. Throws InputError with a pointer
/// into the scenario where nothing says how long that takes.
Coded coded(const Layout& layout, const CodecSpec& codec, double bytes);

/// By model stage: whether what it hands on crosses ranks.
std::vector<bool> stages_that_send(const Layout& layout);

/// Makes the layers of a settled layout smaller where its activations are encoded, and their passes
/// longer, and tells what became of each stage in `layout.codings`.
///
/// Stash: each layer encodes what it keeps at the end of its F, and B, or I and W each, begins by
/// decoding it; while a pass runs, the values as they are stand beside the packed ones. Links: what
/// crosses ranks is encoded by the pass that sends it and decoded by the one that reads it, in both
/// directions; the packed tensor that a pass sends is among what it needs while it runs. A tensor
/// that goes on over several links is packed as the stage that made it packs it.
///
/// Throws InputError as `coded` does.
void encode_activations(const StageFormats& formats, Layout& layout);

}  // namespace penstock
