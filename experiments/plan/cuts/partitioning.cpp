#include "experiments/plan/cuts/partitioning.hpp"

#include <fmt/format.h>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/nearest.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

const PartitionerEntry& partitioner(const std::string& name) {
  const PartitionerEntry* entry = find_named(partitioner_entries(), name);
  if (entry != nullptr) return *entry;
  throw UsageError(
      unknown_text(fmt::format("method \"{}\"", name), name, names_of(partitioner_entries())));
}

void fill(const PartitionRequest& request, CutProblem& problem) {
  problem.ranks = request.ranks;
  problem.chunks = request.chunks;
  problem.stages = request.ranks * request.chunks;
  problem.exactly = request.exactly;
  problem.microbatches = request.microbatches;
  problem.devices = request.devices.value_or(0);
  problem.bandwidth_bytes_per_s = request.bandwidth_bytes_per_s;
  problem.memory_bytes = request.memory_bytes;
  problem.settings = request.settings;
  const bool linked = problem.bandwidth_bytes_per_s.has_value();
  problem.transfers =
      request.settings.transfers.value_or(linked ? CutTransfers::overlap : CutTransfers::none);
  if (!linked && problem.transfers != CutTransfers::none) {
    throw UsageError("--transfers needs --bandwidth");
  }
}

}  // namespace

PartitionResult partition_model(const PartitionRequest& request) {
  const PartitionerEntry& entry = partitioner(request.method);
  PartitionResult result{
      .method = request.method, .model = planned_model(request.model), .cut = {}};
  fill(request, result.model.to_cut.problem);
  try {
    result.cut = entry.cut(result.model.to_cut.problem);
  } catch (const InputError& error) {
    throw in_file(request.model.path, error);
  } catch (const RuleError& error) {
    throw UsageError(fmt::format("{}: {}", request.method, error.what()));
  }
  return result;
}

}  // namespace penstock
