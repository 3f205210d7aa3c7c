#include "validate/training/layered_stage.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

std::pair<Tensor, Tensor> halves(const Tensor& both) {
  const std::size_t rows = both.rows / 2;
  return {rows_of(both, 0, rows), rows_of(both, rows, rows)};
}

/// A layer that reads two outputs, between single ones.
Tensor forward_of_pairs(const PlacedLayer& layer, const LayerRun& run, Tensor in, Tensors& kept) {
  if (layer.opens_pairs) in = stacked(in, in);
  Tensor out = layer.kernel->forward(run, std::move(in), kept);
  if (!layer.closes_pairs) return out;
  return rows_of(out, 0, layer.rows_out());
}

Tensor input_gradient_of_pairs(const PlacedLayer& layer, const LayerRun& run, Tensor gradient,
                               Tensors& kept) {
  if (layer.closes_pairs) {
    const Tensor unread(layer.kernel->rows_passed(layer.numbers), gradient.columns);
    gradient = stacked(gradient, unread);
  }
  Tensor before = layer.kernel->input_gradient(run, std::move(gradient), kept);
  if (!layer.opens_pairs) return before;
  auto [sum, older] = halves(before);
  add_values(older, sum);
  return std::move(sum);
}

/// A layer with its residual.
Tensor forward(const PlacedLayer& layer, const LayerRun& run, Tensor in, Tensors& kept) {
  if (layer.kernel->rows_passed != nullptr) {
    return forward_of_pairs(layer, run, std::move(in), kept);
  }
  Tensor around;
  if (layer.residual == Residual::ends) {
    std::tie(in, around) = halves(in);
  } else if (layer.residual != Residual::none) {
    around = in;
  }
  Tensor out = layer.kernel->forward(run, std::move(in), kept);
  if (layer.residual == Residual::begins) return stacked(out, around);
  if (layer.residual != Residual::none) add_values(around, out);
  return out;
}

Tensor input_gradient(const PlacedLayer& layer, const LayerRun& run, Tensor gradient,
                      Tensors& kept) {
  if (layer.kernel->rows_passed != nullptr) {
    return input_gradient_of_pairs(layer, run, std::move(gradient), kept);
  }
  Tensor around;
  if (layer.residual == Residual::begins) {
    std::tie(gradient, around) = halves(gradient);
  } else if (layer.residual != Residual::none) {
    around = gradient;
  }
  Tensor before = layer.kernel->input_gradient(run, std::move(gradient), kept);
  if (layer.residual == Residual::ends) return stacked(before, around);
  if (layer.residual != Residual::none) add_values(around, before);
  return before;
}

void lap(const StageRun& run, std::size_t layer, Pass pass) {
  if (run.watch != nullptr) run.watch->lap({run.layers[layer].number, pass});
}

LayerRun run_of(const StageRun& run, std::size_t layer) {
  return {run.layers[layer].numbers, run.cell, run.weights[layer], run.slices[layer],
          run.layers[layer].number};
}

}  // namespace

Tensor loss_gradient() {
  Tensor one(1, 1);
  one.values[0] = 1;
  return one;
}

Tensor stage_forward(const StageRun& run, Tensor in, LayerTensors& kept) {
  kept.assign(run.layers.size(), {});
  for (std::size_t layer = 0; layer < run.layers.size(); ++layer) {
    in = forward(run.layers[layer], run_of(run, layer), std::move(in), kept[layer]);
    lap(run, layer, Pass::forward);
  }
  return in;
}

Tensor stage_input_gradient(const StageRun& run, Tensor gradient, LayerTensors& kept) {
  for (std::size_t layer = run.layers.size(); layer-- > 0;) {
    gradient =
        input_gradient(run.layers[layer], run_of(run, layer), std::move(gradient), kept[layer]);
    lap(run, layer, Pass::backward_input);
  }
  return gradient;
}

void stage_weight_gradient(const StageRun& run, const LayerTensors& kept, LayerTensors& sums) {
  for (std::size_t layer = 0; layer < run.layers.size(); ++layer) {
    run.layers[layer].kernel->weight_gradient(run_of(run, layer), kept[layer], sums[layer]);
    lap(run, layer, Pass::backward_weight);
  }
}

void drop_selected(const std::vector<PlacedLayer>& layers, LayerTensors& kept) {
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const auto drop = layers[layer].kernel->drop_selected;
    if (drop != nullptr) drop(kept[layer]);
  }
}

void recompute_selected(const StageRun& run, LayerTensors& kept) {
  for (std::size_t layer = 0; layer < run.layers.size(); ++layer) {
    const auto make = run.layers[layer].kernel->recompute_selected;
    if (make != nullptr) make(run_of(run, layer), kept[layer]);
  }
}

LayerTensors initial_weights(const std::vector<PlacedLayer>& layers, std::uint64_t seed) {
  LayerTensors weights;
  for (const PlacedLayer& layer : layers) {
    const std::vector<WeightSpec> specs = layer.kernel->weights(layer.numbers);
    weights.push_back(initial_weights(specs, seed, layer.number));
    if (layer.tied_to) {
      weights.back().front() = initial_weights({specs.front()}, seed, *layer.tied_to).front();
    }
  }
  return weights;
}

LayerTensors zeros_like(const LayerTensors& weights) {
  LayerTensors zeros = weights;
  for (Tensors& layer : zeros) {
    for (Tensor& tensor : layer) std::fill(tensor.values.begin(), tensor.values.end(), 0.0);
  }
  return zeros;
}

std::size_t numbers_of(const LayerTensors& tensors) {
  std::size_t count = 0;
  for (const Tensors& layer : tensors) {
    for (const Tensor& tensor : layer) count += tensor.values.size();
  }
  return count;
}

LayerTensors stepped(const LayerTensors& weights, const LayerTensors& gradients, double rate) {
  LayerTensors next = weights;
  for_each_value(gradients, next, [&](double slope, double& value) { value -= rate * slope; });
  return next;
}

void add(const LayerTensors& numbers, LayerTensors& sums) {
  for_each_value(numbers, sums, [](double number, double& sum) { sum += number; });
}

void LayerWatch::start() {
  last_ = nullptr;
  clock_.start();
}

void LayerWatch::lap(const LayerPass& layer) {
  const double ns = clock_.lap_ns();
  last_ = &times_[layer];
  last_->ns += ns;
  ++last_->cells;
}

/// Updates have no layers of their own here.
void LayerWatch::finish() {
  if (last_ != nullptr) last_->ns += clock_.lap_ns();
}

}  // namespace penstock
