#include "experiments/input/scenario/sections.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/scenario/section_parts.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

/// A training command leaves the number of data replicas to the number of devices.
ParallelSection degrees_of(const TrainingCommand& command) {
  ParallelSection parallel;
  parallel.pipeline = command.pipeline;
  parallel.chunks = command.chunks;
  parallel.tensor = command.tensor.value_or(1);
  parallel.context = command.context.value_or(1);
  parallel.expert = command.expert.value_or(1);
  parallel.expert_tensor = command.expert_tensor;
  parallel.sequence = command.sequence_parallel.value_or(false);
  parallel.scatter_gather = command.scatter_gather.value_or(false);
  parallel.overlap_gathers = command.overlap_gathers;
  parallel.overlap_experts = command.overlap_experts.value_or(false);
  parallel.overlap_shared_expert = command.overlap_shared_expert.value_or(false);
  parallel.dispatcher = command.dispatcher;
  parallel.narrow_gathers = command.narrow_gathers.value_or(false);
  parallel.overlap_sums = command.overlap_sums;
  if (command.tensor || command.pipeline) parallel.data = command.data;
  return parallel;
}

using nlohmann::json;

void check_source(const json& section) {
  check_one_of(section, "/schedule", {"name", "policy", "file"});
  if (section.contains("chains") && !section.contains("file")) {
    throw InputError("/schedule/chains", "chains go with a \"file\"; a rule brings its own");
  }
}

void check_communication(const json& section) {
  if (section.value("communication", "implicit") == "written") {
    if (!section.contains("policy")) return;
    throw InputError("/schedule/communication",
                     "a policy has no written order; use a name or file");
  }
  for (const char* key : {"streams", "eager_bytes", "batched"}) {
    if (!section.contains(key)) continue;
    throw InputError(fmt::format("/schedule/{}", key),
                     "it goes with \"communication\": \"written\"");
  }
}

void check_conflicts(const nlohmann::json& section) {
  if (!section.contains("bytes_per_parameter")) return;
  for (const char* key : {"optimizer", "precision", "gradients"}) {
    if (!section.contains(key)) continue;
    throw InputError(
        fmt::format("/memory/{}", key),
        fmt::format("\"{}\" conflicts with \"bytes_per_parameter\"; give one of them", key));
  }
}

Takes rank() { return whole(0, 16'383); }
Takes microbatch() { return whole(0, 4'294'967'295); }

Takes factor() { return meaning(number(1e-6, 1e6), "how many times as long"); }

void check_stragglers(const std::vector<Straggler>& stragglers) {
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    const Straggler& one = stragglers[i];
    if (one.from < one.until) continue;
    throw InputError(fmt::format("/chance/stragglers/{}/until", i),
                     fmt::format("{} ends before it begins; it must be above \"from\", {}",
                                 index(one.until), index(one.from)));
  }
}

void check_links(const std::vector<SlowLink>& links) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].from != links[i].to) continue;
    throw InputError(fmt::format("/chance/slow_links/{}/to", i),
                     fmt::format("rank {} has no link to itself; a link leads to another rank",
                                 index(links[i].to)));
  }
}

}  // namespace

