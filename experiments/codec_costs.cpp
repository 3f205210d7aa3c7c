#include "experiments/codec_costs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/layout_model.hpp"
#include "experiments/training.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

/// How long it takes to move bytes through memory and code them on the way: at a rate that is
/// given, or as long as a kernel of the machine's device takes that does nothing else.
double moving_us(double bytes, const std::optional<double>& bytes_per_s, const char* key,
                 const std::optional<Machine>& machine) {
  if (bytes_per_s) return bytes / *bytes_per_s * 1e6;
  if (!machine) {
    throw InputError(
        std::string("/codec/") + key,
        fmt::format("\"{}\" is missing, and so is a machine whose memory would say how "
                    "long a codec takes; give it, or name a machine of penstock list "
                    "hardware",
                    key));
  }
  const Device& device = machine->device;
  const double efficiency = efficiency_at(device.memory_efficiency, bytes * 1e-6);
  return bytes / (device.memory_bandwidth_bytes_per_s * efficiency) * 1e6 + device.kernel_us;
}

/// What a codec makes of bytes, and how long it takes for them.
class Coding {
 public:
  Coding(const Scenario& scenario, const CodecSpec& codec, double value_bytes)
      : scenario_(scenario), packed_share_(bits_per_value(codec) / (8 * value_bytes)) {}

  double packed(double bytes) const { return bytes * packed_share_; }
  double encode_us(double bytes) const {
    return moving_us(bytes_moved(bytes, packed(bytes)), scenario_.codec.encode_bytes_per_s,
                     "encode_bytes_per_s", scenario_.hardware_spec.machine);
  }
  double decode_us(double bytes) const {
    return moving_us(bytes_moved(bytes, packed(bytes)), scenario_.codec.decode_bytes_per_s,
                     "decode_bytes_per_s", scenario_.hardware_spec.machine);
  }

 private:
  const Scenario& scenario_;
  double packed_share_;
};

/// `whole`: nothing is made again, so what recomputation would bring back is kept too.
void encode_kept(const Coding& coding, bool whole, Layer& layer) {
  const double bytes = layer.stash_bytes + (whole ? layer.recomputed_bytes : 0);
  if (bytes == 0) return;
  layer.freed_by_input_bytes = 0;  // what is packed together is given back together
  layer.stash_bytes = coding.packed(layer.stash_bytes);
  if (whole) layer.recomputed_bytes = coding.packed(layer.recomputed_bytes);
  layer.workspace_bytes += bytes;
  const double encode_us = coding.encode_us(bytes), decode_us = coding.decode_us(bytes);
  layer.codec.forward_us += encode_us;
  layer.codec.backward_us += decode_us;
  layer.codec.backward_weight_us += decode_us;
}

void encode_stash(const Coding& coding, const Scenario& scenario, Layout& layout) {
  if (!layout.schedule.has_backward()) return;  // nothing is kept
  const Recomputing recomputing = extras_of(scenario, layout).recomputing;
  for (std::uint32_t stage = 0; stage < layout.partition.stages.size(); ++stage) {
    for (const LayerIndex layer : layout.partition.stages[stage]) {
      encode_kept(coding, !recomputing.of_stage(stage), layout.model.layers[index(layer)]);
    }
  }
}

/// Whether some microbatch goes over a link from one stage to the other.
bool on_different_ranks(const Placement& placement, Stage from, Stage to) {
  if (placement.replicas(from) != placement.replicas(to)) return true;
  for (const Microbatch replica : Numbers<Microbatch>(placement.replicas(from))) {
    if (placement.rank_of(from, replica) != placement.rank_of(to, replica)) return true;
  }
  return false;
}

/// By model stage: whether what it hands on crosses ranks.
std::vector<bool> stages_that_send(const Layout& layout) {
  std::vector<bool> send(layout.partition.stages.size());
  for (const Stage stage : layout.placement.stages()) {
    const auto next = layout.placement.after(stage);
    if (next && on_different_ranks(layout.placement, stage, *next)) {
      send[layout.placement.position(stage)] = true;
    }
  }
  return send;
}

/// What the ends of a link pay, the last layer of one stage and the first of the next: forward one
/// encodes and the other decodes, backward the other way round.
void encode_boundary(const Coding& coding, double bytes, Layer& sender, Layer& receiver) {
  const double encode_us = coding.encode_us(bytes), decode_us = coding.decode_us(bytes);
  sender.codec.forward_us += encode_us;
  receiver.codec.forward_us += decode_us;
  receiver.codec.backward_us += encode_us;
  sender.codec.backward_us += decode_us;
}

void encode_links(const Coding& coding, Layout& layout) {
  const std::vector<StageSizes> sizes = stage_sizes(layout.model, layout.partition);
  const std::vector<bool> sends = stages_that_send(layout);
  std::vector<Layer>& layers = layout.model.layers;
  std::vector<double> packed(layers.size());  // the larger of what a layer packs at either side
  for (std::size_t stage = 0; stage + 1 < sizes.size(); ++stage) {
    const double bytes = sizes[stage].activation_bytes;
    if (!sends[stage] || bytes == 0) continue;
    const std::uint32_t sender = index(layout.partition.stages[stage].back());
    const std::uint32_t receiver = index(layout.partition.stages[stage + 1].front());
    encode_boundary(coding, bytes, layers[sender], layers[receiver]);
    for (const std::uint32_t end : {sender, receiver}) {
      packed[end] = std::max(packed[end], coding.packed(bytes));
    }
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].activation_bytes = coding.packed(layers[i].activation_bytes);
    layers[i].workspace_bytes += packed[i];
  }
}

}  // namespace

void encode_activations(const Scenario& scenario, Layout& layout) {
  const double value_bytes = shape_of(scenario, layout.slices).activation_size;
  const CodecChoice& codec = scenario.codec;
  if (codec.stash) encode_stash(Coding(scenario, *codec.stash, value_bytes), scenario, layout);
  if (codec.link) encode_links(Coding(scenario, *codec.link, value_bytes), layout);
}

}  // namespace penstock
