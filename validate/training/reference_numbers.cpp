#include "validate/training/reference_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "validate/training/layered_stage.hpp"
#include "validate/training/tensor_codec.hpp"

namespace penstock {
namespace {

/// All weight versions of one stage replica, and the gradients of the current group.
struct Trained {
  std::vector<LayerTensors> versions;
  LayerTensors sums;
};

class Reference {
 public:
  Reference(const JobLayers& layers, const std::vector<StatedVersions>& stated,
            const RemadeCells& remade)
      : layers_(layers), stated_(stated), remade_(remade), model_(layered_model(layers)) {
    numbers_.gradients.resize(model_.layers());
    for (const auto& stage : model_.stages) {
      for (const PlacedLayer& layer : stage) {
        std::size_t weights = 0;
        for (const WeightSpec& spec : layer.kernel->weights(layer.numbers)) {
          weights += spec.rows * spec.columns;
        }
        numbers_.gradients[layer.number].resize(weights);
      }
    }
  }

  void train(std::uint32_t microbatch, bool backward);
  TrainedNumbers numbers() && { return std::move(numbers_); }

 private:
  Trained& trained(std::size_t stage, std::uint32_t microbatch);
  const LayerTensors& weights(std::size_t stage, std::uint32_t microbatch);
  struct Way;
  StageRun run_of(std::size_t stage, std::uint32_t cell, Way& way);
  void go_forward(std::uint32_t cell, bool backward, Way& way);
  void go_back(std::uint32_t cell, Way& way);
  void code_stash(std::size_t stage, const StageRun& run, bool again, Tensor input,
                  LayerTensors& kept) const;
  void code_link(std::size_t stage, Tensor& tensor) const;
  void sum(std::size_t stage, std::uint32_t cell, const LayerTensors& gradients);

