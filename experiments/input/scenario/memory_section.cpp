#include "experiments/input/scenario/memory_section.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"

namespace penstock {
const Fields& fields_of(const BytesPerParameter& /*bytes*/) {
  static const Fields fields{
      "instead of optimizer and precision: bytes per parameter",
      {field<&BytesPerParameter::parameter>("parameter", number(0.001, 1000)),
       field<&BytesPerParameter::gradient>("gradient", number(0, 1000),
                                           "0: gradients are not kept"),
       field<&BytesPerParameter::optimizer>("optimizer", number(0, 1000))},
      {"parameter", "gradient", "optimizer"}};
  return fields;
}

namespace {

void check_conflicts(const nlohmann::json& section) {
  if (!section.contains("bytes_per_parameter")) return;
  for (const char* key : {"optimizer", "precision"}) {
    if (!section.contains(key)) continue;
    throw InputError(
        fmt::format("/memory/{}", key),
        fmt::format("\"{}\" conflicts with \"bytes_per_parameter\"; give one of them", key));
  }
}

}  // namespace

const Fields& memory_fields() {
  using M = MemorySection;
  static const Fields fields{
      "",
      {note(),
       field<&M::capacity_bytes>("capacity_bytes", bytes(),
                                 "what a rank can hold; more is a finding"),
       field<&M::policy>("policy", words({"finding", "stall"}),
                         "when memory runs out: report it, or stall actions; a transfer then "
                         "reserves memory at its receiver before it starts"),
       field<&M::optimizer>("optimizer", words({"none", "sgd", "momentum", "adam"}),
                            "determines memory per parameter: gradients, master weights and "
                            "moments"),
       field<&M::precision>("precision", words({"bf16", "fp16", "fp32"}),
                            "of parameters; gradients are fp16 with fp16, else fp32; default bf16"),
       field<&M::bytes_per_parameter>("bytes_per_parameter",
                                      object_of(fields_of(BytesPerParameter{}))),
       field<&M::zero>("zero", whole(0, 3),
                       "ZeRO level, what replicas shard: 1 optimizer state, 2 also gradients "
                       "(reduced after each backward), 3 also parameters (gathered for each pass)"),
       field<&M::gathered_bytes>("gathered_bytes", bytes(),
                                 "parameters gathered at a time with zero=3; default: the largest "
                                 "prefetch_layers + 1 consecutive layers of a stage"),
       field<&M::prefetch_layers>("prefetch_layers", whole(0, 100'000),
                                  "with zero=3: how many layers ahead of its turn a layer is "
                                  "gathered; default 1 for layers by kind; layers that state their "
                                  "times overlap with all collectives of their pass"),
       field<&M::context_bytes>("context_bytes", bytes(),
                                "per-device overhead: context and communication buffers; default: "
                                "that of the machine"),
       field<&M::reserve>("reserve", number(0, 1),
                          "share of capacity_bytes lost to the allocator; default: that of the "
                          "machine")}};
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
  return memory;
}

}  // namespace penstock
