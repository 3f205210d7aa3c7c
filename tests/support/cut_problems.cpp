#include "tests/support/cut_problems.hpp"

#include <algorithm>
#include <limits>

#include "tests/support/draws.hpp"

namespace penstock::testing {
namespace {

CutProblem any_layers(std::uint32_t most_layers) {
  CutProblem problem;
  const std::uint32_t size = from_to(1, most_layers);
  for (std::uint32_t i = 0; i < size; ++i) {
    problem.layers.push_back({.forward_s = below(8) / 1024.0,
                              .backward_s = below(8) / 1024.0,
                              .output_bytes = double(below(9)),
                              .parameter_bytes = double(below(5)),
                              .stash_bytes = double(below(7))});
  }
  return problem;
}

void visit_from(std::vector<std::uint32_t>& cuts, std::uint32_t size, std::uint32_t fewest,
                std::uint32_t most,
                const std::function<void(const std::vector<std::uint32_t>&)>& visit) {
  const auto stages = static_cast<std::uint32_t>(cuts.size());  // with the one that ends now
  if (stages >= fewest) {
    cuts.push_back(size);
    visit(cuts);
    cuts.pop_back();
  }
  if (stages == most) return;
  for (std::uint32_t end = cuts.back() + 1; end < size; ++end) {
    cuts.push_back(end);
    visit_from(cuts, size, fewest, most, visit);
    cuts.pop_back();
  }
}

}  // namespace

CutProblem any_problem(std::uint32_t most_layers) {
  CutProblem problem = any_layers(most_layers);
  for (std::uint32_t i = 1; i < problem.size(); ++i) {
    for (std::uint32_t inputs = from_to(1, 2); inputs > 0; --inputs) {
      problem.edges.emplace_back(below(i), i);
    }
  }
  return problem;
}

CutProblem any_chain(std::uint32_t most_layers) {
  CutProblem problem = any_layers(most_layers);
  for (std::uint32_t i = 1; i < problem.size(); ++i) problem.edges.emplace_back(i - 1, i);
  return problem;
}

void for_each_cut(std::uint32_t size, std::uint32_t fewest, std::uint32_t most,
                  const std::function<void(const std::vector<std::uint32_t>&)>& visit) {
  std::vector<std::uint32_t> cuts{0};
  visit_from(cuts, size, fewest, most, visit);
}

double least_of_cuts(std::uint32_t size, std::uint32_t fewest, std::uint32_t most,
                     const std::function<double(const std::vector<std::uint32_t>&)>& value) {
  double least = std::numeric_limits<double>::infinity();
  for_each_cut(size, fewest, most, [&](const std::vector<std::uint32_t>& cuts) {
    least = std::min(least, value(cuts));
  });
  return least;
}

}  // namespace penstock::testing
