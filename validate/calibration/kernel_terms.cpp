#include "validate/calibration/kernel_terms.hpp"

#include <stdexcept>

#include "hardware_models/layers/registry.hpp"
#include "sim/base/named.hpp"
#include "validate/probes/registry.hpp"
#include "validate/store/layer_point.hpp"

namespace penstock {
namespace {

/// Work of a pass of a layer.
struct PassWork {
  double flops = 0;
  double product_bytes = 0;
  double other_bytes = 0;
};

/// Whether a kernel belongs to the pass of this name; B is I and W.
bool is_of(std::string_view pass, Pass kernel) {
  if (kernel == Pass::forward) return pass == "forward";
  if (pass == "backward") return true;
  return pass == (kernel == Pass::backward_input ? "backward_input" : "backward_weight");
}

PassWork work_of_pass(const LayerWork& work, std::string_view pass) {
  PassWork sums;
  for (const Kernel& kernel : work.kernels) {
    if (!is_of(pass, kernel.pass)) continue;
    sums.flops += kernel.flops * kernel.count;
    const bool is_product = kernel.kind != KernelKind::vector;
    (is_product ? sums.product_bytes : sums.other_bytes) += kernel.bytes * kernel.count;
  }
  return sums;
}

std::vector<double> layer_terms(std::string_view kind, std::string_view pass,
                                const NamedNumbers& sizes) {
  const auto layer = layer_point({std::string(kind), std::string(pass), shape_text(sizes), "solo"});
  if (!layer) throw std::logic_error("no pass of a layer");
  const LayerWork work =
      work_of({.kind = layer->kind, .numbers = layer->numbers}, cell_shape(*layer));
  const PassWork sums = work_of_pass(work, pass);
  return {1, sums.flops, sums.product_bytes, sums.other_bytes};
}

}  // namespace

std::vector<std::string> term_names(std::string_view kernel, std::string_view pass) {
  if (!pass.empty()) return {"start", "FLOPs", "bytes of products", "other bytes"};
  if (kernel == "gemm") return {"start", "MNK", "NK", "MK", "MN"};
  return {"start", std::string(find_named(probe_entries(), kernel)->sizes.front().name)};
}

std::vector<double> terms_at(std::string_view kernel, std::string_view pass,
                             const NamedNumbers& sizes) {
  if (!pass.empty()) return layer_terms(kernel, pass, sizes);
  if (kernel != "gemm") return {1, sizes.begin()->second};
  const double m = sizes.at("m"), n = sizes.at("n"), k = sizes.at("k");
  return {1, m * n * k, n * k, m * k, m * n};
}

}  // namespace penstock
