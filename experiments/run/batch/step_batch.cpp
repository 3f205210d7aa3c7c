#include "experiments/run/batch/step_batch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/run/batch/documents.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/layout/modules.hpp"
#include "sim/base/random.hpp"
#include "sim/engines/replicas.hpp"

namespace penstock {
namespace {

bool by_kind(const Layout& layout) { return !layout.spec.blocks.empty(); }

/// How often the load of each expert falls from one to the next, where the first has `skew` times
/// the mean: by bisection, since no closed form exists.
double decline_of(double skew, std::size_t experts) {
  const auto busiest = [&](double decline) {
    double sum = 0;
    for (std::size_t i = 0; i < experts; ++i) {
      sum += portable_exp(-std::min(600.0, decline * static_cast<double>(i)));
    }
    return static_cast<double>(experts) / sum;
  };
  double low = 0, high = 700;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (busiest(middle) < skew ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// The loads of experts, each at a place that differs between microbatches and blocks.
std::vector<double> shuffled_loads(const BatchSection& batch, const DrawOfReplica& of,
                                   std::uint64_t number, double decline, std::size_t experts) {
  std::vector<std::pair<double, double>> placed;
  for (std::size_t i = 0; i < experts; ++i) {
    const double place = random_share(batch, of, number * experts + i, 1);
    const double fallen = std::min(600.0, decline * static_cast<double>(i));
    placed.emplace_back(place, portable_exp(-fallen));
  }
  std::ranges::sort(placed);
  std::vector<double> loads;
  for (const auto& [place, load] : placed) loads.push_back(load);
  return loads;
}

/// The experts of a block; 0: none.
std::size_t experts_of(const BlockSpec& block) {
  for (const LayerSpec& part : block.parts) {
    const auto found = part.numbers.find("experts");
    if (found != part.numbers.end()) return static_cast<std::size_t>(found->second);
  }
  return 0;
}

/// Tokens that a device of experts receives, over the mean, where these are the loads of all
/// experts, side by side on `devices`: those of the busiest device.
double busiest_device(const std::vector<double>& loads, double devices) {
  const auto each = std::max<std::size_t>(
      1, static_cast<std::size_t>(static_cast<double>(loads.size()) / devices));
  double all = 0, most = 0;
  for (std::size_t begin = 0; begin < loads.size(); begin += each) {
    double own = 0;
    for (std::size_t i = begin; i < std::min(begin + each, loads.size()); ++i) own += loads[i];
    all += own;
    most = std::max(most, own);
  }
  const double load = all > 0 ? most * devices / all : 1;
  return std::abs(load - 1) < 1e-9 ? 1 : load;  // equal ones, whatever rounding made of their sum
}

void add_loads(const Layout& layout, const DrawOfReplica& of, ReplicaBatch& batch) {
  const BatchSection& section = *layout.documents;
  if (!section.router || layout.shape.expert == 1) return;
  const RouterLoads& router = *section.router;
  const auto& blocks = layout.spec.blocks;
  std::size_t known = 0;
  double decline = 0;
  for (std::size_t m = 0; m < batch.size(); ++m) {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const std::size_t experts = experts_of(blocks[b]);
      if (router.skew && experts > 0 && experts != std::exchange(known, experts)) {
        decline = decline_of(*router.skew, experts);
      }
      const std::uint64_t number = m * blocks.size() + b;
      batch[m].loads.push_back(
          experts == 0
              ? 1
              : busiest_device(router.skew ? shuffled_loads(section, of, number, decline, experts)
                                           : router.loads,
                               layout.shape.expert));
    }
  }
}

ReplicaBatch replica_batch(const Layout& layout, const TokenCost& cost, const DrawOfReplica& of) {
  const BatchSection& section = *layout.documents;
  DocumentStream documents(section, of);
  auto packed =
      pack(section.pack, of.microbatches, *section.tokens, cost, [&] { return documents.next(); });
  put_in_order(section.order, cost, packed);
  ReplicaBatch batch;
  for (const PackedMicrobatch& one : packed) batch.push_back({one, {}});
  add_loads(layout, of, batch);
  return batch;
}

PackedMicrobatch sum_of(const PackedMicrobatch& one, const PackedMicrobatch& other) {
  return {.tokens = one.tokens + other.tokens,
          .pictured = one.pictured + other.pictured,
          .squares = one.squares + other.squares,
          .documents = one.documents + other.documents,
          .longest = std::max(one.longest, other.longest)};
}

void divide(PackedMicrobatch& sum, double count) {
  for (double* number : {&sum.tokens, &sum.pictured, &sum.squares}) *number /= count;
}

/// A replica of the module that serves several pipelines takes a microbatch of all of them at once.
void take_together(const Layout& layout, StepBatch& batch) {
  if (!layout.module || layout.module->share <= 1) return;
  const auto pipelines = static_cast<std::size_t>(std::llround(layout.module->share));
  auto& replicas = batch.replicas;
  for (std::size_t begin = 0; begin < replicas.size(); begin += pipelines) {
    const std::size_t end = std::min(begin + pipelines, replicas.size());
    for (std::size_t m = 0; m < replicas[begin].size(); ++m) {
      PackedMicrobatch mean;
      for (std::size_t r = begin; r < end; ++r) mean = sum_of(mean, replicas[r][m].packed);
      divide(mean, static_cast<double>(end - begin));
      for (std::size_t r = begin; r < end; ++r) replicas[r][m].together = mean;
    }
  }
}

ModelSpec with_loads(ModelSpec spec, const std::vector<double>& loads) {
  for (std::size_t b = 0; b < loads.size(); ++b) {
    for (LayerSpec& part : spec.blocks[b].parts) {
      if (!part.numbers.contains("experts")) continue;
      part.numbers.try_emplace("imbalance", 1).first->second *= loads[b];
    }
  }
  return spec;
}

/// Examples with `share` of the pictures of a full one, in whole tokens and patches.
ModelSpec with_pictures(ModelSpec spec, double share) {
  for (BlockSpec& block : spec.blocks) {
    for (LayerSpec& part : block.parts) {
      for (const char* number : {"pictures", "tokens"}) {  // of the decoder; patches of the encoder
        const auto found = part.numbers.find(number);
        if (found == part.numbers.end()) continue;
        found->second = std::max(1.0, std::round(found->second * share));
      }
    }
  }
  return spec;
}

/// Makes the layers of a model, or of a part of it that works on a share of each example.
void set_part(Layout& part, const PackedMicrobatch& microbatch, const std::vector<double>& loads,
              double share) {
  const double tokens = microbatch.tokens, pictured = microbatch.pictured;
  const double squares = microbatch.squares;
  if (by_kind(part)) {
    CellShape shape = part.shape;
    shape.sequence = squares / tokens;
    shape.microbatch = tokens * tokens / squares * share;
    const double pictures = shape.sequence / part.shape.sequence * (pictured / tokens);
    ModelSpec spec = with_pictures(std::move(part.spec), pictures);
    return refit_model(part, with_loads(std::move(spec), loads), shape);
  }
  const double full = *part.documents->tokens;
  const double square = part.documents->attention_share.value_or(0);
  const double times = (1 - square) * (tokens / full) + square * (squares / (full * full));
  for (Layer& layer : part.model.layers) scale_stated(layer, times, tokens / full);
}

/// Microseconds that F and B of a microbatch take each rank on average, where all are like this.
std::vector<double> us_by_rank(Layout layout, const HardwareModel& hardware,
                               const PackedMicrobatch& microbatch) {
  set_microbatch(layout, {microbatch, {}});
  std::vector<double> sums(layout.placement.ranks());
  const Placement& placement = layout.placement;
  const std::vector<Stage>& chain = placement.chains().front();
  for (std::size_t number = 0; number < chain.size(); ++number) {
    const std::uint32_t replicas = placement.replicas(chain[number]);
    const bool frozen = layout.module && layout.module->frozen && number < layout.module->stages;
    double us = 0;
    for (const LayerIndex layer : layout.partition.stages[number]) {
      for (const Pass pass : {Pass::forward, Pass::backward}) {
        if (frozen && pass == Pass::backward) continue;
        us += hardware.compute_us(layout.model.layers[index(layer)], pass).value_or(0);
      }
    }
    for (const Microbatch one : Numbers<Microbatch>(replicas)) {  // which take them in turn
      sums[index(placement.rank_of(chain[number], one))] += us / replicas;
    }
  }
  return sums;
}

}  // namespace

PackedMicrobatch StepBatch::sum() const {
  PackedMicrobatch sum;
  for (const ReplicaBatch& replica : replicas) {
    for (const StepMicrobatch& one : replica) sum = sum_of(sum, one.packed);
  }
  return sum;
}

StepMicrobatch StepBatch::mean() const {
  StepMicrobatch mean{sum(), {}};
  const auto count = static_cast<double>(replicas.size() * replicas.front().size());
  divide(mean.packed, count);
  return mean;
}

bool StepBatch::has_loads() const { return !replicas.front().front().loads.empty(); }

TokenCost token_cost_of(const Layout& layout, const HardwareModel& hardware) {
  const double tokens = *layout.documents->tokens;
  const PackedMicrobatch full{.tokens = tokens, .pictured = tokens, .squares = tokens * tokens};
  PackedMicrobatch bare = full;
  if (layout.documents->lengths.most_pictures()) bare.pictured = 0;
  PackedMicrobatch in_two = bare;
  in_two.squares /= 2;
  const auto whole = us_by_rank(layout, hardware, full);
  const auto busiest = std::ranges::max_element(whole) - whole.begin();
  const auto us_of = [&](const PackedMicrobatch& one) {
    return us_by_rank(layout, hardware, one)[static_cast<std::size_t>(busiest)];
  };
  const double all = whole[static_cast<std::size_t>(busiest)], bare_us = us_of(bare);
  if (all <= 0) return {};
  const double of_squares = std::max(0.0, 2 * (bare_us - us_of(in_two)));
  const double of_pictures = std::max(0.0, all - bare_us);
  return {.per_token = (all - of_squares - of_pictures) / tokens,
          .per_square = of_squares / (tokens * tokens),
          .per_pictured = of_pictures / tokens};
}

StepBatch step_batch(const Layout& layout, const TokenCost& cost, std::uint32_t draw) {
  DrawOfReplica of{.draw = draw,
                   .replica = 0,
                   .replicas = std::min(layout.degrees.data, most_drawn_replicas),
                   .microbatches = layout.microbatches};
  StepBatch batch;
  for (; of.replica < of.replicas; ++of.replica) {
    batch.replicas.push_back(replica_batch(layout, cost, of));
  }
  take_together(layout, batch);
  return batch;
}

StepMicrobatch plain_microbatch(const Layout& layout) {
  const double tokens = *layout.documents->tokens;
  const double examples = by_kind(layout) ? layout.shape.microbatch : 1;
  return {{.tokens = tokens, .pictured = tokens, .squares = tokens * tokens / examples}, {}};
}

void set_microbatch(Layout& layout, const StepMicrobatch& microbatch) {
  if (!layout.parts) return set_part(layout, microbatch.packed, microbatch.loads, 1);
  LayoutParts parts = *layout.parts;
  set_part(parts.module, microbatch.of_module(), {}, layout.module->share);
  set_part(parts.others, microbatch.packed, microbatch.loads, 1);
  layout.model = joined_model(parts.module, parts.others);
  layout.spec = std::move(parts.others.spec);
  layout.shape = parts.others.shape;
  layout.tied_embedding_bytes = parts.others.tied_embedding_bytes;
}

}  // namespace penstock