  const JobLayers& layers_;
  const std::vector<StatedVersions>& stated_;
  const RemadeCells& remade_;
  LayeredModel model_;
  std::map<std::pair<std::size_t, std::uint32_t>, Trained> trained_;  // by stage and replica
  TrainedNumbers numbers_;
};

Trained& Reference::trained(std::size_t stage, std::uint32_t microbatch) {
  const std::uint32_t replica = stated_.empty() ? 0 : microbatch % stated_[stage].replicas;
  Trained& own = trained_[{stage, replica}];
  if (own.versions.empty()) {
    own.versions.push_back(initial_weights(model_.stages[stage], layers_.seed));
    own.sums = zeros_like(own.versions.front());
  }
  return own;
}

const LayerTensors& Reference::weights(std::size_t stage, std::uint32_t microbatch) {
  const Trained& own = trained(stage, microbatch);
  if (stated_.empty()) return own.versions.front();
  const auto& [replicas, group, delay] = stated_[stage];
  const std::uint32_t own_group = microbatch / replicas / group;
  return own.versions[own_group - std::min(own_group, delay)];
}

void Reference::sum(std::size_t stage, std::uint32_t cell, const LayerTensors& gradients) {
  for (std::size_t layer = 0; layer < gradients.size(); ++layer) {
    std::vector<double>& row = numbers_.gradients[model_.stages[stage][layer].number];
    std::size_t at = 0;
    for (const Tensor& tensor : gradients[layer]) {
      for (const double value : tensor.values) row[at++] += value;
    }
  }
  const std::uint32_t microbatch = cell / model_.cell.slices;
  if (stated_.empty()) return;
  Trained& own = trained(stage, microbatch);
  add(gradients, own.sums);
  const auto& [replicas, group, delay] = stated_[stage];
  if (microbatch / replicas % group != group - 1 || cell % model_.cell.slices != 0) return;
  own.versions.push_back(stepped(own.versions.back(), own.sums, layers_.rate));
  own.sums = zeros_like(own.sums);
}

/// A microbatch on its way through the model.
struct Reference::Way {
  explicit Way(const LayeredModel& model) {
    for (const auto& stage : model.stages) memory.emplace_back(stage.size());
    kept.assign(model.cell.slices, std::vector<LayerTensors>(model.stages.size()));
  }
  std::vector<std::vector<SliceMemory>> memory;  // by stage
  std::vector<std::vector<LayerTensors>> kept;   // by slice and stage
};

StageRun Reference::run_of(std::size_t stage, std::uint32_t cell, Way& way) {
  const KernelCell of = cell_of(model_, Microbatch{cell});
  return {model_.stages[stage], weights(stage, of.microbatch), of, way.memory[stage]};
}

void Reference::train(std::uint32_t microbatch, bool backward) {
  const std::uint32_t slices = model_.cell.slices;
  Way way(model_);
  for (std::uint32_t slice = 0; slice < slices; ++slice) {
    go_forward(microbatch * slices + slice, backward, way);
  }
  for (std::uint32_t slice = slices; backward && slice-- > 0;) {
    go_back(microbatch * slices + slice, way);
  }
}

void Reference::go_forward(std::uint32_t cell, bool backward, Way& way) {
  std::vector<LayerTensors>& kept = way.kept[cell % model_.cell.slices];
  Tensor passed = model_input(model_, cell_of(model_, Microbatch{cell}));
  for (std::size_t stage = 0; stage < kept.size(); ++stage) {
    const StageRun run = run_of(stage, cell, way);
    const bool again = remade_.contains({static_cast<std::uint32_t>(stage), cell});
    Tensor input;
    if (again && !layers_.selective) input = passed;
    passed = stage_forward(run, std::move(passed), kept[stage]);
    if (backward) code_stash(stage, run, again, std::move(input), kept[stage]);
    if (stage + 1 < kept.size()) code_link(stage, passed);
  }
  numbers_.loss += passed.values.front();
}

void Reference::go_back(std::uint32_t cell, Way& way) {
  std::vector<LayerTensors>& kept = way.kept[cell % model_.cell.slices];
  Tensor passed = loss_gradient();
  for (std::size_t stage = kept.size(); stage-- > 0;) {
    const StageRun run = run_of(stage, cell, way);
    passed = stage_input_gradient(run, std::move(passed), kept[stage]);
    LayerTensors gradients = zeros_like(run.weights);
    stage_weight_gradient(run, kept[stage], gradients);
    sum(stage, cell, gradients);
    if (stage > 0) code_link(stage - 1, passed);
  }
}

/// What encoding and decoding leaves of what a stage keeps.
void Reference::code_stash(std::size_t stage, const StageRun& run, bool again, Tensor input,
                           LayerTensors& kept) const {
  if (layers_.codecs.empty() || !layers_.codecs[stage].stash) return;
  const TensorCodec codec(*layers_.codecs[stage].stash);
  if (again && layers_.selective) drop_selected(run.layers, kept);
  if (again && !layers_.selective) kept.clear();
  const std::vector<Tensor*> tensors = codable(run.layers, kept, input);
  PackedStash packed;
  packed.pack(codec, tensors, nullptr);
  packed.unpack(codec, tensors);
  if (!again) return;
  if (layers_.selective) return recompute_selected(run, kept);
  stage_forward(run, std::move(input), kept);
}

/// The same of a tensor between a stage and the next, in either direction.
void Reference::code_link(std::size_t stage, Tensor& tensor) const {
  if (layers_.codecs.empty() || !layers_.codecs[stage].link) return;
  const TensorCodec codec(*layers_.codecs[stage].link);
  tensor.values = codec.unpacked(codec.packed(tensor.values, nullptr), tensor.values.size());
}

/// A tied table has one gradient, that of both its uses.
void tie_gradients(const LayeredModel& model, std::vector<std::vector<double>>& gradients) {
  if (!model.is_tied()) return;
  const PlacedLayer& head = model.stages.back().back();
  const WeightSpec table = head.kernel->weights(head.numbers).front();
  for (std::size_t i = 0; i < table.rows * table.columns; ++i) {
    double& first = gradients[*head.tied_to][i];
    double& last = gradients[head.number][i];
    first = last = first + last;
  }
}

}  // namespace

TrainedNumbers reference_numbers(const JobLayers& layers,
                                 const std::vector<std::uint32_t>& microbatches, bool backward,
                                 const std::vector<StatedVersions>& stated,
                                 const RemadeCells& remade) {
  JobLayers whole = layers;
  if (layers.codecs.empty()) whole.shape.slices = 1;
  Reference reference(whole, stated, remade);
  for (const std::uint32_t microbatch : microbatches) reference.train(microbatch, backward);
  return std::move(reference).numbers();
}

/// Adam's first step divides each gradient by its own size: its means start at zero.
void add_step(const JobLayers& layers, TrainedNumbers& numbers) {
  const LayeredModel model = layered_model(layers);
  numbers.weights.resize(model.layers());
  auto gradients_of = numbers.gradients;
  tie_gradients(model, gradients_of);
  for (const auto& stage : model.stages) {
    const LayerTensors first = initial_weights(stage, layers.seed);
    for (std::size_t layer = 0; layer < stage.size(); ++layer) {
      const std::vector<double>& gradients = gradients_of[stage[layer].number];
      std::vector<double>& weights = numbers.weights[stage[layer].number];
      for (const Tensor& tensor : first[layer]) {
        for (const double weight : tensor.values) {
          const double gradient = gradients[weights.size()];
          const double change =
              layers.step == StepRule::sgd ? gradient : gradient / (std::abs(gradient) + 1e-8);
          weights.push_back(weight - layers.rate * change);
        }
      }
    }
  }
}

}  // namespace penstock
