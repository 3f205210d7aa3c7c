#include "tests/support/random_scenario.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <span>

#include "schedules/policies/registry.hpp"
#include "schedules/registry.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

/// Draws the sections of one scenario.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  json scenario();

 private:
  std::uint64_t from_to(std::uint64_t first, std::uint64_t last) {
    return first + random_() % (last - first + 1);
  }
  bool one_in(std::uint64_t count) { return from_to(1, count) == 1; }
  double tenths(std::uint64_t first, std::uint64_t last) {
    return static_cast<double>(from_to(first, last)) / 10;
  }
  /// Sets a number for some keys only.
  void maybe(json& object, const char* key, std::uint64_t first, std::uint64_t last) {
    if (one_in(2)) object[key] = from_to(first, last);
  }
  template <class Entry>
  const Entry& one_of(std::span<const Entry* const> entries) {
    return *entries[from_to(0, entries.size() - 1)];
  }

  json timed_layer();
  json timed_layers(std::uint64_t count);
  json kinds();
  json model();
  json schedule();
  json hardware();
  json parallel();
  json memory();
  json codec();
  json recompute();
  json chance();
  json overheads();

  std::mt19937_64 random_;
  const ScheduleEntry* rule_ = nullptr;
  std::uint64_t ranks_ = 1;
  bool by_kind_ = false;
  bool replicated_ = false;
};

json Draws::timed_layer() {
  json layer{{"forward_us", tenths(1, 30)},
             {"backward_input_us", tenths(1, 30)},
             {"backward_weight_us", tenths(1, 30)}};
  maybe(layer, "activation_bytes", 0, 3000);
  maybe(layer, "stash_bytes", 100, 3000);
  maybe(layer, "parameter_bytes", 0, 3000);
  if (one_in(3)) layer["recompute_us"] = tenths(1, 30);
  if (one_in(3)) layer["selective_stash_bytes"] = from_to(50, 2000);
  if (one_in(4)) layer["recomputed_bytes"] = from_to(1, 500);
  if (one_in(4)) layer["workspace_bytes"] = from_to(1, 500);
  if (one_in(4)) layer["pending_weight_bytes"] = from_to(1, 500);
  return layer;
}

json Draws::timed_layers(std::uint64_t count) {
  json layers = json::array();
  for (std::uint64_t i = 0; i < count; ++i) layers.push_back(timed_layer());
  return layers;
}

/// A transformer between an embedding and a head.
json Draws::kinds() {
  const std::uint64_t hidden = 16 * from_to(1, 4);
  const json block{{"repeat", 4 * from_to(1, 4)},
                   {"parts",
                    {{{"kind", "norm"}, {"hidden", hidden}},
                     {{"kind", "attention"}, {"hidden", hidden}, {"heads", 4}},
                     {{"kind", "mlp"}, {"hidden", hidden}, {"intermediate", 2 * hidden}}}}};
  const json embedding{{"kind", "embedding"}, {"vocab", 64}, {"hidden", hidden}};
  const json head{{"kind", "head"}, {"vocab", 64}, {"hidden", hidden}, {"tied", one_in(2)}};
  return {{"sequence", 32}, {"layers", {embedding, block, head}}};
}

json Draws::model() {
  if (by_kind_) return kinds();
  const std::uint64_t chunks = rule_ == nullptr ? 1 : rule_->default_chunks;
  const std::uint64_t stages = ranks_ * chunks / (rule_ == nullptr ? 1 : rule_->copies);
  if (one_in(2)) return {{"layers", timed_layers(stages * from_to(2, 3))}};
  json model{{"stages", timed_layers(std::max<std::uint64_t>(stages, 1))}};
  if (one_in(6)) model["tied_embedding_bytes"] = 500;
  return model;
}

json Draws::schedule() {
  json schedule{{"microbatches", ranks_ * from_to(1, 3)}};
  if (rule_ != nullptr) {
    schedule["name"] = rule_->name;
  } else {
    schedule["policy"] = one_of(policy_entries()).name;
  }
  if (one_in(8)) schedule["overlap"] = "fused";
  return schedule;
}

json Draws::hardware() {
  if (by_kind_) return {{"name", one_in(2) ? "dgx-a100" : "dgx-1"}};
  json hardware = json::object();
  if (one_in(2)) hardware["latency_us"] = tenths(0, 20);
  if (one_in(2)) hardware["bandwidth_bytes_per_s"] = 1e9;
  if (one_in(6)) {
    hardware["transfers"] = {{"blocking", one_in(2)}, {"rendezvous", one_in(2)}};
  }
  return hardware;
}

