#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/small_models.hpp"
#include "validate/kernels/images/pooling.hpp"
#include "validate/kernels/steps/drawn.hpp"
#include "validate/kernels/steps/dropout.hpp"
#include "validate/training/distance.hpp"
#include "validate/training/layered_model.hpp"

namespace penstock::testing {
namespace {

/// A layer with weights and inputs, whose value is a sum of what goes on, each number of it times a
/// drawn factor: its gradients are known by trying.
class Trial {
 public:
  Trial(const KernelEntry& kernel, LayerNumbers numbers, const KernelCell& cell)
      : kernel_(kernel), numbers_(std::move(numbers)), cell_(cell) {
    weights_ = initial_weights(kernel.weights(numbers_), 7, 3);
    for (cell_.slice = 0; cell_.slice < cell_.slices; ++cell_.slice) {
      in_.push_back(
          kernel.ends == Ends::first
              ? drawn_tokens(cell_, size_of(numbers_, "vocab"))
              : drawn_numbers(cell_, kernel.columns, kernel.rows_in(numbers_), Drawn::number));
    }
  }

  /// The furthest that gradients are from central differences, as a share of the largest.
  double error(double step = 1e-5) {
    step_ = step;
    find_gradients();
    for (std::size_t i = 0; i < in_.size() && kernel_.ends != Ends::first; ++i) {
      compare(in_[i], in_gradients_[i]);
    }
    for (std::size_t i = 0; i < weights_.size(); ++i) compare(weights_[i], weight_gradients_[i]);
    CHECK(largest_ > 1e-3);  // so that there is something to compare
    return furthest_ / largest_;
  }

 private:
  Tensor factors(const Tensor& out) const {
    Tensor drawn(out.rows, out.columns);
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      drawn.values[i] = draw(11, Drawn::target, cell_.slice, 0, i);
    }
    return drawn;
  }

  LayerRun run(SliceMemory& slices) const { return {numbers_, cell_, weights_, slices}; }

  double value() {
    SliceMemory slices;
    double sum = 0;
    for (cell_.slice = 0; cell_.slice < cell_.slices; ++cell_.slice) {
      Tensors kept;
      const Tensor out = kernel_.forward(run(slices), in_[cell_.slice], kept);
      const Tensor times = factors(out);
      for (std::size_t i = 0; i < out.values.size(); ++i) sum += times.values[i] * out.values[i];
    }
    return sum;
  }

  void find_gradients() {
    SliceMemory slices;
    std::vector<Tensors> kept(cell_.slices);
    Tensors above(cell_.slices);
    for (cell_.slice = 0; cell_.slice < cell_.slices; ++cell_.slice) {
      above[cell_.slice] =
          factors(kernel_.forward(run(slices), in_[cell_.slice], kept[cell_.slice]));
    }
    in_gradients_.resize(cell_.slices);
    for (const Tensor& weight : weights_)
      weight_gradients_.emplace_back(weight.rows, weight.columns);
    for (cell_.slice = cell_.slices; cell_.slice-- > 0;) {
      Tensors& own = kept[cell_.slice];
      in_gradients_[cell_.slice] = kernel_.input_gradient(run(slices), above[cell_.slice], own);
      kernel_.weight_gradient(run(slices), own, weight_gradients_);
    }
  }

  void compare(Tensor& at, const Tensor& gradient) {
    REQUIRE(gradient.values.size() == at.values.size());
    for (std::size_t i = 0; i < at.values.size(); ++i) {
      const double here = at.values[i];
      at.values[i] = here + step_;
      const double above = value();
      at.values[i] = here - step_;
      const double slope = (above - value()) / (2 * step_);
      at.values[i] = here;
      largest_ = std::max(largest_, std::abs(slope));
      furthest_ = std::max(furthest_, std::abs(slope - gradient.values[i]));
    }
  }

