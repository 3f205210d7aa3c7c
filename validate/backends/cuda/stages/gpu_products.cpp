#include "validate/backends/cuda/stages/gpu_products.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

std::vector<Bf16> drawn_matrix(std::uint64_t count, std::uint64_t seed) {
  std::vector<Bf16> numbers(count);
  draw_numbers(numbers.data(), count, seed);
  return numbers;
}

GpuOwner<void> written_matrix(const GpuCalls& calls, const std::vector<Bf16>& numbers) {
  auto memory = make_memory(calls, numbers.size() * sizeof(Bf16));
  check(calls, calls.write(memory.get(), numbers.data(), numbers.size() * sizeof(Bf16)),
        "writing a matrix");
  return memory;
}

}  // namespace

void draw_numbers(Bf16* to, std::uint64_t count, std::uint64_t seed, double spread, double centre) {
  constexpr std::uint64_t period = 65'521;  // prime: neighbours of a matrix differ
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  std::uint64_t done = 0;
  for (; done < std::min(count, period); ++done) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const auto drawn = static_cast<float>(static_cast<double>(state >> 11) * 0x1p-52 - 1);
    const Bf16 share{static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(drawn) >> 16)};
    const double value = centre + spread * static_cast<double>(value_of(share));
    to[done] = bf16_of(static_cast<float>(value));
  }
  // Whole periods, twice as many each time: layers have a milliard of numbers.
  while (done < count) {
    const std::uint64_t more = std::min(done, count - done);
    std::copy_n(to, more, to + done);
    done += more;
  }
}

GpuProducts::GpuProducts(const GpuCalls& calls, std::uint32_t sms)
    : calls_(calls), sms_(sms), workspace_(nullptr, calls.free_memory) {
  const std::string why_not = calls.why_no_products();
  if (!why_not.empty()) throw GpuError("no matrix products: " + why_not);
  workspace_ = make_memory(calls, product_workspace);
}

GpuProduct GpuProducts::of(const LayerProduct<Bf16>& product) {
  const ProductForm& form = product.form;
  const Key key{product.rows, product.columns, product.inner, form.a_transposed, form.b_transposed,
                form.result,  form.batch,      form.a_step,   form.b_step,       form.c_step};
  const auto found = products_.find(key);
  if (found != products_.end()) return found->second.get();
  GpuProduct made = nullptr;
  check(calls_,
        calls_.make_product(&made, {product.rows, product.columns, product.inner, sms_, form}),
        "choosing a matrix product, its SMs:", sms_);
  return products_.try_emplace(key, made, calls_.free_product).first->second.get();
}

void GpuProducts::launch(GpuStream stream, const LayerProduct<Bf16>& product) {
  check(calls_,
        calls_.launch_product(stream, of(product),
                              {product.a, product.b, product.c, workspace_.get()}),
        "launching a matrix product");
}

std::uint64_t GpuProducts::algorithms() const {
  std::uint64_t hash = 0;
  for (const auto& [key, product] : products_) {
    hash = hash * 0x100000001b3ULL + calls_.product_algorithm(product.get());
  }
  return hash;
}

GpuMatrixProduct::GpuMatrixProduct(const GpuCalls& calls, const GpuProductShape& shape)
    : calls_(calls),
      numbers_a_(drawn_matrix(std::uint64_t{shape.rows} * shape.inner, 1)),
      numbers_b_(drawn_matrix(std::uint64_t{shape.inner} * shape.columns, 2)),
      products_(calls, shape.sms),
      a_(written_matrix(calls, numbers_a_)),
      b_(written_matrix(calls, numbers_b_)),
      c_(make_memory(calls, std::size_t{shape.rows} * shape.columns * sizeof(Bf16))),
      product_{shape.rows,
               shape.columns,
               shape.inner,
               shape.form,
               static_cast<const Bf16*>(a_.get()),
               static_cast<const Bf16*>(b_.get()),
               c_.get()} {
  products_.of(product_);
}

double GpuMatrixProduct::error() const {
  std::vector<Bf16> results(std::size_t{product_.rows} * product_.columns);
  check(calls_, calls_.read(results.data(), c_.get(), results.size() * sizeof(Bf16)),
        "reading a matrix");
  constexpr std::size_t samples = 257;  // prime: of all rows and columns
  double worst = 0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::size_t at = (sample * (results.size() / samples + 1)) % results.size();
    double sum = 0;
    double magnitudes = 0;
    for (std::size_t k = 0; k < product_.inner; ++k) {
      const Bf16 a = numbers_a_[at % product_.rows + k * product_.rows];
      const Bf16 b = numbers_b_[k + at / product_.rows * product_.inner];
      const double part = static_cast<double>(value_of(a)) * static_cast<double>(value_of(b));
      sum += part;
      magnitudes += std::abs(part);
    }
    const double off = std::abs(static_cast<double>(value_of(results[at])) - sum);
    const double share = magnitudes > 0 ? off / magnitudes : off;
    worst = std::isnan(share) ? HUGE_VAL : std::max(worst, share);
  }
  return worst;
}

}  // namespace penstock
