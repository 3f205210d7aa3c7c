#pragma once

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/stage_coding.hpp"

namespace penstock {

/// Bytes of an uncompressed value: those of the model's dtype, 2 where it has none.
double plain_value_bytes(const Layout& layout);

/// The encoded size of `bytes`, and the time to encode and decode them. Throws InputError with a
/// pointer into the scenario where the speed is unknown.
Coded coded(const Layout& layout, const CodecSpec& codec, double bytes);

/// Applies the codecs to a settled layout: layers keep fewer bytes, passes take longer. Records the
/// effect on each stage in `layout.codings`.
///
/// Stash: each layer encodes its stash at the end of F; B, or each of I and W, starts by decoding
/// it. While a pass runs, memory holds both the packed and the uncompressed values. Links: the pass
/// that sends across ranks encodes, the pass that reads decodes, in both directions. The packed
/// tensor counts as temporary memory of the sending pass. A tensor forwarded over several links
/// keeps the packing of the stage that produced it.
///
/// Throws InputError as `coded` does.
void encode_activations(const StageFormats& formats, Layout& layout);

}  // namespace penstock
