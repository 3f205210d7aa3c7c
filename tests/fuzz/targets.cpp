#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/formats/chrome_trace.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/formats/traces/kineto_trace.hpp"
#include "experiments/input/formats/traces/nsys_trace.hpp"
#include "experiments/input/orders/comms_check.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/sweeps/row_text.hpp"
#include "experiments/plan/sweeps/space/read_sweep.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"
#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "experiments/run/run.hpp"
#include "sim/order/order_fault.hpp"
#include "sim/plan/lower.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "validate/store/profile_store.hpp"

namespace penstock::fuzz {
namespace {

/// A file with these bytes, for what reads files alone.
std::string as_file(const std::string& bytes) {
  static const std::string path = "input." + std::to_string(::getpid());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) std::abort();
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  return path;
}

void read_text_scenario(const std::string& bytes) { parse_scenario(bytes, "-"); }

void run_scenario(const std::string& bytes) { run(parse_scenario(bytes, "-")); }

void read_sweep_file(const std::string& bytes) {
  const SweepSpace space(read_sweep({.file = as_file(bytes)}));
  for (std::uint64_t i = 0; i < space.size() && i < 4; ++i) space.values(i);
}

void read_rows(const std::string& bytes) {
  label_of_row(bytes);
  csv_of(row_table_of(bytes));
}

void read_order(const std::string& bytes) {
  const OrderFile order = read_torch_csv(bytes);
  const Placement placement = placement_of(order, {});
  if (find_order_fault(order.schedule, placement)) return;
  if (find_comms_fault(order, placement)) return;
  lower(order.schedule, placement);
}

template <const char* format>
void read_model(const std::string& bytes) {
  parse_model_file(bytes, {.format = format});
}
constexpr char hf_config[] = "hf-config";
constexpr char megatron_args[] = "megatron-args";
constexpr char torchtitan_args[] = "torchtitan-args";
constexpr char deepspeed_config[] = "deepspeed-config";
constexpr char pipedream_graph[] = "pipedream-graph";
constexpr char pipedream_conf[] = "pipedream-conf";
constexpr char dnn_partitioning[] = "dnn-partitioning";
constexpr char dnn_placement[] = "dnn-placement";
constexpr char piper[] = "piper";
constexpr char profile_csv[] = "profile-csv";
constexpr char profile_json[] = "profile-json";

void read_machine(const std::string& bytes) { parse_catalogue_file(bytes, "machine.json"); }

/// Plain or packed, as the bytes say.
void read_kineto_file(const std::string& bytes) { read_kineto(as_file(bytes)); }

void read_nsys_file(const std::string& bytes) {
  if (!is_nsys(bytes)) return;
  for (const std::string& trace : traces_in(as_file(bytes))) read_trace(trace);
}

void read_own_trace(const std::string& bytes) { recording_in_trace(bytes); }

void read_timeline_file(const std::string& bytes) { read_timeline(bytes); }

void read_store(const std::string& bytes) {
  const ProfileStore store(as_file(bytes));
  for (const StoredRow& row : store.rows().rows) store.verdicts(row.id);
}

const nlohmann::json& sweep_schema_document() {
  static const nlohmann::json schema = nlohmann::json::parse(sweep_schema());
  return schema;
}

constexpr std::array all_targets{Target{"scenario", read_text_scenario, true, scenario_schema},
                                 Target{"run", run_scenario, true, scenario_schema},
                                 Target{"sweep", read_sweep_file, true, sweep_schema_document},
                                 Target{"rows", read_rows, true},
                                 Target{"order", read_order},
                                 Target{"config", read_model<hf_config>, true},
                                 Target{"megatron", read_model<megatron_args>},
                                 Target{"torchtitan", read_model<torchtitan_args>},
                                 Target{"deepspeed", read_model<deepspeed_config>, true},
                                 Target{"graph", read_model<pipedream_graph>},
                                 Target{"conf", read_model<pipedream_conf>, true},
                                 Target{"dnn_partitioning", read_model<dnn_partitioning>, true},
                                 Target{"dnn_placement", read_model<dnn_placement>, true},
                                 Target{"piper", read_model<piper>, true},
                                 Target{"profile_csv", read_model<profile_csv>},
                                 Target{"profile_json", read_model<profile_json>, true},
                                 Target{"machine", read_machine, true},
                                 Target{"kineto", read_kineto_file, true},
                                 Target{"kineto_gz", read_kineto_file},
                                 Target{"nsys", read_nsys_file},
                                 Target{"trace", read_own_trace, true},
                                 Target{"timeline", read_timeline_file},
                                 Target{"store", read_store}};

}  // namespace

std::span<const Target> targets() { return all_targets; }

const Target& chosen_target() {
  static const Target& chosen = []() -> const Target& {
    const char* name = std::getenv("PENSTOCK_FUZZ");
    for (const Target& target : targets()) {
      if (name != nullptr && target.name == name) return target;
    }
    std::fputs("PENSTOCK_FUZZ is none of:", stderr);
    for (const Target& target : targets()) std::fprintf(stderr, " %s", target.name.data());
    std::fputs("\n", stderr);
    std::exit(2);
  }();
  return chosen;
}

}  // namespace penstock::fuzz
