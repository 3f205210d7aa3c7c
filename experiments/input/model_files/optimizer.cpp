#include "experiments/input/model_files/optimizer.hpp"

#include <array>

namespace penstock {

BytesPerParameter bytes_per_parameter(Precision precision, Optimizer optimizer) {
  struct Row {
    double parameter;
    double gradient;
    double master;  // fp32 weights; with fp16, fp32 gradients too
  };
  constexpr std::array<Row, 3> rows{{{2, 4, 4}, {2, 2, 8}, {4, 4, 0}}};
  constexpr double moment = 4;
  const Row& row = rows[static_cast<std::size_t>(precision)];
  switch (optimizer) {
    case Optimizer::none:
      break;
    case Optimizer::sgd:
      return {row.parameter, row.gradient, row.master};
    case Optimizer::momentum:
      return {row.parameter, row.gradient, row.master + moment};
    case Optimizer::adam:
      return {row.parameter, row.gradient, row.master + 2 * moment};
  }
  return {row.parameter, 0, 0};
}

}  // namespace penstock
