#include "validate/training/layered_body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

/// The input of a stage: activations, and room for their gradients.
Tensor room_for(const LayeredModel& model, std::uint32_t model_stage) {
  const PlacedLayer& first = model.stages[model_stage].front();
  return {first.rows_in(), columns_of(model.cell, first.kernel->columns)};
}

void append(const Tensor& tensor, std::vector<std::uint64_t>& words) {
  for (const double value : tensor.values) words.push_back(std::bit_cast<std::uint64_t>(value));
}

const std::uint64_t* fill(const std::uint64_t* words, Tensor& tensor) {
  tensor.values.resize(tensor.rows * tensor.columns);
  for (double& value : tensor.values) value = std::bit_cast<double>(*words++);
  return words;
}

}  // namespace

LayeredBody::LayeredBody(const Job& job, Rank rank, const std::vector<std::size_t>& words)
    : job_(job),
      words_(words),
      model_(std::make_unique<const LayeredModel>(layered_model(*job.layers))),
      has_backward_(has_backward(job.priced.plan)),
      recomputed_(recomputed_cells(job.priced.plan)),
      versions_(versions_used(job.priced.plan, rank, job.layers->weights)),
      rank_(index(rank)) {
  for (const StageCodecs& codecs : job.layers->codecs) {
    StageCoders& coders = coders_.emplace_back();
    if (codecs.stash) coders.stash.emplace(*codecs.stash);
    if (codecs.link) coders.link.emplace(*codecs.link);
  }
  for (const auto& [cell, version] : versions_) {
    const auto& layers = layers_of(cell.stage);
    const auto made = weights_.try_emplace(cell.stage, layers, *job.layers);
    if (has_backward_) made.first->second.expect(version);
  }
  if (job.layers->times_layers) watch_.emplace();
  begin();
}

void LayeredBody::begin() {
  if (watch_) watch_->clear();
  for (auto& weights : weights_) weights.second.begin();
  loss_ = 0;
  begun_.clear();
  kept_.clear();
  slices_.clear();
  passed_.clear();
  totals_.clear();
  ties_.clear();
  table_sums_.clear();
  first_run_ = runs_++ < 2;  // the constructor calls this too
  if (first_run_) coding_ = {};
  stash_bytes_ = peak_stash_bytes_ = 0;
  pass_on_inputs();
}

/// Data is drawn before a run, so drawing is not part of the first stage.
void LayeredBody::pass_on_inputs() {
  for (const auto& one : versions_) {
    const CellKey& cell = one.first;
    if (model_stage_of(cell.stage) != 0) continue;
    pass_on({TensorKind::activation, before_first, cell.microbatch},
            model_input(*model_, cell_of(*model_, cell.microbatch)));
  }
}

const std::vector<PlacedLayer>& LayeredBody::layers_of(Stage stage) const {
  return model_->stages[model_stage_of(stage)];
}

StageWeights& LayeredBody::weights_of(Stage stage) {
  const auto found = weights_.find(stage);
  if (found == weights_.end()) throw OrderFailure("this rank has no microbatch of the stage");
  return found->second;
}

std::uint32_t LayeredBody::version_of(const CellKey& cell) const {
  const auto found = versions_.find(cell);
  if (found == versions_.end()) throw OrderFailure("this rank has no such microbatch");
  return found->second;
}

StageRun LayeredBody::run_of(const CellKey& key) {
  const KernelCell cell = cell_of(*model_, key.microbatch);
  std::vector<SliceMemory>& slices = slices_[{key.stage, Microbatch{cell.microbatch}}];
  slices.resize(layers_of(key.stage).size());
  return {layers_of(key.stage), weights_of(key.stage).version(version_of(key)), cell, slices,
          watch_ ? &*watch_ : nullptr};
}

LayeredBody::Kept& LayeredBody::kept_of(const CellKey& cell, Kept::Phase phase,
                                        const char* missing) {
  const auto found = kept_.find(cell);
  if (found == kept_.end() || found->second.phase != phase) {
    throw OrderFailure(fmt::format("{} is missing", missing));
  }
  return found->second;
}