const Fields& parallel_fields() {
  using P = ParallelSection;
  const Takes degree = whole(1, 1'048'576);
  static const Fields fields{
      "degrees of parallelism",
      {note(), field<&P::pipeline>("pipeline", whole(1, 16'384), "pipeline ranks"),
       turned(field<&P::chunks>("chunks", whole(1, 65'536), "stages a rank"),
              {"Chunks per rank", 1, 8}),
       field<&P::tensor>("tensor", degree), field<&P::data>("data", degree),
       field<&P::context>("context", degree),
       field<&P::expert>("expert", degree,
                         "devices that share the experts of a layer, out of those of tensor x "
                         "context x data; they add no device"),
       field<P>("expert_tensor", or_null(degree),
                "devices that share an expert; default: tensor where expert divides data x "
                "context, else 1, so that expert groups span tensor groups",
                [](const json& value, P& parallel) {
                  if (value.is_null()) {
                    parallel.expert_tensor.reset();
                  } else {
                    parallel.expert_tensor = value.get<std::uint32_t>();
                  }
                }),
       field<&P::sequence>("sequence", truth(),
                           "sequence parallelism: shards norms and dropout along the sequence"),
       field<&P::overlap_sums>("overlap_sums", truth(),
                               "replicas reduce gradients while ranks still compute (the default), "
                               "or after the last backward of a rank; false with ZeRO-2 and -3: "
                               "each pass waits for its own collectives"),
       field<&P::overlap_gathers>("overlap_gathers", truth(),
                                  "the new weights that ZeRO-1 and -2 gather after the update "
                                  "arrive while the first forwards of the next step run; what is "
                                  "longer than these stays exposed; default: as the stack does "
                                  "(hardware.stack), false without one"),
       field<&P::bucket_bytes>("bucket_bytes", number(1, 1e18),
                               "gradients reduced at once while the last backward of a stage runs, "
                               "with ZeRO-2 each; default: those of one layer, at least 25 MiB"),
       field<&P::overlap_experts>("overlap_experts", truth(),
                                  "all-to-alls of experts overlap the compute of their pass, as "
                                  "frameworks do that interleave two microbatches; default: they "
                                  "are exposed, except in a fused overlap cell"),
       field<&P::overlap_shared_expert>(
           "overlap_shared_expert", truth(),
           "the shared expert of a layer runs beside the all-to-alls of its other experts "
           "(Megatron's --moe-shared-expert-overlap); default false"),
       field<&P::narrow_gathers>("narrow_gathers", truth(),
                                 "ZeRO gathers weights of products in the precision of dtype, "
                                 "others as they are (Megatron's --fp8-param-gather, torchtitan's "
                                 "enable_fsdp_float8_all_gather); default false"),
       field<&P::overlap_tensor>("overlap_tensor", truth(),
                                 "gathers and scatters of tensor groups run behind products as far "
                                 "as the stack hides them (hardware.stack, the default), or not at "
                                 "all"),
       field<&P::dispatcher>("dispatcher", words({"alltoall", "deduplicated"}),
                             "how tokens reach experts: a copy for each expert, or one for each "
                             "device and machine, as DeepEP and HybridEP send; default: as the "
                             "stack does"),
       field<&P::scatter_gather>("scatter_gather", truth(),
                                 "each device of a tensor group sends its share of an activation "
                                 "to the next stage, where the group gathers it; without effect "
                                 "where activations are sharded already (sequence)")}};
  return fields;
}

ParallelSection read_parallel(const nlohmann::json& section, const TrainingCommand& command) {
  ParallelSection parallel = degrees_of(command);
  read_fields(parallel_fields(), section, &parallel);
  return parallel;
}

const Fields& schedule_fields() {
  using S = ScheduleSection;
  static const Fields fields{
      "the order of work: a rule by name, or a file; other keys are options of the rule",
      {note(), turned(field<&S::name>("name", text(), "a schedule rule"), {"Schedule"}),
       field<&S::policy>("policy", text(), "decides the order while the pipeline runs"),
       field<&S::file>("file", text(), "an order in PyTorch's CSV notation"),
       field<&S::chains>("chains", list_of(list_of(whole(0, 65'535), 1), 1, 64),
                         "for a file: the stages of each copy of the model, first to last"),
       turned(field<&S::microbatches>("microbatches", whole(1, 16'777'216),
                                      "microbatches of one iteration"),
              {"Microbatches", 1, 4096}),
       field<&S::samples_per_microbatch>("samples_per_microbatch", whole(1, 1'000'000'000)),
       field<&S::overlap>("overlap", words({"serial", "fused"}),
                          "how the parts of an overlap cell run"),
       field<&S::communication>(
           "communication", words({"implicit", "written"}),
           "transfers, gathers and reductions start as soon as they can (the default), or where "
           "the order has SEND, RECV, UNSHARD and REDUCE_GRAD; an order without these: where "
           "PyTorch's lowering puts them"),
       field<&S::exchanges>(
           "exchanges", words({"inside", "apart"}),
           "all-to-alls of experts are part of their passes (the default), or stages are cut at "
           "them, and they overlap compute of their rank"),
       field<&S::streams>(
           "streams", words({"rank", "pair", "direction", "message"}),
           "for written: the SENDs and RECVs of a rank that queue behind each other: all, those "
           "with one other rank (the default), those of one direction, or none"),
       field<&S::eager_bytes>("eager_bytes", bytes(),
                              "for written: a tensor of at most this many bytes leaves without its "
                              "RECV; default: none does"),
       field<&S::batched>("batched", truth(),
                          "for written: SENDs and RECVs side by side and with one other rank are "
                          "issued as one; default false")},
      {},
      meaning(either(text(), whole()), "an option of the schedule rule")};
  return fields;
}

ScheduleSection read_schedule(const json* section, const TrainingCommand& command) {
  ScheduleSection schedule;
  schedule.global_batch = command.global_batch;
  if (section != nullptr) {
    check_source(*section);
    check_communication(*section);
    read_fields(schedule_fields(), *section, &schedule);
    for (const std::string& key : other_keys(schedule_fields(), *section)) {
      const json& value = (*section)[key];
      schedule.settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    return schedule;
  }
  if (!command.pipeline) throw InputError("/schedule", "\"schedule\" is missing");
  schedule.microbatches = command.microbatches;
  schedule.of_command = true;
  schedule.file = command.order_file;
  schedule.name = command.schedule;
  if (!schedule.name.empty() || !schedule.file.empty()) return schedule;
  schedule.name = command.chunks.value_or(1) > 1 ? "interleaved-1f1b" : "1f1b";
  return schedule;
}

const Fields& fields_of(const BytesPerParameter& /*bytes*/) {
  static const Fields fields{
      "instead of optimizer, precision and gradients: bytes per parameter",
      {field<&BytesPerParameter::parameter>("parameter", number(0.001, 1000)),
       field<&BytesPerParameter::gradient>("gradient", number(0, 1000),
                                           "0: gradients are not kept"),
       field<&BytesPerParameter::optimizer>("optimizer", number(0, 1000))},
      {"parameter", "gradient", "optimizer"}};
  return fields;
}

const Fields& memory_fields() {
  using M = MemorySection;
  static const Fields fields{
      "",
      {note(),
       turned(field<&M::capacity_bytes>("capacity_bytes", bytes(),
                                        "what a rank can hold; more is a finding"),
              {"Memory capacity", 1e8, 1e12}),
       field<&M::policy>("policy", words({"finding", "stall"}),
                         "when memory runs out: report it, or stall actions; a transfer then "
                         "reserves memory at its receiver before it starts"),
       field<&M::optimizer>("optimizer", words({"none", "sgd", "momentum", "adam"}),
                            "determines memory per parameter: gradients, master weights and "
                            "moments"),
       field<&M::precision>("precision", words({"bf16", "fp16", "fp32"}),
                            "of parameters; gradients are fp16 with fp16, else fp32; default bf16"),
       field<&M::gradients>("gradients", words({"bf16", "fp16", "fp32"}),
                            "that are kept, and sent so; default as with precision"),
       field<&M::bytes_per_parameter>("bytes_per_parameter",
                                      object_of(fields_of(BytesPerParameter{}))),
       field<&M::zero>("zero", whole(0, 3),
                       "ZeRO level, what replicas shard: 1 optimizer state, 2 also gradients "
                       "(reduced after each backward), 3 also parameters (gathered for each pass)"),
       field<&M::shard_groups>("shard_groups", whole(1, Limits::ranks),
                               "with zero: into how many groups the data replicas are divided; "
                               "those of a group shard among themselves and each group holds "
                               "everything (hybrid sharding: FSDP's HSDP, Megatron-LM's instances "
                               "of the distributed optimizer); 1: all shard together"),
       field<&M::gathered_bytes>("gathered_bytes", bytes(),
                                 "parameters gathered at a time with zero=3; default: the largest "
                                 "prefetch_layers + 1 consecutive layers of a stage"),
       field<&M::prefetch_layers>("prefetch_layers", whole(0, 100'000),
                                  "with zero=3: how many layers ahead of its turn a layer is "
                                  "gathered; default 1 for layers by kind; layers that state their "
                                  "times overlap with all collectives of their pass"),
       field<&M::whole_gradients>("whole_gradients", truth(),
                                  "with zero=2 and 3: each replica keeps whole gradients until "
                                  "its last microbatch, as FSDP in a pipeline does; false reduces "
                                  "them after each backward; default: true in a pipeline"),
       field<&M::context_bytes>("context_bytes", bytes(),
                                "per-device overhead: context and communication buffers; default: "
                                "that of the machine"),
       field<&M::reserve>("reserve", number(0, 1),
                          "share of capacity_bytes that the allocator cannot use, shown apart from "
                          "the peak; default: that of the machine")}};
  return fields;
}

MemorySection read_memory(const nlohmann::json& section, const MemorySection& usual) {
  check_conflicts(section);
  MemorySection memory = usual;
  read_fields(memory_fields(), section, &memory);
  for (const char* key : {"gathered_bytes", "prefetch_layers"}) {
    if (memory.zero == 3 || !section.contains(key)) continue;
    throw InputError(fmt::format("/memory/{}", key), fmt::format("{} needs zero=3", key));
  }
  if (memory.zero == 0 && !section.contains("shard_groups")) memory.shard_groups = {};
  if (memory.zero == 0 && memory.shard_groups.value_or(1) > 1) {
    throw InputError("/memory/shard_groups", "without zero nothing is sharded; set zero to 1 to 3");
  }
  if (section.contains("whole_gradients") && memory.zero < 2) {
    throw InputError("/memory/whole_gradients", "whole_gradients needs zero=2 or zero=3");
  }
  return memory;
}

const Fields& overheads_fields() {
  using O = OverheadsSection;
  static const Fields fields{
      "overheads of actions and transfers",
      {note(),
       field<&O::optimizer_us>("optimizer_us", time_us(),
                               "of the update of a stage at the end of the iteration; on a machine "
                               "of the catalogue, where not given, what its memory takes to move "
                               "parameters, gradients and what the optimizer keeps"),
       field<&O::warm_up_us>("warm_up_us", time_us(),
                             "extra time of the first iteration; default: that of the machine"),
       field<&O::launch_us>("launch_us", time_us(), "delay from issuing an action to its start"),
       field<&O::issue_us>("issue_us", time_us(), "time of the host of a rank to issue one action"),
       field<&O::host_us>("host_us", time_us(),
                          "time of the host between two actions that it runs itself, as on CPUs"),
       field<&O::compute_slowdown>("compute_slowdown_by_transfer", number(1, 1e6),
                                   "of an action while a transfer of its rank or a collective of "
                                   "its own pass is in flight"),
       field<&O::transfer_slowdown>("transfer_slowdown_by_compute", number(1, 1e6),
                                    "of a transfer while one of its ranks runs an action, and of "
                                    "collectives that a pass overlaps")}};
  return fields;
}

const Fields& fields_of(const Straggler& /*straggler*/) {
  using S = Straggler;
  static const Fields fields{
      "",
      {field<&S::rank>("rank", rank()), field<&S::factor>("factor", factor()),
       field<&S::from>("from", microbatch(), "the first microbatch that is slow"),
       field<&S::until>("until", microbatch(), "the first microbatch that is no longer slow"),
       field<&S::replica>(
           "replica", whole(0, 255),
           "the only data replica in which it is slow; the run shows the one that ends last")},
      {"rank", "factor"}};
  return fields;
}

const Fields& fields_of(const SlowLink& /*link*/) {
  using L = SlowLink;
  static const Fields fields{"",
                             {field<&L::from>("from", rank()), field<&L::to>("to", rank()),
                              field<&L::factor>("factor", factor())},
                             {"from", "to", "factor"}};
  return fields;
}

const Fields& fields_of(const SlowMachines& /*machines*/) {
  using M = SlowMachines;
  static const Fields fields{
      "machines that are slow for good: the middle rank takes the expected factor of the slowest "
      "machine of the layout (MegaScale: 0.005 of all machines, 1.1)",
      {field<&M::share>("share", number(0, 1), "of all machines"),
       field<&M::factor>("factor", number(1, 1e6), "of the duration of their actions")},
      {"share", "factor"}};
  return fields;
}

const Fields& chance_fields() {
  using S = ChanceSection;
  const Takes sigma = number(0, 2);
  static const Fields fields{
      "random variation of the durations of actions and transfers",
      {note(),
       field<&S::chance, &Chance::seed>("seed", whole(0, 9'007'199'254'740'991),
                                        "other seeds draw other numbers"),
       turned(field<&S::chance, &Chance::jitter>(
                  "jitter", sigma,
                  "of actions: lognormal factors with mean 1 and this standard deviation of their "
                  "logarithm"),
              {"Jitter", 0, 0.5}),
       field<&S::chance, &Chance::samples>("samples", list_of(factor(), 1, 1'000'000),
                                           "of actions, instead of jitter: one of these factors, "
                                           "with equal probability"),
       field<&S::chance, &Chance::transfer_jitter>("transfer_jitter", sigma, "jitter of transfers"),
       field<&S::chance, &Chance::stragglers>("stragglers",
                                              list_of(object_of(fields_of(Straggler{})), 0, 65'536),
                                              "ranks whose actions take factor times as long"),
       field<&S::slow_machines>("slow_machines", object_of(fields_of(SlowMachines{}))),
       field<&S::chance, &Chance::slow_links>(
           "slow_links", list_of(object_of(fields_of(SlowLink{})), 0, 65'536),
           "pairs of ranks between which transfers take factor times as long")}};
  return fields;
}

ChanceSection read_chance(const nlohmann::json& section) {
  ChanceSection read;
  read_fields(chance_fields(), section, &read);
  if (read.chance.jitter != 0 && !read.chance.samples.empty()) {
    throw InputError("/chance/samples", "\"samples\" conflicts with \"jitter\"; give one of them");
  }
  check_stragglers(read.chance.stragglers);
  check_links(read.chance.slow_links);
  return read;
}

}  // namespace penstock
