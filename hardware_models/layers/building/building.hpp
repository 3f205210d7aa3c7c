#pragma once

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "hardware_models/spec/model_spec.hpp"
#include "sim/base/parameters.hpp"
#include "sim/model/work.hpp"

namespace penstock {

/// An operator inside a layer that selective recomputation can repeat alone: the kernels and
/// collectives of F from one place in a layer's lists to another, and what is not kept then. The
/// same name may stand for several places.
struct NamedOperator {
  std::string_view name;
  std::size_t kernel = 0, kernels_end = 0;
  std::size_t collective = 0, collectives_end = 0;
  double kept_bytes = 0;
  double uncoded_bytes = 0;  // of them
};

/// The sizes, memory and kernels of one layer. Bytes, kernels and collectives are per device and
/// cell; parameters and FLOPs are those of the whole layer.
struct LayerWork {
  double parameters = 0;
  double active_parameters = 0;       // used by one token
  double held_parameters = 0;         // on one device, without experts
  double held_expert_parameters = 0;  // on one device
  double tied_parameters = 0;         // of those held, shared with an embedding on the same device
  double forward_flops = 0;           // of a cell, over all devices that share it
  double backward_flops = 0;          // I and W
  double full_attention_flops = 0;    // what forward_flops would add without a mask

  double input_bytes = 0;           // what full recomputation keeps of a layer
  double output_bytes = 0;          // input of the next layer
  double kept_bytes = 0;            // from F to the end of B, input included
  double kept_selective_bytes = 0;  // with selective recomputation, of a block
  // Of both, what codecs leave alone: masks, indices, sums and the copy of logits in fp32, values
  // in a low precision.
  double uncoded_bytes = 0, uncoded_selective_bytes = 0;
  std::optional<double>
      weight_bytes;                 // of kept_bytes, what W reads: inputs of products; default all
  double pending_weight_bytes = 0;  // gradients of outputs kept for W
  double workspace_bytes = 0;       // while any pass runs

  std::vector<Kernel> kernels;
  std::vector<Collective> collectives;
  std::vector<Collective> handing_on;  // of its output, where the layer ends at an exchange
  std::vector<NamedOperator> operators;

  // Times of a cell, for a layer given by times instead of kernels.
  std::optional<double> forward_us;
  std::optional<double> backward_us;
  std::optional<double> backward_input_us;
  std::optional<double> backward_weight_us;
};

/// Marks the last product of F, what follows it, and the collective that its sum leaves by: no
/// backward reads what they make.
void close_with_product(LayerWork& work);

/// Bytes that W needs of those kept.
inline double needed_by_weight(const LayerWork& work) {
  return work.weight_bytes.value_or(work.kept_bytes);
}

/// Of bytes that are kept in this share of the model's precision, those that codecs leave alone.
inline double narrowed(double share, double bytes) { return share < 1 ? bytes : 0; }

/// Appends a part to a block: sizes add up, but the block has one input and one output, and parts
/// run in turn. Named operators stay behind.
void append(LayerWork& block, LayerWork part);

/// Default of a parameter whose absence has a meaning of its own.
constexpr double absent = std::numeric_limits<double>::quiet_NaN();

/// A parameter that is 0 or 1.
constexpr Parameter flag(std::string_view name, std::string_view summary, double otherwise) {
  return {name, summary, otherwise, 0, 1};
}

/// The tokens of layers that run for others than those of the cell.
inline constexpr Parameter patches_of_layer{"tokens", "patches of an example's pictures",
                                            std::nullopt};

/// The parameters of a layer.
class LayerNumbers : public SettledNumbers {
 public:
  using SettledNumbers::SettledNumbers;

  bool is(std::string_view name) const { return (*this)[name] != 0; }
  /// The parameter, unless it is absent or the kind has no such one.
  std::optional<double> given(std::string_view name) const;
  /// One device's share in a group of `degree`. Throws InputError unless it divides evenly.
  double share(std::string_view name, double degree, std::string_view group = "tensor") const;
};

/// Batched matrix products on one device: rows x inner by inner x columns, `count` at once.
struct MatrixProduct {
  double rows = 0;
  double inner = 0;
  double columns = 0;
  double batch = 1;
};

/// A product reads both factors and writes its result, once each.
Kernel matrix_kernel(Pass pass, const MatrixProduct& product, double number_bytes);

/// A memory-bound kernel.
Kernel vector_kernel(Pass pass, double bytes);

/// Adds a memory-bound kernel for F and one for I.
void add_vector(LayerWork& work, double forward_bytes, double backward_bytes);

/// An operator that begins with the next kernel or collective of a layer.
NamedOperator begin_operator(const LayerWork& work, std::string_view name);
/// Ends it with the last one, and adds it to the layer. `kept_bytes` of the layer's are not kept
/// when it is recomputed, nor what has become uncoded since its begin.
void end_operator(LayerWork& work, NamedOperator one, double kept_bytes);

/// Adds a collective of a group; the bytes are those of the whole tensor.
void add_collective(LayerWork& work, Pass pass, CollectiveKind kind, double bytes,
                    Group group = Group::tensor);

/// Adds a product with weights: F, I with the transposed weights, W with the transposed input. They
/// include the bias and its gradient.
void add_dense(LayerWork& work, const MatrixProduct& product, double number_bytes);

/// Adds the model FLOPs of applying `weights` to `tokens`.
void count_dense_flops(LayerWork& work, double weights, double tokens);

/// Adds the residual sum, after dropout if there is any.
void add_residual(LayerWork& work, const CellShape& shape, double hidden, bool dropout);

/// The tokens of a cell over all devices that share it.
double tokens_of_all(const CellShape& shape);

/// One device's share of rows padded to a multiple of the devices, as vocabularies are.
double padded_share(double rows, double devices);

/// One device's share of heads that several others share. With more devices than heads, several
/// devices hold the same one. Throws InputError, by the heads' name, where neither divides the
/// other.
double shared_heads(std::string_view name, double heads, double tensor);

/// Adds the collectives of a tensor group before products split by columns. With sequence
/// parallelism the input is all-gathered, and again for W, since it is not kept; without it each
/// device has the input and gradients are all-reduced.
void enter_tensor_group(LayerWork& work, const CellShape& shape, double numbers);

/// Adds the collectives of a group whose devices bring tensors of their own to products split by
/// columns: `bytes` is all of them together.
void gather_in(LayerWork& work, double bytes, Group group);

/// Adds the collectives after products split by rows, when each device has a partial sum and keeps
/// its share. `backward` is the pass in which the gradients arrive.
void scatter_in(LayerWork& work, double bytes, Group group, Pass backward = Pass::backward_input);

/// Adds the collectives after products split by rows, when each device has a partial sum.
/// `backward` is the pass in which the gradients arrive.
void leave_tensor_group(LayerWork& work, const CellShape& shape, double numbers,
                        Pass backward = Pass::backward_input);

/// Two dense layers with an activation between them, or several such networks that share tokens, on
/// one device.
struct FeedForward {
  double hidden = 1;
  double intermediate = 1;
  bool gated = false;  // the activation multiplies the two halves of the first layer's outputs
  double tokens = 0;
  double networks = 1;
};

/// The weights of one network, and the biases that it may have.
double weights_of(const FeedForward& network);
double biases_of(const FeedForward& network);

/// Adds kernels and what is kept between the dense layers; no model FLOPs, no input. `activation`
/// names the operator between the dense layers, whose output the second one reads; empty: none.
void add_feed_forward(LayerWork& work, const FeedForward& network, const CellShape& shape,
                      std::string_view activation = "");

}  // namespace penstock