Tensor LayeredBody::take_passed(const PassedKey& key) {
  auto found = passed_.extract(key);
  if (found) return std::move(found.mapped());
  const TensorLabel label{key.kind, key.model_stage, key.microbatch, 0};
  throw OrderFailure(fmt::format("{} is missing", text(label)));
}

void LayeredBody::pass_on(const PassedKey& key, Tensor tensor) {
  passed_.insert_or_assign(key, std::move(tensor));
}

std::span<std::uint64_t> LayeredBody::room(const Reading& reading) {
  received_.resize(words_[reading.transfer]);
  return received_;
}

void LayeredBody::take_in(const Reading& reading) {
  const TensorLabel& label = reading.expected;
  const WorkClass& work = job_.priced.plan.class_of(reading.transfer);
  if (work.pass == Pass::send_loaded) return load({work.stage, label.microbatch});
  if (reduces_gradient(work.pass)) return add_to_total(label.model_stage);
  if (work.pass == Pass::tie_gradient) return take_tie(label.model_stage);
  Tensor tensor =
      room_for(*model_, label.model_stage + (label.kind == TensorKind::gradient ? 0 : 1));
  if (const TensorCodec* codec = link_codec(label)) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(received_.data());
    const std::size_t count = tensor.rows * tensor.columns;
    tensor.values = codec->unpacked({bytes, codec->packed_bytes(count)}, count);
  } else {
    fill(received_.data(), tensor);
  }
  pass_on({label.kind, label.model_stage, label.microbatch}, std::move(tensor));
}

/// The parts of a fused cell run one after the other: a core does not overlap them.
void LayeredBody::perform(const Step& step) {
  perform(step.task);
  if (step.beside != no_task) perform(step.beside);
}

void LayeredBody::perform(TaskId task) {
  if (watch_) watch_->start();
  perform_passes(task);
  if (watch_) watch_->finish();
}

void LayeredBody::perform_passes(TaskId task) {
  const WorkClass& work = job_.priced.plan.class_of(task);
  const CellKey cell{work.stage, job_.priced.plan.microbatch[task]};
  if (work.pass == Pass::forward) forward(cell);
  if (work.pass == Pass::recompute || work.recomputes) recompute(cell);
  if (gives_gradient(work.pass)) input_gradient(cell);
  if (ends_activation(work.pass)) weight_gradient(cell);
  if (work.pass == Pass::update) update(work.stage);
}

/// With flushes, an iteration ends in one step with the sums of all copies of the stage.
void LayeredBody::update(Stage stage) {
  StageWeights& weights = weights_of(stage);
  if (job_.layers->weights.use != WeightUse::flushed) return weights.update();
  auto total = totals_.extract(model_stage_of(stage));
  LayerTensors gradients = total ? std::move(total.mapped()) : weights.take_sums();
  if (model_->is_tied()) add_tie(model_stage_of(stage), gradients);
  weights.step(gradients);
  if (model_->is_tied()) share_table(model_stage_of(stage), weights);
}

void LayeredBody::take_tie(std::uint32_t model_stage) {
  LayerTensors like = initial_weights(model_->stages[model_stage], job_.layers->seed);
  Tensor& part = tied_tensor(model_stage, like);
  fill(received_.data(), part);
  const auto known = ties_.find(model_stage);
  if (known == ties_.end()) {
    ties_.emplace(model_stage, std::move(part));
  } else {
    add_values(part, known->second);
  }
}

/// Sums arrive in the same order on all copies of a stage, so that these stay equal.
void LayeredBody::add_to_total(std::uint32_t model_stage) {
  const auto known = totals_.find(model_stage);
  LayerTensors part = zeros_like(initial_weights(model_->stages[model_stage], job_.layers->seed));
  const std::uint64_t* words = received_.data();
  for (Tensors& layer : part) {
    for (Tensor& tensor : layer) words = fill(words, tensor);
  }
  if (known == totals_.end()) {
    totals_.emplace(model_stage, std::move(part));
  } else {
    add(part, known->second);
  }
}

