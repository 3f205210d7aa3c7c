#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/run/training_cost.hpp"
#include "sim/base/error.hpp"

namespace penstock {

struct Framework;

/// A request with its model and machine read, and defaults filled in.
struct TrainingTask {
  std::string source;    // the scenario's file, for error texts
  std::string model;     // as named in the scenario
  std::string hardware;  // a name of the catalogue, or a file as named in the scenario
  bool hardware_is_file = false;
  std::uint32_t devices = 1;
  std::uint64_t machine_devices = 1;  // of one machine
  bool by_kind = false;               // layers by kind; else by times of one microbatch
  std::uint64_t layers = 1;           // layers that an even cut counts
  std::uint64_t uncut = 0;            // layers that it leaves in one stage: those of an encoder
  std::uint64_t blocks = 1;           // all of these, embedding and head
  std::uint64_t heads = 0;            // greatest common divisor over all layers; 0: none
  std::uint64_t key_heads = 0;        // likewise, of keys and values
  std::uint64_t window = 0;           // the narrowest of attention, in tokens; 0: none
  bool latent = false;                // attention keeps latent vectors
  bool states_operators = false;      // settings name what selective recomputation repeats
  std::string module;                 // of the first layers; empty: none, or a setting places it
  std::string without;                // a module whose layers are not laid out; empty: none
  std::uint64_t experts = 1;          // likewise; 1: none
  std::optional<std::uint32_t> sequence = {};
  std::uint32_t microbatch = 1;
  bool microbatch_given = false;   // by the request or the model's file
  bool states_microbatch = false;  // the scenario has the key
  std::uint32_t global_batch = 1;
  std::uint32_t shard_groups = 1;          // of data replicas, in layouts with ZeRO
  std::vector<std::string> settings = {};  // of every scenario, as for --set
  std::vector<std::string> changes = {};   // behind these, as for --change
  std::string writer = "penstock new";     // named in scenarios
  WholeTraining training = {};             // whose days and cost are asked
  std::string dtype = "bf16";              // of the model
  Optimizer optimizer = Optimizer::adam;
  const Framework* framework = nullptr;  // that runs the layouts; any
};

/// Limit on the devices of a request.
constexpr std::uint32_t most_planned_devices = 16'384;

/// Limit on its tokens of an example, and on its examples of a microbatch and of an iteration.
constexpr std::uint32_t most_planned_examples = 1'000'000'000;

/// The user's request.
struct TrainingRequest {
  std::string model;     // a file of any format that a scenario reads
  std::string hardware;  // a machine of the catalogue, or its file
  std::uint32_t devices = 1;
  std::optional<std::uint32_t> sequence = {};
  std::optional<std::uint32_t> microbatch = {};
  std::optional<std::uint32_t> global_batch = {};
  std::string output = {};  // the file that the scenario goes to; empty or "-": standard output
  std::vector<std::string> settings = {};      // of every scenario, as for --set
  std::vector<std::string> changes = {};       // behind these, as for --change
  std::string writer = "penstock new";         // named in scenarios
  WholeTraining training = {};                 // whose days and cost are asked
  std::string hardware_option = "--hardware";  // that names the machine, for error texts
};

/// Reads the model and looks up the machine. Throws UsageError for an unknown machine, a model on
/// standard input, an output without a folder and a wrong setting, InputError for a model that a
/// scenario refuses.
TrainingTask read_training_task(const TrainingRequest& request, const Catalogue& catalogue);

/// The task without the layers of its module, on some of its devices; `whole` is a scenario of the
/// task.
TrainingTask task_beside_module(const TrainingTask& task, const Scenario& whole,
                                std::uint32_t devices);

/// The scenario of a layout, made from that of another layout of the task: what reading its
/// document gives, without the document.
Scenario with_choice(Scenario scenario, const TrainingTask& task, const LayoutChoice& choice);

/// Whether a key says something of layouts with a ZeRO level. Settings of such a key are left out
/// of the other layouts.
bool goes_with_zero(std::string_view pointer, std::uint32_t zero);

/// A plain layout that the settings of a task say something of: operators ask for selective
/// recomputation, gathers of weights for a ZeRO level. Throws UsageError where there is none.
LayoutChoice stated_layout(const TrainingTask& task);

/// Throws InputError for what belongs to one order, of which layouts choose their own.
void refuse_one_order(const Scenario& scenario, const std::string& source);

/// Throws InputError at the setting, "--change /pointer=value", where what is wrong with a scenario
/// of a task is at, below or above its pointer.
void refuse_setting(const TrainingTask& task, const InputError& error);

/// Runs a step that reads a scenario of a task; a wrong setting is refused so.
template <class Step>
auto about_settings(const TrainingTask& task, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    refuse_setting(task, error);
    throw;
  }
}

/// Applies those settings that say something of a layout to its document and keeps the order of the
/// sections. `option` is where they come from.
void add_settings(std::string_view option, const std::vector<std::string>& settings,
                  const LayoutChoice& choice, nlohmann::ordered_json& document);

/// The scenario of a layout as JSON text, with a description in each section and the settings of
/// the task applied.
std::string layout_document(const TrainingTask& task, const LayoutChoice& choice);

}  // namespace penstock
