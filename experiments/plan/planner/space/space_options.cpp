#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/plan/planner/space/framework.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {

void refuse_codecs(const Framework& framework, const SpaceOptions& options) {
  const bool unknown = options.offloads && !framework.offloads_layers;
  std::string asked = options.lossy ? "--lossy" : unknown ? "--offload" : "";
  for (const char* pointer : {"/codec/link", "/codec/stash", "/offload/keep"}) {
    if (options.only.values_of(pointer) != nullptr) asked = fmt::format("--only {}", pointer);
  }
  if (asked.empty()) return;
  throw UsageError(
      fmt::format("{}: {} has no codecs and no offloading by activation{}; leave it out, "
                  "or give --for any",
                  asked, framework.name, framework.offloads_layers ? "" : " or by layer"));
}

SpaceOptions space_options(const SpaceRequest& request, const Framework* framework) {
  SpaceOptions options{
      .only = Restrictions(request.only), .lossy = request.lossy, .offloads = request.offloads};
  for (const std::string& name : request.partitions) {
    if (find_named(partitioner_entries(), name) != nullptr) continue;
    throw UsageError(fmt::format("--partitions {}: {}", fmt::join(request.partitions, ","),
                                 unknown_text(fmt::format("partitioner \"{}\"", name), name,
                                              names_of(partitioner_entries()))));
  }
  if (framework != nullptr) options.partitions = split_names(framework->cuts);
  if (!request.partitions.empty()) options.partitions = request.partitions;
  if (framework != nullptr) refuse_codecs(*framework, options);
  return options;
}

}  // namespace penstock
