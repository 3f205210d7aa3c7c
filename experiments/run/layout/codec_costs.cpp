#include "experiments/run/layout/codec_costs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/run/layout/exchanges.hpp"
#include "experiments/run/layout/training.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using TimesByLayer = std::vector<CodecTimes>;

/// Microseconds to move bytes through memory and code them on the way. The rate is the stated one,
/// else that of a kernel on the machine's device that only moves bytes.
double moving_us(double bytes, const std::optional<double>& bytes_per_s, const char* key,
                 const std::optional<Machine>& machine) {
  if (bytes_per_s) return bytes / *bytes_per_s * 1e6;
  if (!machine) {
    throw InputError(
        std::string("/codec/") + key,
        fmt::format("\"{}\" is missing, and so is a machine whose memory would say how long a "
                    "codec takes; give it, or name a machine of penstock list hardware",
                    key));
  }
  const Device& device = machine->device;
  const double efficiency = efficiency_at(device.memory_efficiency, bytes * 1e-6);
  return bytes / (device.memory_bandwidth_bytes_per_s * efficiency) * 1e6 + device.kernel_us;
}

double packed_share_of(const Layout& layout, const CodecSpec& codec) {
  return bits_per_value(codec) / (8 * plain_value_bytes(layout));
}

void add(const Coded& one, std::optional<Coded>& sum) {
  if (!sum) sum = Coded{.codec = one.codec};
  sum->plain_bytes += one.plain_bytes;
  sum->packed_bytes += one.packed_bytes;
  sum->encode_us += one.encode_us;
  sum->decode_us += one.decode_us;
}

/// Bytes that a layer keeps from F to B or W. `whole`: without recomputation, so recomputed
/// activations count too.
double kept_bytes(const Layer& layer, bool whole) {
  return layer.stash_bytes + (whole ? layer.recomputed_bytes : 0);
}

/// Of these, what codecs leave alone.
double uncoded_bytes(const Layer& layer, bool whole) {
  const bool restored = !whole && layer.recomputed_bytes > 0;
  return restored ? 0 : std::min(layer.uncoded_bytes, kept_bytes(layer, whole));
}

Coded encode_kept(const Layout& layout, const CodecSpec& codec, bool whole, Layer& layer,
                  CodecTimes& times) {
  const double uncoded = uncoded_bytes(layer, whole);
  Coded kept = coded(layout, codec, kept_bytes(layer, whole) - uncoded);
  const double packed_share = packed_share_of(layout, codec);
  const auto pack = [&](double apart, double& bytes) {
    bytes = apart + (bytes - apart) * packed_share;
  };
  layer.freed_by_input_bytes = 0;  // packed activations are freed together
  const double in_stash = layer.recomputed_bytes > 0 ? 0 : uncoded;
  pack(in_stash, layer.stash_bytes);
  if (whole) pack(uncoded - in_stash, layer.recomputed_bytes);
  layer.workspace_bytes += kept.plain_bytes;
  times.forward_us += kept.encode_us;
  times.backward_us += kept.decode_us;
  times.backward_weight_us += kept.decode_us;
  return kept;
}

void encode_stash(const StageFormats& formats, Layout& layout, TimesByLayer& times) {
  if (!layout.schedule.has_backward()) return;  // nothing is kept
  const Recomputing recomputing = extras_of(layout).recomputing;
  for (std::uint32_t stage = 0; stage < layout.partition.stages.size(); ++stage) {
    const bool whole = !recomputing.of_stage(stage);
    StageCoding& coding = layout.codings[stage];
    for (const LayerIndex number : layout.partition.stages[stage]) {
      Layer& layer = layout.model.layers[index(number)];
      const double bytes = kept_bytes(layer, whole);
      coding.kept_bytes += bytes;
      if (!formats.stash[stage] || bytes == uncoded_bytes(layer, whole)) continue;
      add(encode_kept(layout, *formats.stash[stage], whole, layer, times[index(number)]),
          coding.stash);
    }
  }
}

/// Costs at both ends of a link: the last layer of one stage and the first of the next. Forward,
/// the first end encodes and the second decodes; backward, the reverse.
void encode_boundary(const Coded& sent, CodecTimes& sender, CodecTimes& receiver) {
  sender.forward_us += sent.encode_us;
  receiver.forward_us += sent.decode_us;
  receiver.backward_us += sent.encode_us;
  sender.backward_us += sent.decode_us;
}

/// Packed bytes per layer: the larger of its two sides.
std::vector<double> encode_boundaries(const StageFormats& formats, Layout& layout,
                                      TimesByLayer& times) {
  const std::vector<StageSizes> sizes = stage_sizes(layout.model, layout.partition);
  std::vector<double> packed(layout.model.layers.size());
  for (std::size_t stage = 0; stage + 1 < sizes.size(); ++stage) {
    const double bytes = sizes[stage].activation_bytes;
    if (!formats.link[stage] || stays_on_rank(layout.placement, stage) || bytes == 0) continue;
    const std::uint32_t sender = index(layout.partition.stages[stage].back());
    const std::uint32_t receiver = index(layout.partition.stages[stage + 1].front());
    const Coded sent = coded(layout, *formats.link[stage], bytes);
    encode_boundary(sent, times[sender], times[receiver]);
    for (const std::uint32_t end : {sender, receiver}) {
      packed[end] = std::max(packed[end], sent.packed_bytes);
    }
    layout.codings[stage].link = sent;
  }
  return packed;
}

void encode_links(const StageFormats& formats, Layout& layout, TimesByLayer& times) {
  const std::vector<double> packed = encode_boundaries(formats, layout, times);
  std::vector<Layer>& layers = layout.model.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].workspace_bytes += packed[i];
  for (std::size_t stage = 0; stage < layout.partition.stages.size(); ++stage) {
    if (!formats.link[stage]) continue;
    const double packed_share = packed_share_of(layout, *formats.link[stage]);
    for (const LayerIndex layer : layout.partition.stages[stage]) {
      layers[index(layer)].activation_bytes *= packed_share;
    }
  }
}

CodecTimes sum_of(const std::vector<LayerIndex>& layers, const TimesByLayer& times) {
  CodecTimes sum;
  for (const LayerIndex layer : layers) {
    const CodecTimes& one = times[index(layer)];
    sum.forward_us += one.forward_us;
    sum.backward_us += one.backward_us;
    sum.backward_weight_us += one.backward_weight_us;
  }
  return sum;
}

}  // namespace

double plain_value_bytes(const Layout& layout) { return layout.shape.activation_size; }

Coded coded(const Layout& layout, const CodecSpec& codec, double bytes) {
  const double packed = bytes * packed_share_of(layout, codec);
  const double moved = bytes_moved(bytes, packed);
  const auto& machine = layout.hardware.spec.machine;
  return {
      .codec = codec,
      .plain_bytes = bytes,
      .packed_bytes = packed,
      .encode_us = moving_us(moved, layout.codec.encode_bytes_per_s, "encode_bytes_per_s", machine),
      .decode_us =
          moving_us(moved, layout.codec.decode_bytes_per_s, "decode_bytes_per_s", machine)};
}

void encode_activations(const StageFormats& formats, Layout& layout) {
  layout.codings.assign(layout.partition.stages.size(), {});
  TimesByLayer times(layout.model.layers.size());
  encode_stash(formats, layout, times);
  encode_links(formats, layout, times);
  for (std::size_t stage = 0; stage < layout.codings.size(); ++stage) {
    layout.codings[stage].times = sum_of(layout.partition.stages[stage], times);
  }
}

}  // namespace penstock
