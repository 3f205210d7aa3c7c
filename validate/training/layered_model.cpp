#include "validate/training/layered_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

std::string title(const PlacedLayer& layer) {
  return fmt::format("layer {} ({})", layer.number, layer.kernel->name);
}

std::optional<std::string> why_not_shape(const CellShape& shape) {
  if (shape.tensor * shape.context * shape.expert > 1) {
    return "groups of devices that share a layer";
  }
  for (const double number : {shape.sequence, shape.microbatch, shape.slices}) {
    if (std::fmod(number, 1) != 0 || number < 1 || number > 1e9) {
      return fmt::format("a microbatch with a fractional number of examples or tokens: {}", number);
    }
  }
  if (std::fmod(shape.sequence, shape.slices) == 0) return std::nullopt;
  return fmt::format("a sequence of {} tokens in {} slices", shape.sequence, shape.slices);
}

std::optional<std::string> why_not_kind(const LayerSpec& spec, const CellShape& shape) {
  const KernelEntry* kernel = find_named(kernel_entries(), spec.kind);
  if (kernel == nullptr) return fmt::format("layers of kind \"{}\"", spec.kind);
  work_of(spec, shape);  // throws for inconsistent parameters
  if (kernel->columns == Columns::images && shape.slices > 1) {
    return fmt::format("slices of images, for layers of kind \"{}\"", spec.kind);
  }
  if (kernel->why_not == nullptr) return std::nullopt;
  const LayerKindEntry& kind = *find_named(layer_kind_entries(), spec.kind);
  const LayerNumbers numbers(settled_numbers(kind.name, kind.parameters, spec.numbers));
  const auto reason = kernel->why_not(numbers, shape);
  if (!reason) return std::nullopt;
  return fmt::format("some layers of kind \"{}\": {}", spec.kind, *reason);
}

PlacedLayer placed(const LayerSpec& spec, std::uint32_t number) {
  const LayerKindEntry& kind = *find_named(layer_kind_entries(), spec.kind);
  return {find_named(kernel_entries(), spec.kind),
          LayerNumbers(settled_numbers(kind.name, kind.parameters, spec.numbers)),
          number,
          Residual::none,
          {}};
}

/// Pointers to all layers, across stages.
std::vector<PlacedLayer*> chain_of(LayeredModel& model) {
  std::vector<PlacedLayer*> chain;
  for (auto& stage : model.stages) {
    for (PlacedLayer& layer : stage) chain.push_back(&layer);
  }
  return chain;
}

/// A residual also skips the norm before its layer, if there is one.
void place_residuals(const std::vector<PlacedLayer*>& chain) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (chain[i]->kernel->around != ResidualPart::ends) continue;
    const bool behind_norm = i > 0 && chain[i - 1]->kernel->around == ResidualPart::begins;
    chain[i]->residual = behind_norm ? Residual::ends : Residual::around;
    if (behind_norm) chain[i - 1]->residual = Residual::begins;
  }
}

bool reads_two(const PlacedLayer& layer) { return layer.kernel->rows_passed != nullptr; }

/// A model that starts with such a layer reads two inputs.
void place_pairs(const std::vector<PlacedLayer*>& chain) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!reads_two(*chain[i])) continue;
    chain[i]->opens_pairs = i > 0 && !reads_two(*chain[i - 1]);
    chain[i]->closes_pairs = i + 1 == chain.size() || !reads_two(*chain[i + 1]);
  }
}

bool is_tied_head(const PlacedLayer& layer) {
  return layer.kernel->name == "head" && layer.numbers.is("tied");
}

void end_in_loss(LayeredModel& model) {
  const PlacedLayer& last = model.stages.back().back();
  if (last.kernel->ends == Ends::last) return;
  const bool images = last.kernel->columns_left() == Columns::images;
  NamedNumbers numbers{{"rows", static_cast<double>(last.rows_out())},
                       {"images", images ? 1.0 : 0.0}};
  model.stages.back().push_back(
      {&distance_kernel, LayerNumbers(std::move(numbers)), last.number + 1, Residual::none});
}

LayeredModel assembled(const JobLayers& layers) {
  LayeredModel model;
  std::uint32_t number = 0;
  for (const std::vector<LayerSpec>& stage : layers.stages) {
    auto& own = model.stages.emplace_back();
    for (const LayerSpec& spec : stage) own.push_back(placed(spec, number++));
  }
  place_residuals(chain_of(model));
  place_pairs(chain_of(model));
  // A tied head is last, and its embedding first.
  PlacedLayer& last = model.stages.back().back();
  if (is_tied_head(last)) last.tied_to = model.stages.front().front().number;
  end_in_loss(model);
  model.cell = {.seed = layers.seed,
                .examples = static_cast<std::size_t>(layers.shape.microbatch),
                .tokens = static_cast<std::size_t>(layers.shape.sequence / layers.shape.slices),
                .slices = static_cast<std::uint32_t>(layers.shape.slices)};
  return model;
}

std::optional<std::string> why_not_neighbours(const PlacedLayer& before, const PlacedLayer& after) {
  if (before.kernel->ends == Ends::last) {
    return fmt::format("a loss before the end of a model: {}", title(before));
  }
  if (after.kernel->ends == Ends::first) {
    return fmt::format("token ids after the start of a model: {}", title(after));
  }
  if (after.opens_pairs && after.kernel->rows_in(after.numbers) != 2 * after.rows_in()) {
    return fmt::format("a layer that reads two outputs of different sizes, behind a single one: {}",
                       title(after));
  }
  const bool other_columns =
      after.kernel != &distance_kernel && before.kernel->columns_left() != after.kernel->columns;
  if (!other_columns && before.rows_out() == after.rows_in()) return std::nullopt;
  return fmt::format("layers that do not fit together: {} produces {} rows, {} takes {}",
                     title(before), before.rows_out(), title(after), after.rows_in());
}

