#include "validate/kernels/steps/matrix.hpp"

#include <algorithm>

namespace penstock {

Tensor stacked(std::span<const Tensor* const> parts) {
  std::size_t rows = 0;
  for (const Tensor* part : parts) rows += part->rows;
  Tensor all(rows, parts.front()->columns);
  double* to = all.values.data();
  for (std::size_t column = 0; column < all.columns; ++column) {
    for (const Tensor* part : parts) {
      to = std::copy_n(part->values.data() + column * part->rows, part->rows, to);
    }
  }
  return all;
}

Tensor rows_of(const Tensor& all, std::size_t first, std::size_t count) {
  Tensor some(count, all.columns);
  double* to = some.values.data();
  for (std::size_t column = 0; column < all.columns; ++column) {
    to = std::copy_n(all.values.data() + column * all.rows + first, count, to);
  }
  return some;
}

Tensor channel_means(const Tensor& images, std::size_t channels) {
  Tensor means(channels, images.columns);
  const auto places = eigen_index(images.rows / channels);
  matrix(means).reshaped() =
      matrix(images).reshaped(places, matrix(means).size()).colwise().mean().transpose();
  return means;
}

void add_values(const Tensor& numbers, Tensor& sum) {
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += numbers.values[i];
}

}  // namespace penstock
