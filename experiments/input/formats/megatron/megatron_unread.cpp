#include "experiments/input/formats/megatron/megatron_unread.hpp"

#include <array>

namespace penstock {
namespace {

struct UnreadArgument {
  std::string_view name;
  std::string_view instead;  // simulated behaviour
};

constexpr std::string_view low_precision =
    "products are simulated at the speed and size of /model/dtype";
constexpr std::string_view state_sizes =
    "gradients and optimizer state have the sizes of /model/dtype and /memory/optimizer";
constexpr std::string_view host_memory =
    "nothing is moved to the host; /offload simulates that for activations";
constexpr std::string_view reduction =
    "gradients are reduced during the backward unless /parallel/overlap_sums is false";
constexpr std::string_view overlap = "collectives overlap with compute as in any simulated run";
constexpr std::string_view sharding = "sharding is set by /memory/zero";
constexpr std::string_view launches = "launches are priced by /overheads/launch_us";

constexpr std::array unread{
    UnreadArgument{"--fp8-format", low_precision},
    UnreadArgument{"--fp8-param-gather", low_precision},
    UnreadArgument{"--fp4-format", low_precision},
    UnreadArgument{"--transformer-engine-precision", low_precision},
    UnreadArgument{"--accumulate-allreduce-grads-in-fp32", state_sizes},
    UnreadArgument{"--grad-reduce-in-bf16", state_sizes},
    UnreadArgument{"--use-precision-aware-optimizer", state_sizes},
    UnreadArgument{"--main-grads-dtype", state_sizes},
    UnreadArgument{"--main-params-dtype", state_sizes},
    UnreadArgument{"--exp-avg-dtype", state_sizes},
    UnreadArgument{"--exp-avg-sq-dtype", state_sizes},
    UnreadArgument{"--optimizer-cpu-offload", host_memory},
    UnreadArgument{"--optimizer-offload-fraction", host_memory},
    UnreadArgument{"--cpu-offloading", host_memory},
    UnreadArgument{"--fine-grained-activation-offloading", host_memory},
    UnreadArgument{"--overlap-grad-reduce", reduction},
    UnreadArgument{"--moe-shared-expert-overlap", overlap},
    UnreadArgument{"--no-overlap-p2p-communication", overlap},
    UnreadArgument{"--tp-comm-overlap", overlap},
    UnreadArgument{"--data-parallel-sharding-strategy", sharding},
    UnreadArgument{"--use-torch-fsdp2", sharding},
    UnreadArgument{"--use-megatron-fsdp", sharding},
    UnreadArgument{"--use-custom-fsdp", sharding},
    UnreadArgument{"--expert-tensor-parallel-size",
                   "experts are split over as many devices as /parallel/tensor says"},
    UnreadArgument{"--distribute-saved-activations",
                   "saved activations are not distributed over the tensor group"},
    UnreadArgument{"--rampup-batch-size", "every step has the full global batch"},
    UnreadArgument{"--moe-token-dispatcher-type", "tokens are exchanged by all-to-all"},
    UnreadArgument{"--enable-cuda-graph", launches},
    UnreadArgument{"--external-cuda-graph", launches},
    UnreadArgument{"--cuda-graph-impl", launches},
};

}  // namespace

std::string_view simulated_instead(std::string_view argument) {
  for (const UnreadArgument& one : unread) {
    if (argument == one.name) return one.instead;
  }
  return {};
}

}  // namespace penstock
