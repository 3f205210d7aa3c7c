#include <vector>

#include "schedules/partitioners/problem/cut_problem.hpp"
#include "schedules/partitioners/registry.hpp"

namespace penstock::even_with_ends_file {
namespace {

/// Every layer counts.
Cut cut(const CutProblem& problem) {
  return even_cut(problem, std::vector<bool>(problem.size(), true));
}

}  // namespace

constinit extern const PartitionerEntry even_with_ends_entry{
    "even_with_ends", "as even, where embedding and head count as layers", cut,
    /*settings=*/"", /*needs_costs=*/false};

}  // namespace penstock::even_with_ends_file
