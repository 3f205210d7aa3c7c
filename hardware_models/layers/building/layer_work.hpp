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
  double kept_selective_bytes = 0;  // with selective recomputation
  std::optional<double>
      weight_bytes;                 // of kept_bytes, what W reads: inputs of products; default all
  double pending_weight_bytes = 0;  // gradients of outputs kept for W
  double workspace_bytes = 0;       // while any pass runs

  std::vector<Kernel> kernels;
  std::vector<Collective> collectives;

  // Times of a cell, for a layer given by times instead of kernels.
  std::optional<double> forward_us;
  std::optional<double> backward_us;
  std::optional<double> backward_input_us;
  std::optional<double> backward_weight_us;
};

/// Default of a parameter whose absence has a meaning of its own.
constexpr double absent = std::numeric_limits<double>::quiet_NaN();

/// A parameter that is 0 or 1.
constexpr Parameter flag(std::string_view name, std::string_view summary, double otherwise) {
  return {name, summary, otherwise, 0, 1};
}

/// The parameters of a layer, defaults filled in.
class LayerNumbers {
 public:
  explicit LayerNumbers(std::map<std::string, double, std::less<>> values)
      : values_(std::move(values)) {}

  double operator[](std::string_view name) const;
  bool is(std::string_view name) const { return (*this)[name] != 0; }
  /// The parameter, unless it is absent.
  std::optional<double> given(std::string_view name) const;
  /// One device's share in a group of `degree`. Throws InputError unless it divides evenly.
  double share(std::string_view name, double degree, std::string_view group = "tensor") const;

 private:
  std::map<std::string, double, std::less<>> values_;
};

}  // namespace penstock
