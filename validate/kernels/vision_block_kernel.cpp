#include <array>
#include <optional>
#include <string>
#include <utility>

#include "sim/base/named.hpp"
#include "validate/kernels/registry.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock::vision_block_kernel_file {
namespace {

// The kernels of its parts, on columns of patches: norm, attention and its residual, norm, MLP and
// its residual.

struct Part {
  const KernelEntry* kernel;
  LayerNumbers numbers;
};

std::array<Part, 4> parts_of(const LayerNumbers& numbers) {
  const double hidden = numbers["hidden"];
  const auto part = [](const char* kind, NamedNumbers own) {
    return Part{find_named(kernel_entries(), kind),
                LayerNumbers(all_numbers_of({kind, std::move(own), ""}))};
  };
  const NamedNumbers norm{{"hidden", hidden}, {"bias", numbers["norm_bias"]}};
  return {part("norm", norm),
          part("attention", {{"hidden", hidden},
                             {"heads", numbers["heads"]},
                             {"causal", 0},
                             {"qkv_bias", 1},
                             {"out_bias", 1}}),
          part("norm", norm),
          part("mlp", {{"hidden", hidden},
                       {"intermediate", numbers["intermediate"]},
                       {"gated", numbers["gated"]},
                       {"bias", 1}})};
}

std::optional<std::string> why_not(const LayerNumbers& numbers, const CellShape& /*shape*/) {
  if (!numbers.is("window")) return std::nullopt;
  return "\"window\": patches of the vision kernel all attend to each other";
}

std::size_t rows(const LayerNumbers& numbers) {
  return size_of(numbers, "hidden") * size_of(numbers, "tokens");
}

std::vector<WeightSpec> weights(const LayerNumbers& numbers) {
  std::vector<WeightSpec> specs;
  for (const Part& part : parts_of(numbers)) {
    for (const WeightSpec& spec : part.kernel->weights(part.numbers)) specs.push_back(spec);
  }
  return specs;
}

/// Calls `visit(number of a part, its run, its weights' first place)`.
class Parts {
 public:
  explicit Parts(const LayerRun& run) : layer_(run.layer), parts_(parts_of(run.numbers)) {
    cell_ = run.cell;
    cell_.tokens = size_of(run.numbers, "tokens");
    std::size_t first = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::size_t count = parts_[i].kernel->weights(parts_[i].numbers).size();
      firsts_[i] = first;
      weights_[i].assign(run.weights.begin() + static_cast<std::ptrdiff_t>(first),
                         run.weights.begin() + static_cast<std::ptrdiff_t>(first + count));
      first += count;
    }
  }

  const KernelEntry& kernel(std::size_t part) const { return *parts_[part].kernel; }
  LayerRun run(std::size_t part) {
    return {parts_[part].numbers, cell_, weights_[part], slices_[part], layer_};
  }
  std::size_t first(std::size_t part) const { return firsts_[part]; }
  std::size_t count(std::size_t part) const { return weights_[part].size(); }

 private:
  std::uint32_t layer_;
  std::array<Part, 4> parts_;
  std::array<Tensors, 4> weights_;
  std::array<std::size_t, 4> firsts_{};
  std::array<SliceMemory, 4> slices_;
  KernelCell cell_;
};

/// How many tensors each part keeps, as the first tensor of the block says.
constexpr std::size_t counts = 0;

void join(const std::array<Tensors, 4>& own, Tensors& kept) {
  kept.assign(1, Tensor(own.size(), 1));
  for (std::size_t part = 0; part < own.size(); ++part) {
    kept[counts].values[part] = static_cast<double>(own[part].size());
    kept.insert(kept.end(), own[part].begin(), own[part].end());
  }
}

std::array<Tensors, 4> apart(const Tensors& kept) {
  std::array<Tensors, 4> own;
  auto at = kept.begin() + 1;
  for (std::size_t part = 0; part < own.size(); ++part) {
    const auto count = static_cast<std::ptrdiff_t>(kept[counts].values[part]);
    own[part].assign(at, at + count);
    at += count;
  }
  return own;
}

Tensor forward(const LayerRun& run, Tensor in, Tensors& kept) {
  Parts parts(run);
  std::array<Tensors, 4> own;
  Tensor patches = columns_of_size(std::move(in), size_of(run.numbers, "hidden"));
  for (const std::size_t norm : {0, 2}) {
    Tensor out = parts.kernel(norm).forward(parts.run(norm), patches, own[norm]);
    out = parts.kernel(norm + 1).forward(parts.run(norm + 1), std::move(out), own[norm + 1]);
    add_values(out, patches);
  }
  join(own, kept);
  return columns_of_size(std::move(patches), rows(run.numbers));
}

Tensor input_gradient(const LayerRun& run, Tensor gradient, Tensors& kept) {
  Parts parts(run);
  std::array<Tensors, 4> own = apart(kept);
  Tensor above = columns_of_size(std::move(gradient), size_of(run.numbers, "hidden"));
  for (const std::size_t norm : {2, 0}) {
    Tensor inner = parts.kernel(norm + 1).input_gradient(parts.run(norm + 1), above, own[norm + 1]);
    inner = parts.kernel(norm).input_gradient(parts.run(norm), std::move(inner), own[norm]);
    add_values(inner, above);
  }
  join(own, kept);
  return columns_of_size(std::move(above), rows(run.numbers));
}

void weight_gradient(const LayerRun& run, const Tensors& kept, Tensors& sums) {
  Parts parts(run);
  const std::array<Tensors, 4> own = apart(kept);
  for (std::size_t part = 0; part < own.size(); ++part) {
    const auto first = sums.begin() + static_cast<std::ptrdiff_t>(parts.first(part));
    const auto end = first + static_cast<std::ptrdiff_t>(parts.count(part));
    Tensors of_part(std::make_move_iterator(first), std::make_move_iterator(end));
    parts.kernel(part).weight_gradient(parts.run(part), own[part], of_part);
    std::move(of_part.begin(), of_part.end(), first);
  }
}

}  // namespace

constinit extern const KernelEntry vision_block_kernel_entry{
    .name = "vision_block",
    .columns = Columns::images,
    .why_not = why_not,
    .rows_in = rows,
    .rows_out = rows,
    .weights = weights,
    .forward = forward,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
    .exact = 1U << counts,
};

}  // namespace penstock::vision_block_kernel_file