  const KernelEntry& kernel_;
  LayerNumbers numbers_;
  KernelCell cell_;
  Tensors weights_;
  Tensors in_;
  Tensors in_gradients_;
  Tensors weight_gradients_;
  double step_ = 1e-5;
  double largest_ = 0;
  double furthest_ = 0;
};

LayerNumbers all_numbers(const LayerSpec& spec) { return LayerNumbers(all_numbers_of(spec)); }

double gradient_error(const LayerSpec& spec, const KernelCell& cell, double step) {
  return Trial(*find_named(kernel_entries(), spec.kind), all_numbers(spec), cell).error(step);
}

/// Checks a kind with the numbers of `usual`, and with those of each variant over them.
void check_gradients(const char* kind, const NamedNumbers& usual, const KernelCell& cell,
                     std::vector<NamedNumbers> variants = {}, double step = 1e-5) {
  variants.push_back({});
  for (const NamedNumbers& variant : variants) {
    LayerSpec spec{kind, usual, ""};
    std::string title = kind;
    for (const auto& [name, value] : variant) {
      spec.numbers[name] = value;
      title += " " + name + " " + std::to_string(value);
    }
    CAPTURE(title);
    CHECK(gradient_error(spec, cell, step) < 1e-6);
  }
}

const KernelCell tokens{.examples = 2, .tokens = 5};
const KernelCell sliced{.examples = 2, .tokens = 2, .slices = 3};
const KernelCell images{.examples = 3};

}  // namespace

// Central differences with a step of 1e-5 are right to about 1e-10 in doubles; gradients must agree
// with them to 1e-6 of the largest.
TEST_CASE("kernels: gradients of layers of tokens are those that differences show") {
  check_gradients("norm", {{"hidden", 6}}, tokens, {{{"bias", 1}}});
  check_gradients("mlp", {{"hidden", 4}, {"intermediate", 6}}, tokens,
                  {{{"gated", 1}}, {{"bias", 1}}, {{"gated", 1}, {"bias", 1}}, {{"dropout", 0.3}}});
  check_gradients("embedding", {{"vocab", 5}, {"hidden", 3}}, tokens,
                  {{{"positions", 7}}, {{"dropout", 0.4}}});
  check_gradients("head", {{"vocab", 5}, {"hidden", 3}}, tokens, {{{"bias", 1}}, {{"tied", 1}}});
}

// Differences are too small to change which experts are chosen.
TEST_CASE("kernels: gradients of a mixture of experts are those that differences show") {
  check_gradients("moe", {{"hidden", 4}, {"experts", 3}, {"chosen", 2}, {"expert_intermediate", 5}},
                  tokens,
                  {{{"gated", 0}},
                   {{"chosen", 1}},
                   {{"shared_intermediate", 3}},
                   {{"shared_intermediate", 3}, {"shared_gate", 1}}});
}

TEST_CASE("kernels: gradients of latent attention are those that differences show") {
  const NamedNumbers sizes{{"hidden", 5}, {"heads", 2}, {"kv_lora_rank", 3},
                           {"nope", 2},   {"rope", 2},  {"value", 3}};
  check_gradients("mla", sizes, tokens,
                  {{{"q_lora_rank", 4}}, {{"causal", 0}}, {{"flash", 0}}, {{"value", 6}}});
  check_gradients("mla", sizes, sliced, {{{"q_lora_rank", 4}}});
}

