#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "sim/costs/chance.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// "parallel": degrees of parallelism.
struct ParallelSection {
  std::optional<std::uint32_t> pipeline;  // ranks
  std::optional<std::uint32_t> chunks;    // of the model, per rank
  std::uint32_t tensor = 1;
  std::optional<std::uint32_t> data = 1;  // empty: as many as the devices allow
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  // Devices that share an expert; the default is `tensor` where `expert` divides data x context.
  std::optional<std::uint32_t> expert_tensor;
  bool sequence = false;  // shards norms and dropout along the sequence
  // Overlap gradient reduction with compute; the default is true.
  std::optional<bool> overlap_sums;
  // The gather of new weights overlaps the next step's first forwards; the default is the stack's.
  std::optional<bool> overlap_gathers;
  bool narrow_gathers = false;         // of weights, in the precision of products with them
  std::optional<double> bucket_bytes;  // gradients reduced at once; default: see `gradient_buckets`
  bool overlap_experts = false;        // all-to-alls of experts overlap the compute of their pass
  bool overlap_shared_expert = false;  // they overlap the compute of the shared expert
  bool overlap_tensor = true;          // tensor groups hide what their stack hides
  std::optional<TokenDispatch> dispatcher;  // of tokens to experts; the default is the stack's
  bool scatter_gather = false;              // a tensor group sends each activation once, in shares
};

const Fields& parallel_fields();

/// Reads the section, after the schema check; the training command supplies the defaults.
ParallelSection read_parallel(const nlohmann::json& section, const TrainingCommand& command);

/// Where the stages of a module run: on devices of its own, or on every rank of the other stages.
enum class ModuleDevices : std::uint8_t { own, shared };
/// When a module runs on ranks that it shares: all of its forwards before their other work and all
/// of its backwards behind it, or in their bubbles.
enum class ModuleOrder : std::uint8_t { first, bubbles };

/// One of "modules": the first layers of the model, which have degrees of their own.
struct ModuleSection {
  std::string name;  // that its layers state
  std::uint32_t pipeline = 1;
  std::uint32_t tensor = 1;
  std::optional<std::uint32_t> data;  // default: as `parallel`; of shared devices what they make
  bool sequence = false;
  ModuleDevices devices = ModuleDevices::own;
  ModuleOrder order = ModuleOrder::first;
  bool frozen = false;
};

const Fields& modules_fields();

/// Reads the section, after the schema check. Throws InputError for more than one module.
std::optional<ModuleSection> read_module(const nlohmann::json& section);

/// Where the all-to-alls of experts are: in the passes of their stages, or between these.
enum class Exchanges : std::uint8_t { inside, apart };

/// "schedule": which action runs when.
struct ScheduleSection {
  std::string name;    // a rule, or
  std::string policy;  // a policy, which decides at run time, or
  std::string file;    // an order's file, as named in the scenario
  std::vector<std::vector<Stage>> chains;
  std::optional<std::uint32_t> microbatches;
  std::optional<std::uint32_t> global_batch;  // examples per iteration, from a training command
  bool of_command = false;                    // as is the number of microbatches
  std::optional<double> samples_per_microbatch;
  Overlap overlap = Overlap::serial;
  Communicating communication = Communicating::implicit;
  std::optional<Exchanges> exchanges;  // default: inside, or as the order's file has them
  std::optional<CommStreams> streams;  // of SENDs and RECVs; default: pair
  std::optional<double> eager_bytes;   // up to it a tensor leaves without its RECV; default: none
  std::optional<bool> batched;         // SENDs and RECVs side by side with one rank; default: false
  std::map<std::string, std::string, std::less<>> settings;  // of the rule
};

const Fields& schedule_fields();

/// Reads the section, after the schema check. Without one (nullptr) the training command determines
/// the schedule. Throws InputError with a pointer into the scenario.
ScheduleSection read_schedule(const nlohmann::json* section, const TrainingCommand& command);

