#pragma once

#include "experiments/layout/layout.hpp"
#include "experiments/layout/stage_coding.hpp"

namespace penstock {

/// What each stage's activations are encoded as, in a layout whose layers are as they are without:
/// everywhere as its codec says, or, where it says auto,
///
/// - the stash as a rank needs it. One that has room for it as it is keeps it so. The stages of
///   the others get the format with the most bits, of those within the budget, with which their
///   rank fits its capacity, found by simulation; where none does, that with the fewest bits,
///   unless the room that coding needs makes the rank hold more than before. Without a capacity all
///   get the fewest bits.
/// - what a stage hands on in the fewest bits, where a transfer on its own is shortened by more
///   than encoding and decoding it take (coding that overlaps takes nothing here).
///
/// Throws InputError with a pointer into the scenario.
StageFormats stage_formats(const Layout& layout);

/// The layout with its activations encoded so; as it is where its codec encodes nothing. Throws
/// InputError with the scenario's file in front.
Layout with_codecs(Layout layout);

}  // namespace penstock
