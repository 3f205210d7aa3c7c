#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/layout/layout.hpp"
#include "experiments/layout/stage_coding.hpp"
#include "experiments/scenario/codec_choice.hpp"
#include "hardware_models/codecs/reference/codec_search.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// What a run's codecs did to its activations.
struct CodecReport {
  Looks looks;                         // what codecs were tried on
  double plain_bits = 16;              // of a value that is not encoded
  std::vector<StageCoding> stages;     // model stages
  std::vector<MeasuredCodec> formats;  // those that stages have, each once

  const MeasuredCodec& measured_as(const CodecSpec& codec) const;
};

CodecReport codec_report(const Layout& layout);

/// The bits that a value of the stash takes on average over all that is kept; the plain ones where
/// nothing is kept.
double stash_bits(const CodecReport& report);

/// For a terminal: a row for stages in a row that are alike.
std::string codec_table(const CodecReport& report, TimeUnit unit);
/// "codec" of run --json.
nlohmann::ordered_json codec_json(const CodecReport& report);

}  // namespace penstock
