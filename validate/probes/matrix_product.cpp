#include <Eigen/Core>
#include <array>
#include <memory>

#include "sim/base/random.hpp"
#include "validate/machine/busy_kernel.hpp"
#include "validate/probes/registry.hpp"
#include "validate/probes/timing/probe_timing.hpp"

namespace penstock::matrix_product_file {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr std::array sizes{Parameter{"m", "rows of the product", std::nullopt, 1, 2048},
                           Parameter{"n", "columns of the product", std::nullopt, 1, 2048},
                           Parameter{"k", "inner dimension", std::nullopt, 1, 2048}};

/// Random values between -1 and 1: zeros have other timings on some machines.
MatrixXd random_matrix(Index rows, Index columns, std::uint32_t which) {
  MatrixXd matrix(rows, columns);
  for (Index i = 0; i < matrix.size(); ++i) {
    const auto bits = philox({static_cast<std::uint32_t>(i), which, 0, 0}, {1, 0});
    matrix.data()[i] = 2 * uniform(std::uint64_t{bits[0]} << 32 | bits[1]) - 1;
  }
  return matrix;
}

struct Product {
  MatrixXd left;
  MatrixXd right;
  MatrixXd result;
};

Sampler make(const NamedNumbers& of) {
  const auto m = static_cast<Index>(of.at("m"));
  const auto n = static_cast<Index>(of.at("n"));
  const auto k = static_cast<Index>(of.at("k"));
  const auto product = std::make_shared<Product>(
      Product{random_matrix(m, k, 0), random_matrix(k, n, 1), MatrixXd(m, n)});
  return repeated([product] { product->result.noalias() = product->left * product->right; },
                  thread_cpu_ns);
}

}  // namespace

constinit extern const ProbeEntry matrix_product_entry{
    "gemm", "matrix product of doubles, one thread", sizes, make};

}  // namespace penstock::matrix_product_file
