#include "validate/training/stage_trial.hpp"

#include <utility>

#include "validate/kernels/steps/drawn.hpp"

namespace penstock {

StageTrial::StageTrial(const LayeredModel& model, std::uint32_t model_stage,
                       const LayerTensors& weights, const JobLayers& job)
    : model_(model),
      model_stage_(model_stage),
      weights_(weights),
      job_(job),
      sums_(zeros_like(weights)) {
  if (job.codecs.empty() || !job.codecs[model_stage].stash) return;
  codec_.emplace(*job.codecs[model_stage].stash);
}

void StageTrial::pack() {
  if (codec_) packed_.pack(*codec_, codable(model_.stages[model_stage_], kept_, in_), nullptr);
}

void StageTrial::unpack() {
  if (codec_) packed_.unpack(*codec_, codable(model_.stages[model_stage_], kept_, in_));
}

StageRun StageTrial::run() { return {model_.stages[model_stage_], weights_, cell_, slices_}; }

Tensor StageTrial::gradient() const {
  if (model_stage_ + 1 < model_.stages.size()) {
    const PlacedLayer& next = model_.stages[model_stage_ + 1].front();
    return drawn_numbers(cell_, next.kernel->columns, next.rows_in(), Drawn::target);
  }
  return loss_gradient();
}

void StageTrial::prepare(Pass pass, bool recomputes, bool remade) {
  if (pass == Pass::update) {
    if (!updated_) updated_.emplace(model_.stages[model_stage_], job_);
    updated_->begin();
  }
  pass_ = pass;
  recomputes_ = recomputes || pass == Pass::recompute;
  remade_ = remade;
  slices_.assign(weights_.size(), {});
  packed_ = {};
  kept_ = {};  // leaves nothing to free in the next action
  cell_ = model_.cell;
  const std::uint32_t middle = (cell_.slices - 1) / 2;
  for (cell_.slice = 0; cell_.slice < middle; ++cell_.slice) {
    stage_forward(run(), stage_input(model_, model_stage_, cell_), kept_);
  }
  in_ = stage_input(model_, model_stage_, cell_);
  above_ = gradient();
  if (pass == Pass::forward) return;
  if (recomputes_ && !job_.selective) return pack();
  stage_forward(run(), std::exchange(in_, {}), kept_);
  if (recomputes_) drop_selected(model_.stages[model_stage_], kept_);
  if (pass == Pass::backward_weight) {
    stage_input_gradient(run(), gradient(), kept_);
  } else {
    pack();
  }
}

void StageTrial::remake() {
  unpack();
  if (job_.selective) return recompute_selected(run(), kept_);
  stage_forward(run(), std::exchange(in_, {}), kept_);
}

void StageTrial::forward() {
  Tensor input;
  if (remade_ && !job_.selective) input = in_;
  stage_forward(run(), std::exchange(in_, std::move(input)), kept_);
  if (remade_ && job_.selective) drop_selected(model_.stages[model_stage_], kept_);
  if (remade_ && !job_.selective) kept_.clear();
  pack();
}

void StageTrial::perform() {
  if (pass_ == Pass::forward) forward();
  if (recomputes_) remake();
  if (gives_gradient(pass_)) unpack();
  if (gives_gradient(pass_)) stage_input_gradient(run(), std::move(above_), kept_);
  if (ends_activation(pass_)) stage_weight_gradient(run(), kept_, sums_);
  if (pass_ == Pass::update) updated_->step(sums_);
}

}  // namespace penstock