// Each token has the shares of its two experts, which add up to one.
TEST_CASE("kernels: a mixture of equal experts is one of them") {
  const LayerSpec spec{
      "moe", {{"hidden", 4}, {"experts", 3}, {"chosen", 2}, {"expert_intermediate", 5}}, ""};
  const LayerKindEntry& kind = *find_named(layer_kind_entries(), spec.kind);
  const LayerNumbers numbers(settled_numbers(kind.name, kind.parameters, spec.numbers));
  const KernelEntry& kernel = *find_named(kernel_entries(), spec.kind);
  Tensors weights = initial_weights(kernel.weights(numbers), 1, 0);
  for (std::size_t expert = 1; expert < 3; ++expert) {
    weights[1 + 2 * expert] = weights[1];
    weights[2 + 2 * expert] = weights[2];
  }
  const LayerNumbers one(
      {{"hidden", 4.0}, {"intermediate", 5.0}, {"gated", 1.0}, {"bias", 0.0}, {"dropout", 0.0}});
  const Tensor in = drawn_numbers(tokens, Columns::tokens, 4, Drawn::number);
  SliceMemory slices;
  Tensors kept, kept_by_one;
  const Tensor out = kernel.forward({numbers, tokens, weights, slices}, in, kept);
  const Tensors own{weights[1], weights[2]};
  const Tensor right =
      find_named(kernel_entries(), "mlp")->forward({one, tokens, own, slices}, in, kept_by_one);
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    CHECK(out.values[i] == doctest::Approx(right.values[i]).epsilon(1e-12));
  }
}

TEST_CASE("kernels: gradients of attention are those that differences show, with every flag") {
  check_gradients("attention", {{"hidden", 6}, {"heads", 2}}, tokens,
                  {{{"causal", 0}},
                   {{"window", 2}},
                   {{"flash", 0}},
                   {{"dropout", 0.3}},
                   {{"dropout", 0.3}, {"flash", 0}, {"kv_heads", 1}},
                   {{"heads", 4}, {"kv_heads", 2}, {"head_dim", 2}},
                   {{"qkv_bias", 1}, {"out_bias", 1}},
                   {{"qk_norm", 1}},
                   {{"qk_norm", 1}, {"qkv_bias", 1}, {"kv_heads", 1}}});
}

// The value is that of all slices together, so the first slice's keys have gradients from the last.
TEST_CASE("kernels: gradients go from later slices of a sequence to earlier ones") {
  check_gradients(
      "attention", {{"hidden", 6}, {"heads", 2}}, sliced,
      {{{"flash", 0}}, {{"window", 3}}, {{"kv_heads", 1}, {"qk_norm", 1}}, {{"dropout", 0.3}}});
  check_gradients("embedding", {{"vocab", 5}, {"hidden", 3}, {"positions", 6}}, sliced);
  check_gradients("head", {{"vocab", 5}, {"hidden", 3}}, sliced);
}

TEST_CASE("kernels: gradients of layers of images are those that differences show") {
  const std::vector<NamedNumbers> flags{
      {{"relu", 1}},       {{"bias", 1}},
      {{"batch_norm", 1}}, {{"bias", 1}, {"batch_norm", 1}, {"relu", 1}},
      {{"stride", 2}},     {{"stride", 3}, {"groups", 2}},
      {{"kernel", 2}},     {{"kernel", 1}}};
  const NamedNumbers sizes{
      {"channels_in", 4}, {"channels_out", 2}, {"height", 5}, {"width", 4}, {"kernel", 3}};
  check_gradients("conv", sizes, images, flags);
  NamedNumbers mixed = sizes;
  mixed["kernels"] = 3;
  check_gradients("conditional_conv", mixed, images, flags);
  check_gradients("image_map", {{"channels_in", 2}, {"height", 4}, {"width", 6}, {"scale", 0.5}},
                  images, {{{"keeps_input", 0}}, {{"scale", 1.0 / 3}, {"height", 6}}});
  check_gradients("classifier", {{"channels", 3}, {"classes", 4}, {"height", 2}, {"width", 3}},
                  images);
}

// A step of 1e-7 is too small to take an input of a ReLU across zero, or to change the largest
// value of a window.
TEST_CASE("kernels: gradients of cells of AmoebaNet are those that differences show") {
  const NamedNumbers sizes{
      {"channels_before", 3}, {"channels_in", 2}, {"channels", 4}, {"height", 4}, {"width", 3}};
  for (const char* kind : {"amoebanet_normal", "amoebanet_reduction"}) {
    check_gradients(kind, sizes, {.examples = 2},
                    {{{"channels_before", 4}}, {{"after_reduction", 1}}}, 1e-7);
  }
}