json Draws::parallel() {
  json parallel = json::object();
  if (by_kind_ || !one_in(3)) parallel["pipeline"] = ranks_;
  if (replicated_) parallel["data"] = from_to(2, 4);
  if (by_kind_ && one_in(3)) parallel["tensor"] = 2;
  if (one_in(6)) parallel["chunks"] = from_to(1, 3);
  if (one_in(6)) {
    parallel["overlap_sums"] = false;
  } else if (one_in(4)) {
    parallel["bucket_bytes"] = from_to(50, 2000);
  }
  if (by_kind_ && one_in(4)) parallel["scatter_gather"] = true;
  return parallel;
}

json Draws::memory() {
  json memory = json::object();
  if (one_in(2)) memory["capacity_bytes"] = from_to(1, 40) * (by_kind_ ? 100'000 : 1'000);
  if (one_in(3)) memory["optimizer"] = "adam";
  if ((by_kind_ || replicated_) && one_in(3)) memory["zero"] = from_to(0, 3);
  if (memory.value("zero", 0) == 3 && one_in(2)) memory["gathered_bytes"] = 500;
  if (memory.value("zero", 0) == 3 && one_in(2)) memory["prefetch_layers"] = from_to(0, 2);
  if (memory.contains("capacity_bytes") && one_in(6)) memory["policy"] = "stall";
  if (memory.contains("capacity_bytes") && one_in(6)) memory["reserve"] = 0.1;
  return memory;
}

json Draws::codec() {
  json codec{{"encode_bytes_per_s", 1e10}, {"decode_bytes_per_s", 2e10}};
  switch (from_to(0, 4)) {
    case 0:
      codec["stash"] = {{"name", "bfp"}, {"bits", from_to(4, 8)}};
      break;
    case 1:
      codec["stash"] = {{"name", "auto"}, {"among", {"bfp"}}};
      break;
    case 2:
      codec["link"] = "bfp";
      break;
    case 3:
      codec["training"] = {{"phases",
                            {{{"iterations", 2}, {"stash", {{"name", "bfp"}, {"bits", 4}}}},
                             {{"iterations", 3}, {"stash", "none"}}}}};
      break;
    default:
      break;
  }
  return codec;
}

json Draws::recompute() {
  constexpr std::array modes{"none", "full", "selective", "except_last"};
  json recompute{{"mode", modes[from_to(0, modes.size() - 1)]}};
  if (one_in(4)) recompute["early"] = true;
  if (by_kind_ && one_in(4)) recompute["unit"] = one_in(2) ? "stage" : "layer";
  const bool by_layer = recompute["mode"] == "full" && recompute.value("unit", "layer") == "layer";
  if (by_kind_ && by_layer && one_in(3)) recompute["layers"] = from_to(1, 3);
  if (by_kind_ && by_layer && one_in(3)) recompute["together"] = from_to(1, 3);
  return recompute;
}

json Draws::chance() {
  json chance{{"seed", from_to(1, 100)}};
  if (one_in(2)) chance["jitter"] = 0.1;
  if (one_in(2)) chance["transfer_jitter"] = 0.1;
  if (one_in(2)) chance["stragglers"] = {{{"rank", from_to(0, ranks_ - 1)}, {"factor", 1.5}}};
  return chance;
}

json Draws::overheads() {
  json overheads = json::object();
  if (one_in(2)) overheads["launch_us"] = tenths(0, 5);
  if (one_in(2)) overheads["issue_us"] = tenths(0, 5);
  if (one_in(2)) overheads["optimizer_us"] = tenths(1, 20);
  if (one_in(4)) overheads["compute_slowdown_by_transfer"] = 1.25;
  return overheads;
}

json Draws::scenario() {
  if (!one_in(8)) rule_ = &one_of(schedule_entries());
  ranks_ = rule_ != nullptr && rule_->copies > 1 ? 2 * from_to(1, 2) : from_to(1, 4);
  by_kind_ = one_in(5);
  replicated_ = one_in(3);
  json scenario{{"model", model()}, {"schedule", schedule()}, {"parallel", parallel()}};
  scenario["hardware"] = hardware();
  if (one_in(2)) scenario["memory"] = memory();
  if (scenario.value("/memory/zero"_json_pointer, 0) == 3) {
    scenario["parallel"].erase("bucket_bytes");
  }
  if (one_in(2)) scenario["recompute"] = recompute();
  if (one_in(6)) scenario["offload"]["keep"] = from_to(1, 3);
  if (one_in(6)) scenario["offload"]["layers"] = from_to(1, 3);
  if (one_in(4)) scenario["codec"] = codec();
  if (one_in(6)) scenario["chance"] = chance();
  if (one_in(4)) scenario["overheads"] = overheads();
  return scenario;
}

}  // namespace

json random_scenario(std::uint64_t seed) { return Draws(seed).scenario(); }

}  // namespace penstock::testing
