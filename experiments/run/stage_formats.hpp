#pragma once

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/stage_coding.hpp"

namespace penstock {

/// The encoding of each stage's activations, for a layout that is not encoded yet. A stated codec
/// applies everywhere. With auto:
///
/// - Stash: a rank with enough memory keeps it uncompressed. Stages of the other ranks get the
///   format with the most bits, within the budget, with which their rank fits its capacity, found
///   by simulation. If none fits, they get the fewest bits, unless temporary memory for coding
///   would make the rank hold more than before. Without a capacity, all stages get the fewest bits.
/// - Output: encoded in the fewest bits if an isolated transfer gains more than encoding and
///   decoding take. Overlapped coding counts as free.
///
/// Throws InputError with a pointer into the scenario.
StageFormats stage_formats(const Layout& layout);

/// The layout with its activations encoded; unchanged if its codec encodes nothing. Throws
/// InputError with the scenario's file in front.
Layout with_codecs(Layout layout);

}  // namespace penstock