TEST_CASE(
    "kernels: cells of AmoebaNet have the weights and the outputs that they are priced with") {
  CellShape shape = small_convolution_shape();
  shape.activation_size = 1;
  for (const LayerSpec& spec : small_amoebanet()) {
    CAPTURE(spec.kind);
    const KernelEntry& kernel = *find_named(kernel_entries(), spec.kind);
    const LayerWork work = work_of(spec, shape);
    double weights = 0;
    for (const WeightSpec& one : kernel.weights(all_numbers(spec))) {
      weights += static_cast<double>(one.rows * one.columns);
    }
    CHECK(weights == work.parameters);
    if (kernel.ends == Ends::last) continue;
    const auto rows = static_cast<double>(kernel.rows_out(all_numbers(spec)));
    CHECK(rows * shape.microbatch == work.output_bytes);
  }
}

// Without kernels and gains a convolution gives its shift: 2 where the newer image enters and 3
// where the older one does, 0 elsewhere. Pools leave what is equal everywhere. The sums are worked
// out by hand from the tables.
TEST_CASE("kernels: a cell of AmoebaNet sums the states of its table") {
  const auto states_of = [](const char* kind) {
    const LayerSpec spec{
        kind,
        {{"channels_before", 2}, {"channels_in", 5}, {"channels", 4}, {"height", 3}, {"width", 5}},
        ""};
    const KernelEntry& kernel = *find_named(kernel_entries(), kind);
    const LayerNumbers numbers = all_numbers(spec);
    Tensors weights;
    for (const WeightSpec& one : kernel.weights(numbers))
      weights.emplace_back(one.rows, one.columns);
    weights[2].values.assign(4, 2);
    weights[5].values.assign(4, 3);
    const KernelCell cell{.examples = 1};
    const Tensor in = drawn_numbers(cell, Columns::images, kernel.rows_in(numbers), Drawn::number);
    SliceMemory slices;
    Tensors kept;
    const Tensor out = kernel.forward({numbers, cell, weights, slices}, in, kept);
    const std::size_t passed = kernel.rows_passed(numbers);
    const std::size_t joined = out.rows - passed;
    const bool goes_on = std::equal(in.values.begin(), in.values.begin() + 5 * 15,
                                    out.values.begin() + static_cast<std::ptrdiff_t>(joined));
    CHECK(goes_on);
    const std::size_t rows = std::string_view(kind) == "amoebanet_normal" ? 4 * 15 : 4 * 6;
    std::vector<double> states;
    for (std::size_t row = 0; row < joined; row += rows) {
      for (std::size_t i = row; i < row + rows; ++i)
        CHECK(out.values[i] == doctest::Approx(out.values[row]));
      states.push_back(std::round(out.values[row]));
    }
    return states;
  };
  CHECK(states_of("amoebanet_normal") == std::vector<double>{2, 3, 0, 3});
  CHECK(states_of("amoebanet_reduction") == std::vector<double>{4, 7, 4});
}

// Windows of 3 x 3 at every second place of 1 2 3 / 4 5 6 / 7 8 9, cut off at edges.
TEST_CASE("kernels: pools take the places of a window inside the image") {
  Tensor image(9, 1);
  std::iota(image.values.begin(), image.values.end(), 1);
  Pooling pooling{.height = 3, .width = 3, .window = 3, .stride = 2, .before = 1};
  Tensor chosen;
  CHECK(pooled(pooling, image, chosen).values == std::vector<double>{5, 6, 8, 9});
  CHECK(chosen.values == std::vector<double>{4, 5, 7, 8});
  pooling.largest = false;
  CHECK(pooled(pooling, image, chosen).values == std::vector<double>{3, 4, 6, 7});
}

TEST_CASE("kernels: a model that ends without a loss is led to a drawn target") {
  for (const double of_images : {0.0, 1.0}) {
    const LayerNumbers numbers({{"rows", 4.0}, {"images", of_images}});
    CHECK(Trial(distance_kernel, numbers, of_images == 1 ? images : sliced).error() < 1e-6);
  }
}