/// "recompute": which activations are recomputed.
struct RecomputeSection {
  std::optional<RecomputeMode> mode;  // default: full, for layers that state its time
  bool early = false;
  std::optional<RecomputeUnit> unit;
  // Of layers by kind, what `selective` recomputes.
  std::vector<std::string> operators = {"core_attention"};
  // Of layers by kind, what `full` recomputes: the first layers of each stage, or all; and how many
  // layers are restored together from the input of the first of them.
  std::optional<std::uint32_t> layers = {};
  std::uint32_t together = 1;
  // By stage of the order: the microbatches that are recomputed, ascending; empty: all.
  std::vector<std::vector<std::uint32_t>> microbatches = {};
};

const Fields& recompute_fields();

/// Reads the section, after the schema check; the training command supplies the defaults.
RecomputeSection read_recompute(const nlohmann::json& section, const TrainingCommand& command);

/// "offload": which activations are in host memory between their passes.
struct OffloadSection {
  std::optional<std::uint32_t> keep;   // the most that a rank holds: see schedules/patterns/offload
  std::optional<std::uint32_t> ahead;  // with `keep`
  std::optional<std::uint32_t> layers;  // the first of each stage, without embedding and head
};

const Fields& offload_fields();

/// Reads the section, after the schema check. Without one (nullptr) the training command determines
/// what is offloaded, if anything. Throws InputError with a pointer into the scenario.
std::optional<OffloadSection> read_offload(const nlohmann::json* section,
                                           const TrainingCommand& command);

/// What happens when a rank needs more memory than it has.
enum class MemoryPolicy : std::uint8_t { finding, stall };

/// "memory": capacity of the ranks, and what they hold in addition to activations.
struct MemorySection {
  std::optional<std::uint64_t> capacity_bytes;  // default: the machine's device
  MemoryPolicy policy = MemoryPolicy::finding;
  Optimizer optimizer = Optimizer::none;
  Precision precision = Precision::bf16;
  std::optional<Precision> gradients;  // that are kept; default: fp16 with fp16, else fp32
  std::optional<BytesPerParameter> bytes_per_parameter;  // instead of these three
  std::uint32_t zero = 0;
  std::optional<std::uint32_t> shard_groups;     // of data replicas, with ZeRO; default 1
  std::optional<double> gathered_bytes;          // of parameters at a time, with ZeRO-3
  std::optional<std::uint32_t> prefetch_layers;  // gathered ahead, with ZeRO-3
  std::optional<bool> whole_gradients;           // until the last microbatch, with ZeRO-2 and -3
  std::optional<double> context_bytes;           // default: the machine's device
  std::optional<double> reserve;                 // of the capacity; same default
};

const Fields& memory_fields();

/// Reads the section, after the schema check; `usual` has the defaults. Throws InputError with a
/// pointer into the scenario.
MemorySection read_memory(const nlohmann::json& section, const MemorySection& usual);

/// "overheads": time spent outside passes.
struct OverheadsSection {
  std::optional<double> optimizer_us;  // default: the time of the machine's memory traffic
  std::optional<double> warm_up_us;    // extra time of the first iteration; default: the machine's
  double launch_us = 0;
  double issue_us = 0;
  double host_us = 0;            // of a rank's host between two actions, which it runs itself
  double compute_slowdown = 1;   // of an action while a transfer of its rank is in flight
  double transfer_slowdown = 1;  // of a transfer while one of its ranks runs an action
};

const Fields& overheads_fields();

/// Machines that are slower than others, for good: which ones is unknown.
struct SlowMachines {
  double share = 0;   // probability of a machine to be slow
  double factor = 1;  // of its actions
};

/// "chance": random and fixed deviations of durations.
struct ChanceSection {
  Chance chance;
  std::optional<SlowMachines> slow_machines;
};

const Fields& chance_fields();

/// Reads the section, after the schema check. Throws InputError with a pointer into the scenario.
ChanceSection read_chance(const nlohmann::json& section);

}  // namespace penstock
