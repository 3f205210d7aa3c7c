#include "tests/support/searched_pipelines.hpp"

#include <rapidcheck.h>

#include <optional>

namespace penstock::testing {
namespace {

Schedule schedule_of_sequences(const OrderProblem& problem, const RankSequences& sequences) {
  constexpr std::array passes{Pass::forward, Pass::backward_input, Pass::backward_weight};
  Schedule order(problem.ranks());
  std::vector<std::uint32_t> done(problem.stages.size() * SearchPass::count, 0);
  for (const Rank rank : Numbers<Rank>(problem.ranks())) {
    for (const CellClass cell : sequences[index(rank)]) {
      order.on(rank).emplace_back(passes[cell % SearchPass::count], Stage{cell / SearchPass::count},
                                  Microbatch{done[cell]++});
    }
  }
  return order;
}

}  // namespace

Pipeline pipeline(const Placement& placement, std::uint32_t microbatches,
                  const std::vector<std::array<int, 3>>& times_us, int transfer_us,
                  std::int64_t capacity) {
  Pipeline made{{}, {placement, {}, {}}};
  made.system.hardware = delay(transfer_us);
  made.problem.microbatches = microbatches;
  made.problem.capacity.assign(placement.ranks(), capacity);
  for (const Stage stage : placement.stages()) {
    const auto& [forward, input, weight] = times_us[index(stage) % times_us.size()];
    OrderStage seen{.rank = index(placement.rank_of(stage)),
                    .duration = {forward * one_us, input * one_us, weight * one_us},
                    .during = {1, 0, 0},
                    .change = {1, 0, -1}};
    const auto delay_to = [&](std::optional<Stage> other) {
      return other && placement.rank_of(*other) != placement.rank_of(stage) ? transfer_us * one_us
                                                                            : 0;
    };
    seen.to_after = delay_to(placement.after(stage));
    seen.to_before = delay_to(placement.before(stage));
    made.problem.stages.push_back(seen);
    made.system.stages.push_back(stage_of(forward, input, weight));
    made.system.stages.back().stash_bytes = 1;
  }
  return made;
}

Pipeline pipeline_with_choice(const Placement& placement, std::uint32_t microbatches,
                              const std::vector<std::array<int, 3>>& times_us, int again_us,
                              std::int64_t bytes, std::int64_t capacity) {
  Pipeline made = pipeline(placement, microbatches, times_us, 0, capacity);
  for (OrderStage& stage : made.problem.stages) {
    stage.during = {bytes, 0, 0};
    stage.change = {bytes, 0, -bytes};
    stage.recomputed = FormCosts{stage.duration, {1, bytes - 1, 0}, {1, bytes - 1, -bytes}};
    stage.recomputed->duration[SearchPass::input] += again_us * one_us;
  }
  for (Layer& stage : made.system.stages) {
    stage.recompute_us = again_us;
    stage.recomputed_bytes = static_cast<double>(bytes - 1);
  }
  made.system.extras.holds[static_cast<std::size_t>(BufferKind::recomputed)] = true;
  return made;
}

Pipeline drawn_pipeline() {
  const auto ranks = *rc::gen::inRange<std::uint32_t>(1, 5);
  const auto chunks = *rc::gen::inRange<std::uint32_t>(1, 4);
  const bool vee = *rc::gen::arbitrary<bool>();
  const auto microbatches = *rc::gen::inRange<std::uint32_t>(1, 9);
  const auto time = rc::gen::inRange(1, 9);
  std::vector<std::array<int, 3>> times;
  for (std::uint32_t s = 0; s < ranks * chunks; ++s) times.push_back({*time, *time, *time});
  const auto capacity = *rc::gen::inRange<std::int64_t>(chunks, 4 * chunks + 1);
  return pipeline(vee ? Placement::vee(ranks, chunks) : Placement::loop(ranks, chunks),
                  microbatches, times, *rc::gen::inRange(0, 4), capacity);
}

std::vector<SearchTime> drawn_keys(const OrderProblem& problem) {
  std::vector<SearchTime> keys(problem.cells());
  for (SearchTime& key : keys) key = *rc::gen::inRange(0, 1000);
  return keys;
}

Report report_of_engine(Pipeline pipeline, const RankSequences& sequences,
                        const ActivationForms& recomputed) {
  const std::size_t stages = pipeline.problem.stages.size();
  pipeline.system.schedule = schedule_of_sequences(pipeline.problem, sequences);
  if (!recomputed.empty()) {
    Recomputing& recomputing = pipeline.system.extras.recomputing;
    recomputing.stages.assign(stages, true);
    recomputing.microbatches.resize(stages);
    for (std::uint32_t n = 0; n < recomputed.size(); ++n) {
      if (recomputed[n] == 0) continue;
      recomputing.microbatches[n / pipeline.problem.microbatches].push_back(
          n % pipeline.problem.microbatches);
    }
  }
  return simulated(pipeline.system).report;
}

SearchTime makespan_by_engine(const Pipeline& pipeline, const RankSequences& sequences,
                              const ActivationForms& recomputed) {
  return report_of_engine(pipeline, sequences, recomputed).makespan.picoseconds;
}

OrderSearchOptions evaluations(std::uint64_t count, std::uint64_t seed) {
  OrderSearchOptions options;
  options.seed = seed;
  options.spent = [count](const OrderSearchState& state) {
    return static_cast<double>(state.evaluations) / static_cast<double>(count);
  };
  return options;
}

bool all_fit(const OrderProblem& problem, const RankSequences& sequences) {
  for (std::uint32_t rank = 0; rank < problem.ranks(); ++rank) {
    if (!fits_memory(problem, rank, sequences[rank])) return false;
  }
  return true;
}

}  // namespace penstock::testing