// A 3 x 3 kernel of ones over an image of ones counts the places inside: 4 in corners, 6 at edges,
// 9 in the middle; a stride of 2 leaves the corners of 3 x 3.
TEST_CASE("kernels: convolutions pad edges with zeros and leave every n-th place") {
  for (const double stride : {1.0, 2.0}) {
    const LayerNumbers numbers({{"channels_in", 1},
                                {"channels_out", 1},
                                {"height", 3},
                                {"width", 3},
                                {"kernel", 3},
                                {"stride", stride},
                                {"groups", 1},
                                {"bias", 0},
                                {"relu", 0},
                                {"batch_norm", 0}});
    Tensor ones(9, 1);
    std::fill(ones.values.begin(), ones.values.end(), 1);
    const Tensors weights{ones};
    SliceMemory slices;
    Tensors kept;
    const Tensor out = find_named(kernel_entries(), "conv")
                           ->forward({numbers, KernelCell{}, weights, slices}, ones, kept);
    CHECK(out.values == (stride == 1 ? std::vector<double>{4, 6, 4, 6, 9, 6, 4, 6, 4}
                                     : std::vector<double>{4, 4, 4, 4}));
  }
}

// Of 4096 values a quarter is dropped, within 5 standard deviations of 0.68 %; the others are 4/3.
TEST_CASE("kernels: dropout zeroes its share of values, others in each layer and microbatch") {
  const LayerNumbers numbers({{"dropout", 0.25}});
  SliceMemory slices;
  const auto outputs = [&](const KernelCell& cell, std::uint32_t layer) {
    Tensor ones(32, columns_of(cell, Columns::tokens));
    std::fill(ones.values.begin(), ones.values.end(), 1);
    drop_out({numbers, cell, {}, slices, layer}, ones);
    return ones;
  };
  const KernelCell cell{.examples = 2, .tokens = 64};
  const Tensor first = outputs(cell, 3);
  const auto dropped = std::count(first.values.begin(), first.values.end(), 0.0);
  CHECK(std::abs(static_cast<double>(dropped) / 4096 - 0.25) < 5 * 0.0068);
  CHECK(std::count(first.values.begin(), first.values.end(), 1 / 0.75) == 4096 - dropped);
  CHECK(outputs(cell, 3).values == first.values);
  CHECK(outputs(cell, 4).values != first.values);
  CHECK(outputs({.microbatch = 1, .examples = 2, .tokens = 64}, 3).values != first.values);
  // The last slice of the first example.
  const Tensor slice = outputs({.examples = 2, .tokens = 16, .slice = 3, .slices = 4}, 3);
  CHECK(std::equal(slice.values.begin(), slice.values.begin() + 16 * 32,
                   first.values.begin() + 48 * 32));
}

