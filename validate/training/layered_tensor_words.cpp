#include <map>
#include <utility>

#include "validate/training/layered_body.hpp"

namespace penstock {
namespace {

/// The words that an action evicts of what a stage keeps.
class KeptWords {
 public:
  KeptWords(const LayeredModel& model, const JobLayers& layers) : model_(model), layers_(layers) {}

  std::size_t of(std::uint32_t model_stage, bool recomputed) {
    const auto found = known_.try_emplace({model_stage, recomputed});
    if (found.second) found.first->second = counted(model_stage, recomputed);
    return found.first->second;
  }

 private:
  /// Counted by running the stage, since each kernel decides what it keeps.
  std::size_t counted(std::uint32_t model_stage, bool recomputed) const {
    const auto& stage = model_.stages[model_stage];
    const LayerTensors weights = initial_weights(stage, layers_.seed);
    std::vector<SliceMemory> slices(stage.size());
    Tensor input = stage_input(model_, model_stage, model_.cell);
    LayerTensors kept;
    if (!recomputed || layers_.selective) {
      stage_forward({stage, weights, model_.cell, slices}, std::exchange(input, {}), kept);
    }
    if (recomputed && layers_.selective) drop_selected(stage, kept);
    PackedStash packed;
    if (!layers_.codecs.empty() && layers_.codecs[model_stage].stash) {
      const TensorCodec codec(*layers_.codecs[model_stage].stash);
      packed.pack(codec, codable(stage, kept, input), nullptr);
    }
    return packed.words() + numbers_of(kept) + input.values.size();
  }

  const LayeredModel& model_;
  const JobLayers& layers_;
  std::map<std::pair<std::uint32_t, bool>, std::size_t> known_;
};

/// Words of a tensor that crosses into a model stage, or its gradient back.
std::size_t sent_words(const LayeredModel& model, const JobLayers& layers, std::uint32_t into) {
  const std::size_t values = stage_numbers(model, into);
  if (layers.codecs.empty() || !layers.codecs[into - 1].link) return values;
  return words_for(TensorCodec(*layers.codecs[into - 1].link).packed_bytes(values));
}

std::size_t words_of_table(const LayeredModel& model) {
  const PlacedLayer& first = model.stages.front().front();
  const WeightSpec table = first.kernel->weights(first.numbers).front();
  return table.rows * table.columns;
}

}  // namespace

std::vector<std::size_t> layered_tensor_words(const Job& job) {
  const Plan& plan = job.priced.plan;
  const LayeredModel model = layered_model(*job.layers);
  const std::set<CellKey> recomputed = recomputed_cells(plan);
  KeptWords kept(model, *job.layers);
  std::vector<std::size_t> weights_of;  // by model stage
  for (const auto& stage : model.stages) {
    weights_of.push_back(numbers_of(initial_weights(stage, job.layers->seed)));
  }
  std::vector<std::size_t> words(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const std::uint32_t stage = plan.model_stage[index(work.stage)];
    if (work.pass == Pass::send_activation) words[task] = sent_words(model, *job.layers, stage + 1);
    if (work.pass == Pass::send_gradient) words[task] = sent_words(model, *job.layers, stage);
    if (reduces_gradient(work.pass)) words[task] = weights_of[stage];
    if (work.pass == Pass::tie_gradient) words[task] = words_of_table(model);
    if (work.pass == Pass::send_evicted || work.pass == Pass::send_loaded) {
      words[task] = kept.of(stage, recomputed.contains({work.stage, plan.microbatch[task]}));
    }
  }
  return words;
}

}  // namespace penstock
