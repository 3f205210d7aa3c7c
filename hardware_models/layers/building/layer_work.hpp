#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware_models/spec/parameters.hpp"
#include "sim/model/work.hpp"

namespace penstock {

/// What one layer has, keeps and runs. Bytes, kernels and collectives are those of one device and
/// one cell; parameters and FLOPs are those of the whole layer.
struct LayerWork {
  double parameters = 0;
  double active_parameters = 0;       // that one token meets
  double held_parameters = 0;         // on one device, without experts
  double held_expert_parameters = 0;  // on one device
  double tied_parameters = 0;       // of those held, what an embedding on the same device holds too
  double forward_flops = 0;         // of a cell, over all devices that share it
  double backward_flops = 0;        // I and W
  double full_attention_flops = 0;  // what forward_flops has more where a mask saves nothing

  double input_bytes = 0;              // all that full recomputation keeps of a layer
  double output_bytes = 0;             // what goes on to the next layer
  double kept_bytes = 0;               // from F to the end of B, input included
  double kept_selective_bytes = 0;     // the same with selective recomputation
  std::optional<double> weight_bytes;  // of these, what W reads: inputs of products; else all
  double pending_weight_bytes = 0;     // gradients of outputs that wait for W
  double workspace_bytes = 0;          // while any pass runs

  std::vector<Kernel> kernels;
  std::vector<Collective> collectives;

  // Times of a cell, where the layer is known by them and not by its kernels.
  std::optional<double> forward_us;
  std::optional<double> backward_us;
  std::optional<double> backward_input_us;
  std::optional<double> backward_weight_us;
};

/// What a number is otherwise, where not giving it means something of its own.
constexpr double absent = std::numeric_limits<double>::quiet_NaN();

/// A number that says whether something is there.
constexpr Parameter flag(std::string_view name, std::string_view summary, double otherwise) {
  return {name, summary, otherwise, 0, 1};
}

/// The numbers of a layer, defaults filled in.
class LayerNumbers {
 public:
  explicit LayerNumbers(std::map<std::string, double, std::less<>> values)
      : values_(std::move(values)) {}

  double operator[](std::string_view name) const;
  bool is(std::string_view name) const { return (*this)[name] != 0; }
  /// The number, unless it is absent.
  std::optional<double> given(std::string_view name) const;
  /// What each device of a group of `degree` has of it. Throws InputError unless it comes out even.
  double share(std::string_view name, double degree, std::string_view group = "tensor") const;

 private:
  std::map<std::string, double, std::less<>> values_;
};

}  // namespace penstock
