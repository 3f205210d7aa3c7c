#include "experiments/run/stage_formats.hpp"

#include <algorithm>

#include "experiments/input/files/files.hpp"
#include "experiments/run/layout/codec_costs.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/report/memory.hpp"

namespace penstock {
namespace {

using Formats = std::vector<std::optional<CodecSpec>>;  // by model stage
using Peaks = std::vector<std::uint64_t>;               // bytes, by rank

std::size_t stages_of(const Layout& layout) { return layout.partition.stages.size(); }

/// Peak memory of the ranks; empty if the run deadlocks.
std::optional<Peaks> simulated_peaks(const StageFormats& formats, Layout layout) {
  layout.memory.policy = MemoryPolicy::finding;  // report what is needed, do not stall
  encode_activations(formats, layout);
  const auto outcome = Simulation(layout).simulate();
  if (std::holds_alternative<Finding>(outcome)) return std::nullopt;
  Peaks peaks;
  const auto& [priced, timeline, peak_flops, batch, replica] = std::get<Simulated>(outcome);
  for (const MemoryPeak& peak : memory_peaks(priced.plan, priced.costs, timeline)) {
    peaks.push_back(peak.bytes);
  }
  return peaks;
}

/// Finds a stash format for each stage with which its rank fits.
class StashSearch {
 public:
  StashSearch(const Layout& layout, const AutoCodec& codec, const Formats& link)
      : layout_(layout),
        codec_(codec),
        link_(link),
        ranks_(ranks_by_model_stage(layout.placement)),
        left_(stages_of(layout), codec.formats.size()) {}

  /// If a simulation deadlocks, keeps the current formats; the run itself reports the deadlock.
  Formats search() {
    const auto plain = peaks();
    if (!plain) return formats();
    std::optional<Peaks> now = plain;
    while (now && step(*now)) now = peaks();
    if (now) give_up(*plain, *now);
    return formats();
  }

 private:
  Formats formats() const {
    Formats all;
    for (const std::size_t left : left_) {
      const bool encoded = left < codec_.formats.size();
      all.push_back(encoded ? std::optional(codec_.formats[left].codec) : std::nullopt);
    }
    return all;
  }
  std::optional<Peaks> peaks() const { return simulated_peaks({formats(), link_}, layout_); }

  /// Reduces the bits of stages on ranks over capacity. Returns whether there were any.
  bool step(const Peaks& peaks) {
    bool any = false;
    for (std::size_t stage = 0; stage < left_.size(); ++stage) {
      const bool over = std::ranges::any_of(ranks_[stage], [&](Rank rank) {
        return peaks[index(rank)] > *layout_.memory.largest_peak_bytes();
      });
      if (!over || left_[stage] == 0) continue;
      --left_[stage];
      any = true;
    }
    return any;
  }

  /// Encodes nothing on ranks that never fit and whose peak a codec does not lower.
  void give_up(const Peaks& plain, const Peaks& peaks) {
    for (std::size_t stage = 0; stage < left_.size(); ++stage) {
      const bool in_vain = std::ranges::any_of(ranks_[stage], [&](Rank rank) {
        const std::uint64_t peak = peaks[index(rank)];
        return peak > *layout_.memory.largest_peak_bytes() && peak >= plain[index(rank)];
      });
      if (in_vain) left_[stage] = codec_.formats.size();
    }
  }

  const Layout& layout_;
  const AutoCodec& codec_;
  const Formats& link_;
  std::vector<std::vector<Rank>> ranks_;
  std::vector<std::size_t> left_;  // by stage: formats with fewer bits still to try
};

Formats everywhere(const CodecSpec& codec, const Layout& layout) {
  return Formats(stages_of(layout), codec);
}

Formats stash_formats(const Layout& layout, const Formats& link) {
  const Encoding& stash = layout.codec.stash;
  if (const auto* codec = std::get_if<CodecSpec>(&stash)) return everywhere(*codec, layout);
  const auto* choice = std::get_if<AutoCodec>(&stash);
  if (choice == nullptr) return Formats(stages_of(layout));
  if (!layout.memory.capacity_bytes) return everywhere(choice->formats.front().codec, layout);
  return StashSearch(layout, *choice, link).search();
}

/// Whether an isolated transfer gains more than its coding takes.
bool pays(bool overlappable, const HardwareModel& hardware, const Coded& sent, Rank from, Rank to) {
  const double plain_us = hardware.transfer(sent.plain_bytes, from, to).occupies_us;
  const double packed_us = hardware.transfer(sent.packed_bytes, from, to).occupies_us;
  const double coding_us = overlappable ? 0 : sent.encode_us + sent.decode_us;
  return plain_us - packed_us > coding_us;
}

Formats links_that_pay(const Layout& layout, const CodecSpec& codec) {
  const auto hardware = hardware_of(layout);
  const std::vector<StageSizes> sizes = stage_sizes(layout.model, layout.partition);
  Formats formats(stages_of(layout));
  for (const Stage stage : layout.placement.stages()) {
    const auto next = layout.placement.after(stage);
    const std::uint32_t position = layout.placement.position(stage);
    if (!next || stays_on_rank(layout.placement, position)) continue;
    if (sizes[position].activation_bytes == 0) continue;
    const Rank from = layout.placement.rank_of(stage, Microbatch{0});
    const Rank to = layout.placement.rank_of(*next, Microbatch{0});
    const Coded sent = coded(layout, codec, sizes[position].activation_bytes);
    if (from != to && pays(layout.codec.overlappable, *hardware, sent, from, to)) {
      formats[position] = codec;
    }
  }
  return formats;
}

Formats link_formats(const Layout& layout) {
  const Encoding& link = layout.codec.link;
  if (const auto* codec = std::get_if<CodecSpec>(&link)) return everywhere(*codec, layout);
  const auto* choice = std::get_if<AutoCodec>(&link);
  if (choice == nullptr) return Formats(stages_of(layout));
  return links_that_pay(layout, choice->formats.front().codec);
}

}  // namespace

StageFormats stage_formats(const Layout& layout) {
  StageFormats formats;
  formats.link = link_formats(layout);
  formats.stash = stash_formats(layout, formats.link);
  return formats;
}

Layout with_codecs(Layout layout) {
  if (!layout.codec.encodes() || !layout.codings.empty()) return layout;
  about_file(layout.source, [&] { encode_activations(stage_formats(layout), layout); });
  return layout;
}

}  // namespace penstock