/// Slices of a microbatch go forward in order and backward in reverse.
void LayeredBody::check_slices(const CellKey& cell, bool back) const {
  const std::uint32_t slices = model_->cell.slices;
  const std::uint32_t number = index(cell.microbatch);
  if (number % slices == (back ? slices - 1 : 0)) return;
  const CellKey before{cell.stage, Microbatch{back ? number + 1 : number - 1}};
  const auto kept = kept_.find(before);
  const bool done = begun_.contains(before) &&
                    (!back || kept == kept_.end() || kept->second.phase == Kept::Phase::pending);
  if (!done) throw OrderFailure("the previous slice has not run");
}

void LayeredBody::forward(const CellKey& cell) {
  if (!begun_.insert(cell).second) throw OrderFailure("it runs a second time");
  check_slices(cell, /*back=*/false);
  const std::uint32_t stage = model_stage_of(cell.stage);
  const StageRun run = run_of(cell);
  Kept kept;
  Tensor in =
      take_passed({TensorKind::activation, stage == 0 ? before_first : stage - 1, cell.microbatch});
  if (recomputed_.contains(cell) && !job_.layers->selective) kept.input = in;
  Tensor out = stage_forward(run, std::move(in), kept.layers);
  if (stage + 1 == model_->stages.size()) {
    loss_ += out.values.front();
  } else {
    pass_on({TensorKind::activation, stage, cell.microbatch}, std::move(out));
  }
  if (!has_backward_) return;
  kept_[cell] = std::move(kept);
  if (recomputed_.contains(cell)) drop(cell);
  pack(cell);
}

void LayeredBody::drop(const CellKey& cell) {
  Kept& kept = kept_.at(cell);
  kept.phase = Kept::Phase::dropped;
  if (job_.layers->selective) {
    drop_selected(layers_of(cell.stage), kept.layers);
  } else {
    kept.layers.clear();
  }
}

void LayeredBody::recompute(const CellKey& cell) {
  Kept& kept = kept_of(cell, Kept::Phase::dropped, "the input kept by F for recomputation");
  unpack(cell, kept);
  if (job_.layers->selective) {
    recompute_selected(run_of(cell), kept.layers);
  } else {
    stage_forward(run_of(cell), std::move(kept.input), kept.layers);
    kept.input = {};
  }
  kept.phase = Kept::Phase::whole;
}

void LayeredBody::input_gradient(const CellKey& cell) {
  const std::uint32_t stage = model_stage_of(cell.stage);
  Kept& kept = kept_of(cell, Kept::Phase::whole, "the activation kept by F");
  check_slices(cell, /*back=*/true);
  unpack(cell, kept);
  const StageRun run = run_of(cell);
  Tensor above = stage + 1 == model_->stages.size()
                     ? loss_gradient()
                     : take_passed({TensorKind::gradient, stage + 1, cell.microbatch});
  Tensor before = stage_input_gradient(run, std::move(above), kept.layers);
  if (stage > 0) pass_on({TensorKind::gradient, stage, cell.microbatch}, std::move(before));
  kept.phase = Kept::Phase::pending;
  if (run.cell.slice == 0) slices_.erase({cell.stage, Microbatch{run.cell.microbatch}});
}

void LayeredBody::weight_gradient(const CellKey& cell) {
  const Kept& kept = kept_of(cell, Kept::Phase::pending, "the state kept by I");
  StageWeights& weights = weights_of(cell.stage);
  stage_weight_gradient(run_of(cell), kept.layers, weights.sums());
  hold(-kept.held_bytes);
  kept_.erase(cell);
  weights.done_with(version_of(cell));
}