std::optional<std::string> why_not_tied(const PlacedLayer& first, const PlacedLayer& last) {
  if (!is_tied_head(last)) return std::nullopt;
  const auto same = [&](const char* name) { return first.numbers[name] == last.numbers[name]; };
  if (first.kernel->ends == Ends::first && same("hidden") && same("vocab")) return std::nullopt;
  return fmt::format("a head that is tied, in a model that does not start with its embedding: {}",
                     title(last));
}

std::size_t rows_in(const LayerNumbers& numbers) { return size_of(numbers, "rows"); }
std::size_t rows_out(const LayerNumbers&) { return 1; }
std::vector<WeightSpec> weights(const LayerNumbers&) { return {}; }

Columns columns(const LayerRun& run) {
  return run.numbers.is("images") ? Columns::images : Columns::tokens;
}

double share_of(const LayerRun& run) {
  const std::size_t of_example = columns(run) == Columns::images ? 1 : run.cell.sequence();
  return 1 / static_cast<double>(run.cell.examples * of_example);
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  matrix(in) -= matrix(drawn_numbers(run.cell, columns(run), in.rows, Drawn::target));
  Tensor loss(1, 1);
  loss.values[0] = 0.5 * share_of(run) * matrix(in).squaredNorm();
  kept.assign(1, std::move(in));
  return loss;
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  Tensor before = std::move(kept.front());
  matrix(before) *= share_of(run) * gradient.values[0];
  kept.clear();
  return before;
}

void weight_gradient(const LayerRun&, const Tensors&, Tensors&) {}

}  // namespace

std::size_t PlacedLayer::rows_in() const {
  if (opens_pairs) return kernel->rows_passed(numbers);
  return kernel->rows_in(numbers) * (residual == Residual::ends ? 2 : 1);
}

std::size_t PlacedLayer::rows_out() const {
  if (closes_pairs) return kernel->rows_out(numbers) - kernel->rows_passed(numbers);
  return kernel->rows_out(numbers) * (residual == Residual::begins ? 2 : 1);
}

std::optional<std::string> why_not_layers(const JobLayers& layers) {
  if (auto reason = why_not_shape(layers.shape)) return reason;
  for (const std::vector<LayerSpec>& stage : layers.stages) {
    if (stage.empty()) return "stages without layers";
    for (const LayerSpec& spec : stage) {
      if (auto reason = why_not_kind(spec, layers.shape)) return reason;
    }
  }
  LayeredModel model = assembled(layers);
  const auto chain = chain_of(model);
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (auto reason = why_not_neighbours(*chain[i - 1], *chain[i])) return reason;
  }
  return why_not_tied(*chain.front(), *chain.back());
}

LayeredModel layered_model(const JobLayers& layers) {
  if (const auto reason = why_not_layers(layers)) {
    throw UsageError(fmt::format("unsupported by kernels: {}", *reason));
  }
  return assembled(layers);
}

KernelCell cell_of(const LayeredModel& model, Microbatch microbatch) {
  KernelCell cell = model.cell;
  cell.microbatch = index(microbatch) / cell.slices;
  cell.slice = index(microbatch) % cell.slices;
  return cell;
}

Tensor model_input(const LayeredModel& model, const KernelCell& cell) {
  const PlacedLayer& first = model.stages.front().front();
  if (first.kernel->ends == Ends::first) return drawn_tokens(cell, size_of(first.numbers, "vocab"));
  return drawn_numbers(cell, first.kernel->columns, first.rows_in(), Drawn::number);
}

Tensor stage_input(const LayeredModel& model, std::uint32_t model_stage, const KernelCell& cell) {
  if (model_stage == 0) return model_input(model, cell);
  const PlacedLayer& first = model.stages[model_stage].front();
  return drawn_numbers(cell, first.kernel->columns, first.rows_in(), Drawn::number);
}

std::size_t stage_numbers(const LayeredModel& model, std::uint32_t model_stage) {
  const PlacedLayer& first = model.stages[model_stage].front();
  return first.rows_in() * columns_of(model.cell, first.kernel->columns);
}

constinit const KernelEntry distance_kernel{
    .name = "distance",
    .ends = Ends::last,
    .rows_in = rows_in,
    .rows_out = rows_out,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
};

std::map<CellKey, std::uint32_t> versions_used(const Plan& plan, Rank rank,
                                               const WeightRule& rule) {
  const ResourceOrders orders = resource_orders(plan);
  std::map<CellKey, std::uint32_t> used;
  std::map<Stage, std::uint32_t> newest;
  for (std::uint32_t at = orders.first[index(rank)]; at < orders.first[index(rank) + 1]; ++at) {
    const TaskId task = orders.tasks[at];
    const WorkClass& work = plan.class_of(task);
    const CellKey cell{work.stage, plan.microbatch[task]};
    const std::uint32_t now = newest[work.stage];
    if (work.pass == Pass::forward) used[cell] = now;
    if (work.pass == Pass::update) ++newest[work.stage];
    const bool delayed = ends_activation(work.pass) && rule.use == WeightUse::delayed;
    if (delayed) used[cell] = now - std::min(now, rule.delay);
  }
  return used;
}

std::set<CellKey> recomputed_cells(const Plan& plan) {
  std::set<CellKey> recomputed;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    const bool again = work.pass == Pass::recompute || work.recomputes;
    if (again) recomputed.insert({work.stage, plan.microbatch[task]});
  }
  return recomputed;
}

bool has_backward(const Plan& plan) {
  return std::any_of(plan.classes.begin(), plan.classes.end(),
                     [](const WorkClass& work) { return gives_gradient(work.pass); });
}

}  // namespace penstock
