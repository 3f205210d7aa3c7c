#include "validate/kernels/images/pooling.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// The rows or columns of a window inside an image.
struct Range {
  std::size_t first;
  std::size_t end;
  std::size_t size() const { return end - first; }
};

Range inside(const Pooling& pooling, std::size_t place, std::size_t side) {
  const std::size_t centre = place * pooling.stride;
  return {centre - std::min(centre, pooling.before),
          std::min(side, centre + pooling.window - pooling.before)};
}

/// Calls `visit(output index, first index of a channel, rows, columns)` for all windows.
template <class Visitor>
void for_each_window(const Pooling& pooling, Visitor visit) {
  std::size_t out = 0;
  for (std::size_t channel = 0; channel < pooling.channels; ++channel) {
    const std::size_t first = channel * pooling.height * pooling.width;
    for (std::size_t y = 0; y < pooling.height_out(); ++y) {
      const Range rows = inside(pooling, y, pooling.height);
      for (std::size_t x = 0; x < pooling.width_out(); ++x) {
        visit(out++, first, rows, inside(pooling, x, pooling.width));
      }
    }
  }
}

template <class Visitor>
void for_each_place(const Pooling& pooling, std::size_t first, Range rows, Range columns,
                    Visitor visit) {
  for (std::size_t y = rows.first; y < rows.end; ++y) {
    for (std::size_t x = columns.first; x < columns.end; ++x) {
      visit(first + y * pooling.width + x);
    }
  }
}

void find_largest(const Pooling& pooling, const double* in, double* out, double* chosen) {
  for_each_window(pooling, [&](std::size_t to, std::size_t first, Range rows, Range columns) {
    std::size_t best = first + rows.first * pooling.width + columns.first;
    for_each_place(pooling, first, rows, columns, [&](std::size_t from) {
      if (in[from] > in[best]) best = from;
    });
    out[to] = in[best];
    chosen[to] = static_cast<double>(best);
  });
}

/// Calls `visit(output index, input index, share of the input in the mean)`.
template <class Visitor>
void for_each_share(const Pooling& pooling, Visitor visit) {
  for_each_window(pooling, [&](std::size_t to, std::size_t first, Range rows, Range columns) {
    const double share = 1 / static_cast<double>(rows.size() * columns.size());
    for_each_place(pooling, first, rows, columns,
                   [&](std::size_t from) { visit(to, from, share); });
  });
}

}  // namespace

Tensor pooled(const Pooling& pooling, const Tensor& images, Tensor& chosen) {
  Tensor out(pooling.rows_out(), images.columns);
  if (pooling.largest) chosen = Tensor(out.rows, out.columns);
  for (std::size_t image = 0; image < images.columns; ++image) {
    const double* const from = &images.values[image * images.rows];
    double* const to = &out.values[image * out.rows];
    if (pooling.largest) {
      find_largest(pooling, from, to, &chosen.values[image * out.rows]);
    } else {
      for_each_share(pooling,
                     [&](std::size_t o, std::size_t i, double share) { to[o] += share * from[i]; });
    }
  }
  return out;
}

Tensor pooled_gradient(const Pooling& pooling, const Tensor& gradient, const Tensor& chosen) {
  Tensor before(pooling.rows_in(), gradient.columns);
  for (std::size_t image = 0; image < gradient.columns; ++image) {
    const double* const above = &gradient.values[image * gradient.rows];
    double* const to = &before.values[image * before.rows];
    if (!pooling.largest) {
      for_each_share(
          pooling, [&](std::size_t o, std::size_t i, double share) { to[i] += share * above[o]; });
      continue;
    }
    for (std::size_t place = 0; place < gradient.rows; ++place) {
      to[static_cast<std::size_t>(chosen.values[image * gradient.rows + place])] += above[place];
    }
  }
  return before;
}

}  // namespace penstock