std::span<const std::uint64_t> LayeredBody::made(const Step& step, const TensorSend& sending) {
  const WorkClass& work = job_.priced.plan.class_of(step.task);
  const TensorLabel& label = sending.label;
  sent_.clear();
  const WorkClass& transfer = job_.priced.plan.class_of(sending.transfer);
  if (transfer.pass == Pass::gather_weights) return sent_;  // each copy has updated all of them
  if (reduces_gradient(transfer.pass)) {
    for (const Tensors& layer : weights_of(transfer.stage).take_sums()) {
      for (const Tensor& tensor : layer) append(tensor, sent_);
    }
  } else if (transfer.pass == Pass::tie_gradient) {
    LayerTensors all = weights_of(transfer.stage).all_gradients();
    append(tied_tensor(label.model_stage, all), sent_);
  } else if (work.pass == Pass::evict) {
    evict({work.stage, label.microbatch});
  } else {
    const Tensor tensor = take_passed({label.kind, label.model_stage, label.microbatch});
    const TensorCodec* codec = link_codec(label);
    codec != nullptr ? append_packed(*codec, tensor) : append(tensor, sent_);
  }
  if (words_[sending.transfer] == sent_.size()) return sent_;
  throw OrderFailure(
      fmt::format("it made {} words instead of {}", sent_.size(), words_[sending.transfer]));
}

/// Frees everything kept but its size.
void LayeredBody::evict(const CellKey& cell) {
  const auto found = kept_.find(cell);
  if (found == kept_.end()) throw OrderFailure("there is no activation to evict");
  Kept& kept = found->second;
  const auto move_out = [&](Tensor& tensor) {
    append(tensor, sent_);
    std::vector<double>().swap(tensor.values);
  };
  kept.packed.move_out(sent_);
  move_out(kept.input);
  for (Tensors& layer : kept.layers) {
    for (Tensor& tensor : layer) move_out(tensor);
  }
  kept.when_back = std::exchange(kept.phase, Kept::Phase::away);
  hold(-kept.held_bytes);
}

void LayeredBody::load(const CellKey& cell) {
  Kept& kept = kept_of(cell, Kept::Phase::away, "the evicted activation");
  const std::uint64_t* words = fill(kept.packed.move_in(received_.data()), kept.input);
  hold(kept.held_bytes);
  for (Tensors& layer : kept.layers) {
    for (Tensor& tensor : layer) words = fill(words, tensor);
  }
  kept.phase = kept.when_back;
}

/// The first part of a fused cell stands for both.
void LayeredBody::prepare_class(std::uint32_t number) {
  prepare_trial(number);
  const std::uint32_t partner = job_.priced.plan.classes[number].partner;
  if (partner != UINT32_MAX) prepare_trial(partner);
}

void LayeredBody::perform_class(std::uint32_t number) {
  trials_.at(number).perform();
  const std::uint32_t partner = job_.priced.plan.classes[number].partner;
  if (partner != UINT32_MAX) trials_.at(partner).perform();
}

void LayeredBody::prepare_trial(std::uint32_t number) {
  const WorkClass& work = job_.priced.plan.classes[number];
  const JobLayers& layers = *job_.layers;
  const auto trial = trials_.try_emplace(number, *model_, model_stage_of(work.stage),
                                         weights_of(work.stage).first(), layers);
  const bool remade = std::any_of(recomputed_.begin(), recomputed_.end(),
                                  [&](const auto& cell) { return cell.stage == work.stage; });
  trial.first->second.prepare(work.pass, work.recomputes, remade);
}

void LayeredBody::add_layer_times(TimesOfLayers& times) const {
  if (watch_) add(watch_->times(), times);
}

void LayeredBody::add_numbers(TrainedNumbers& numbers) const {
  TrainedNumbers own;
  own.loss = loss_;
  own.gradients.resize(model_->layers());
  add(own, numbers);
  for (const auto& weights : weights_) {
    weights.second.add_gradients(layers_of(weights.first), numbers);
    weights.second.add_weights(layers_of(weights.first), numbers);
  }
}

}  // namespace penstock
