#include <optional>

#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/stages/gpu_products.hpp"

namespace penstock {
namespace {

/// Rows, columns and inner size: products of transformer layers, from small to those that fill the
/// device; some whose last wave of tiles leaves most SMs without one.
std::vector<GpuProductShape> product_shapes(const CheckRun& run) {
  if (run.quick) return {{64, 64, 64, 0}};
  return {{512, 512, 512, 0},     {1024, 1024, 1024, 0}, {2048, 2048, 2048, 0},
          {4096, 4096, 4096, 0},  {4096, 512, 4096, 0},  {16384, 2048, 4096, 0},
          {4096, 2048, 16384, 0}, {1536, 1536, 4096, 0}, {2304, 2304, 2048, 0},
          {640, 4096, 512, 0}};
}

/// Several in a row on the stream of rank 0, by events of the host: launches are ahead.
std::vector<double> product_times(const CheckRun& run, const GpuDevice& device,
                                  GpuMatrixProduct& product) {
  constexpr std::uint32_t in_a_row = 10;
  std::vector<double> times = timed(run, device, 0, [&](GpuStream stream) {
    for (std::uint32_t i = 0; i < in_a_row; ++i) product.launch(stream);
  });
  for (double& time : times) time /= in_a_row;
  return times;
}

void probe_product(const CheckRun& run, const GpuDevice& device, GpuProductShape shape) {
  shape.sms = device.sms_of_rank(0);
  const std::string text = "k=" + std::to_string(shape.inner) + " m=" + std::to_string(shape.rows) +
                           " n=" + std::to_string(shape.columns) +
                           " sms=" + std::to_string(shape.sms);
  std::optional<GpuMatrixProduct> made;
  try {
    made.emplace(run.calls, shape);
  } catch (const GpuError& error) {  // the library may have no algorithm for it
    run.output.facts("product",
                     {{"shape", json(text)}, {"fault", json(std::string(error.what()))}});
    return;
  }
  GpuMatrixProduct& product = *made;
  const std::vector<double> times = product_times(run, device, product);
  run.output.times({"product", "", text, "solo", times});
  const double flops = 2.0 * shape.rows * shape.columns * shape.inner;
  const double error = product.error();
  run.output.facts("product",
                   {{"shape", json(text)},
                    {"TFLOP_per_s", json(flops / middle(times) / 1e3)},
                    {"algorithm", json(std::to_string(product.algorithm()))},
                    {"error", json(error)},
                    {"most_error", json(most_product_error)}},
                   error > most_product_error);
}

}  // namespace

void check_products(const CheckRun& run) {
  const std::string why_not = run.calls.why_no_products();
  run.output.facts("cublaslt", {{"why_not", json(why_not)}});
  if (!why_not.empty()) return;
  run.output.facts("cublaslt version",
                   {{"version", json(std::uint64_t{run.calls.product_library()})},
                    {"file", json(std::string(run.calls.product_library_file()))}});
  for (const std::uint32_t ranks : rank_counts(run)) check_body(run, GpuWork::products, ranks);
  for (const std::uint32_t ranks : {1U, 2U, 4U, 8U, 16U}) {
    // A part for one rank alone would lack some of the SMs.
    const GpuDevice device(run.calls, ranks, 0, {}, ranks == 1 ? "one rank has all SMs" : "");
    if (ranks > 1 && !device.is_partitioned()) continue;  // nothing holds them to their share
    for (const GpuProductShape& shape : product_shapes(run)) probe_product(run, device, shape);
  }
}

}  // namespace penstock