TEST_CASE("kernels: a slice sees what a whole sequence would show it") {
  const LayerSpec spec{"attention", {{"hidden", 6}, {"heads", 2}}, ""};
  const LayerKindEntry& kind = *find_named(layer_kind_entries(), spec.kind);
  const LayerNumbers numbers(settled_numbers(kind.name, kind.parameters, spec.numbers));
  const KernelEntry& kernel = *find_named(kernel_entries(), spec.kind);
  const Tensors weights = initial_weights(kernel.weights(numbers), 1, 0);
  const auto forward = [&](const KernelCell& cell, SliceMemory& slices) {
    Tensors kept;
    return kernel.forward({numbers, cell, weights, slices},
                          drawn_numbers(cell, Columns::tokens, 6, Drawn::number), kept);
  };
  SliceMemory slices;
  const Tensor whole = forward({.examples = 2, .tokens = 6}, slices);
  SliceMemory memory;
  for (std::uint32_t slice = 0; slice < 3; ++slice) {
    const Tensor part = forward({.examples = 2, .tokens = 2, .slice = slice, .slices = 3}, memory);
    for (std::size_t column = 0; column < 4; ++column) {
      const std::size_t there = column / 2 * 6 + slice * 2 + column % 2;
      for (std::size_t row = 0; row < 6; ++row) {
        CHECK(part.values[column * 6 + row] ==
              doctest::Approx(whole.values[there * 6 + row]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("kernels: what is drawn does not depend on how sequences are cut") {
  const KernelCell whole{.microbatch = 4, .examples = 2, .tokens = 6};
  const Tensor all = drawn_tokens(whole, 1000);
  const KernelCell last{.microbatch = 4, .examples = 2, .tokens = 2, .slice = 2, .slices = 3};
  CHECK(drawn_tokens(last, 1000).values ==
        std::vector<double>{all.values[4], all.values[5], all.values[10], all.values[11]});
  KernelCell other = whole;
  other.microbatch = 5;
  CHECK(drawn_tokens(other, 1000).values != all.values);
}

TEST_CASE("kernels: layers that are not run are named, with what is in the way") {
  const auto reason = [](LayerSpec layer, CellShape shape = small_transformer_shape()) {
    JobLayers layers;
    layers.stages = {{std::move(layer)}};
    layers.shape = shape;
    return why_not_layers(layers).value_or("run");
  };
  const LayerSpec mlp{"mlp", {{"hidden", 8}, {"intermediate", 8}}, ""};
  const auto with = [&](const char* name, double value) {
    LayerSpec layer = mlp;
    layer.numbers[name] = value;
    return layer;
  };
  CHECK(reason(mlp) == "run");
  CHECK(reason(with("dropout", 0.1)) == "run");
  CHECK(reason({"head", {{"hidden", 8}, {"vocab", 8}, {"tied", 1}}, ""}) ==
        "a head that is tied, in a model that does not start with its embedding: layer 0 (head)");
  CHECK(reason({"measured", {{"forward_us", 1}}, ""}) == "layers of kind \"measured\"");
  CHECK(reason({"moe",
                {{"hidden", 8},
                 {"expert_intermediate", 8},
                 {"experts", 2},
                 {"chosen", 1},
                 {"capacity_factor", 1.5}},
                ""}) ==
        "some layers of kind \"moe\": \"capacity_factor\" above 0: the moe kernel "
        "drops no token; set it to 0");
  CellShape group = small_transformer_shape();
  group.tensor = 2;
  CHECK(reason(mlp, group) == "groups of devices that share a layer");
  CellShape slices = small_transformer_shape();
  slices.slices = 2;
  CHECK(reason({"attention", {{"hidden", 8}, {"heads", 2}, {"causal", 0}}, ""}, slices) ==
        "some layers of kind \"attention\": \"causal\" 0: a slice would attend to slices that have "
        "not run");
  CHECK(reason(small_convolution_net()[0], slices) ==
        "slices of images, for layers of kind \"conv\"");
}

TEST_CASE("kernels: layers that do not fit together are named") {
  JobLayers layers;
  layers.shape = small_transformer_shape();
  layers.stages = {{{"mlp", {{"hidden", 8}, {"intermediate", 8}}, ""}},
                   {{"mlp", {{"hidden", 4}, {"intermediate", 8}}, ""}}};
  CHECK(why_not_layers(layers) ==
        "layers that do not fit together: layer 0 (mlp) produces 8 rows, layer 1 (mlp) takes 4");
  layers.stages[1] = {{"embedding", {{"hidden", 8}, {"vocab", 8}}, ""}};
  CHECK(why_not_layers(layers) == "token ids after the start of a model: layer 1 (embedding)");
  std::swap(layers.stages[0], layers.stages[1]);
  layers.stages[1].insert(layers.stages[1].begin(), {"head", {{"hidden", 8}, {"vocab", 8}}, ""});
  CHECK(why_not_layers(layers) == "a loss before the end of a model: layer 1 (head)");
}

}  // namespace penstock::testing
