#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/input/scenario/codec_choice.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/stage_coding.hpp"
#include "hardware_models/codecs/reference/codec_search.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// What a run's codecs did to its activations.
struct CodecReport {
  Looks looks;                         // values that codecs were measured on
  double plain_bits = 16;              // of an uncompressed value
  std::vector<StageCoding> stages;     // model stages
  std::vector<MeasuredCodec> formats;  // formats of the stages, each once

  const MeasuredCodec& measured_as(const CodecSpec& codec) const;
};

/// Encodes and decodes drawn values in each format, which takes milliseconds: for reports of a
/// finished run whose layout has `codings`.
CodecReport codec_report(const Layout& layout);

/// Average bits per stash value over all stages; `plain_bits` without a stash.
double stash_bits(const CodecReport& report);

/// A table for a terminal. Consecutive equal stages share a row.
std::string codec_table(const CodecReport& report, TimeUnit unit);
/// "codec" of run --json.
nlohmann::ordered_json codec_json(const CodecReport& report);

}  // namespace penstock
