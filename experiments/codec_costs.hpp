#pragma once

#include "experiments/layout.hpp"
#include "experiments/scenario.hpp"

namespace penstock {

/// Makes the layers of a settled layout smaller where its activations are encoded, and their passes
/// longer. Values are taken to have the size of the scenario's dtype, two bytes where it has none.
///
/// Stash: each layer encodes what it keeps at the end of its F, and B, or I and W each, begins by
/// decoding it; while a pass runs, the values as they are stand beside the packed ones. Links: what
/// crosses ranks is encoded by the pass that sends it and decoded by the one that reads it, in both
/// directions; the packed tensor that a pass sends is among what it needs while it runs.
///
/// Throws InputError with a pointer into the scenario where nothing says how long that takes.
void encode_activations(const Scenario& scenario, Layout& layout);

}  // namespace penstock
