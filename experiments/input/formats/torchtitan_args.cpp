#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/megatron/shell_words.hpp"
#include "experiments/input/formats/registry.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/formats/torchtitan/torchtitan_launch.hpp"
#include "sim/base/error.hpp"

// Names, defaults and what follows from them are those of torchtitan's configs.py,
// pipeline_parallel.py and parallel_dims.py.

namespace penstock::torchtitan_args_file {
namespace {

/// Keys of /parallelism that change no layout that is simulated.
constexpr std::string_view harmless =
    "disable_loss_parallel, enable_async_tensor_parallel, context_parallel_load_balancer, "
    "context_parallel_rotate_method, enable_fsdp_symm_mem, full_dtensor, enable_compiled_autograd, "
    "pipeline_parallel_expert_parallel_overlap";

/// What selective checkpointing by operator recomputes, nearly: it keeps the output of attention
/// and of every other product. Held against measured runs in experiments/papers/torchtitan.
const std::vector<std::string> selective_operators{"mlp", "norm"};

struct Argument {
  std::string value;
  std::size_t line = 1;
  std::string name = {};  // that states it; empty: the argument's own
};

/// The arguments of a command: "--parallelism.tensor_parallel_degree 4" or with "=".
class Arguments {
 public:
  explicit Arguments(std::string_view text) {
    const ShellScript script = read_shell_script(text);
    for (const ShellWords& command : script.commands) {
      if (!std::ranges::any_of(command, names_parallelism)) continue;
      by_launcher_ = by_launcher_ || std::ranges::any_of(command, is_launcher);
      take(command);
    }
    if (by_launcher_) take_processes(script.variables);
  }

  std::optional<std::string> word(std::string_view name) {
    read_.emplace_back(name);
    const auto found = all_.find(name);
    return found == all_.end() ? std::nullopt : std::optional(found->second.value);
  }

  /// Whether a config states what the command does not: torchtitan's own launcher always has one.
  bool names_config() {
    bool names = by_launcher_;
    for (const char* name : {"config", "module", "job.config_file"}) {
      names = word(name).has_value() || names;
    }
    return names;
  }

  /// Whether the number of processes is the default of torchtitan's launcher.
  bool assumes_processes() const { return assumes_processes_; }

  std::optional<std::int64_t> whole(std::string_view name, double least = 1) {
    const auto text = word(name);
    if (!text) return std::nullopt;
    const auto value = plain_number(*text);
    if (value && *value >= least && *value <= 1e9 && *value == std::floor(*value)) {
      return static_cast<std::int64_t>(*value);
    }
    fail(name, fmt::format("\"{}\" is not a whole number from {} to 1e9", shortened(*text), least));
  }
  std::uint32_t degree(std::string_view name) {
    return static_cast<std::uint32_t>(whole(name).value_or(1));
  }

  /// One of some words; the first without the argument.
  std::string one_of(std::string_view name, std::initializer_list<std::string_view> words) {
    const std::string text = word(name).value_or(std::string(*words.begin()));
    if (std::ranges::find(words, text) != words.end()) return text;
    fail(name, fmt::format("\"{}\" is not simulated; known: {}", shortened(text),
                           fmt::join(words, ", ")));
  }

  bool flag(std::string_view section, std::string_view key, bool otherwise) {
    const bool off = word(fmt::format("{}.no_{}", section, key)).has_value();
    const auto on = word(fmt::format("{}.{}", section, key));
    if (off || on == "False" || on == "false") return false;
    return on ? true : otherwise;
  }

  /// Refuses arguments that change the layout and are not read; the others are noted.
  std::vector<std::string> notes() const {
    std::vector<std::string> ignored;
    for (const auto& [name, argument] : all_) {
      if (std::ranges::find(read_, name) != read_.end()) continue;
      const std::string_view key = std::string_view(name).substr(name.find('.') + 1);
      if (name.starts_with("parallelism.") && !is_listed(harmless, key)) {
        fail(name, "it is not read");
      }
      if (name.ends_with("_degree")) fail(name, fmt::format("write --parallelism.{}", key));
      if (name == "training.batch_size") fail(name, "write --training.local_batch_size");
      ignored.push_back("--" + name);
    }
    if (ignored.empty()) return {};
    return {fmt::format("arguments that are not read: {}", fmt::join(ignored, ", "))};
  }

  /// The arguments of torchtitan that were asked for and are absent, but for those without a
  /// default and for older names.
  std::vector<std::string> absent() const {
    std::set<std::string> names;
    for (const std::string& name : read_) {
      const bool of_torchtitan = name.find('.') != name.npos && name.find(".no_") == name.npos;
      if (of_torchtitan && !all_.contains(name)) names.insert("--" + name);
    }
    for (const char* name : {"--job.config_file", "--training.compile",
                             "--training.local_batch_size", "--training.seq_len"}) {
      names.erase(name);
    }
    return {names.begin(), names.end()};
  }

  [[noreturn]] void fail(std::string_view name, const std::string& what) const {
    const auto found = all_.find(name);
    if (found == all_.end()) throw InputError("", fmt::format("--{}: {}", name, what));
    const Argument& stated = found->second;
    throw InputError(line_text(stated.line), stated.name.empty()
                                                 ? fmt::format("--{}: {}", name, what)
                                                 : fmt::format("{}: {}", stated.name, what));
  }

 private:
  static bool names_parallelism(const ShellWord& word) {
    return word.text.starts_with("--parallelism.") || word.text == "torchtitan.train";
  }
  static bool is_launcher(const ShellWord& word) { return word.text.ends_with("run_train.sh"); }

  void take(const ShellWords& words) {
    all_.clear();  // the last command counts
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!words[i].text.starts_with("--")) continue;
      const std::size_t equals = words[i].text.find('=');
      std::string name = words[i].text.substr(2, equals == std::string::npos ? equals : equals - 2);
      std::replace(name.begin(), name.end(), '-', '_');
      Argument& argument = all_[name] = {.line = words[i].line};
      if (equals != std::string::npos) {
        argument.value = words[i].text.substr(equals + 1);
      } else if (i + 1 < words.size() && !words[i + 1].text.starts_with("--")) {
        argument.value = words[++i].text;
      }
    }
  }

  /// run_train.sh starts $NGPU of them on one machine, 8 by default.
  void take_processes(const ShellVariables& variables) {
    const auto found = variables.find("NGPU");
    const bool states = found != variables.end() && !found->second.words.empty();
    const ShellWord stated = states ? found->second.words.front() : ShellWord{};
    if (!stated.gaps.empty() || all_.contains("nproc_per_node")) return;
    assumes_processes_ = stated.text.empty();
    all_["nproc_per_node"] = {assumes_processes_ ? "8" : stated.text, stated.line, "NGPU"};
  }

  bool by_launcher_ = false;
  bool assumes_processes_ = false;
  std::map<std::string, Argument, std::less<>> all_;
  std::vector<std::string> read_;
};

void read_degrees(Arguments& arguments, TrainingCommand& command) {
  command.tensor = arguments.degree("parallelism.tensor_parallel_degree");
  command.sequence_parallel =
      arguments.flag("parallelism", "enable_sequence_parallel", true) && *command.tensor > 1;
  command.pipeline = arguments.degree("parallelism.pipeline_parallel_degree");
  command.context = arguments.degree("parallelism.context_parallel_degree");
  command.expert = arguments.degree("parallelism.expert_parallel_degree");
  const auto experts = arguments.whole("parallelism.expert_tensor_parallel_degree");
  if (experts) command.expert_tensor = static_cast<std::uint32_t>(*experts);
  if (!experts && *command.expert > 1) command.expert_tensor = 1;  // they borrow the tensor group
  const auto machine = arguments.whole("nproc_per_node");
  const auto machines = arguments.whole("nnodes");
  if (machine) command.devices = static_cast<std::uint32_t>(*machine * machines.value_or(1));
  const std::uint64_t copy = std::uint64_t{*command.pipeline} * *command.tensor * *command.context;
  if (arguments.assumes_processes() && *command.devices % copy != 0) command.devices.reset();
}

/// FSDP2 shards everything; what stays gathered between forward and backward is ZeRO-2.
void read_replicas(Arguments& arguments, TrainingCommand& command) {
  constexpr std::string_view shard_name = "parallelism.data_parallel_shard_degree";
  const std::uint32_t replicated = arguments.degree("parallelism.data_parallel_replicate_degree");
  const std::int64_t shards = arguments.whole(shard_name, -1).value_or(-1);
  const std::string policy =
      arguments.one_of("parallelism.fsdp_reshard_after_forward", {"default", "always", "never"});
  const bool sharded = shards != 1 || *command.context > 1;
  if (sharded) command.shard_groups = replicated;
  if (shards > 0) command.data = static_cast<std::uint32_t>(shards) * replicated;
  const bool gathers_again = policy == "default" ? *command.pipeline == 1 : policy == "always";
  command.zero = !sharded ? 0 : gathers_again ? 3 : 2;
}

void read_cut(Arguments& arguments, TrainingCommand& command) {
  const std::string name =
      arguments.word("parallelism.pipeline_parallel_schedule").value_or("1F1B");
  const std::string order =
      arguments.word("parallelism.pipeline_parallel_schedule_csv").value_or("");
  const auto known = std::ranges::find(titan_schedules, name, &TitanSchedule::torch);
  const bool several =
      known != titan_schedules.end() ? known->several : name == titan_order_of_several;
  if (known == titan_schedules.end() && order.empty()) {
    arguments.fail("parallelism.pipeline_parallel_schedule",
                   fmt::format("\"{}\" is not simulated", shortened(name)));
  }
  const auto first =
      arguments.whole("parallelism.pipeline_parallel_first_stage_less_layers", 0).value_or(1);
  const auto last =
      arguments.whole("parallelism.pipeline_parallel_last_stage_less_layers", 0).value_or(1);
  const auto per_stage = arguments.whole("parallelism.pipeline_parallel_layers_per_stage");
  if (*command.pipeline == 1) return;
  if (first != last || first > 1) {
    arguments.fail("parallelism.pipeline_parallel_first_stage_less_layers",
                   "embedding and head count as one layer each, or as none");
  }
  command.partition = first == 1 ? "even_with_ends" : "even";
  command.chunks = several ? 2 : 1;
  if (per_stage) command.layers_per_stage = static_cast<std::uint32_t>(*per_stage);
  command.order_file = order;
  if (order.empty()) command.schedule = known->rule;
}

/// A pipeline runs the local batch at once; without one the local batch is a microbatch. Both sizes
/// are not known where a config has them.
void read_batch(Arguments& arguments, TrainingCommand& command) {
  const auto stated = arguments.whole("training.local_batch_size");
  const auto local = stated.value_or(8);
  const bool known = stated || !command.names_config;
  const auto global = arguments.whole("training.global_batch_size", -1).value_or(-1);
  const auto size = arguments.whole("parallelism.pipeline_parallel_microbatch_size").value_or(1);
  const auto shards = arguments.whole("parallelism.data_parallel_shard_degree", -1).value_or(-1);
  const auto replicas = shards * arguments.degree("parallelism.data_parallel_replicate_degree");
  const bool pipelined = *command.pipeline > 1;
  if (known && pipelined && global > 0 && shards > 0 && global != local * replicas) {
    arguments.fail("training.global_batch_size",
                   fmt::format("it is not local_batch_size x replicas, {}: several runs of a "
                               "pipeline per update are not simulated",
                               local * replicas));
  }
  if (known) command.microbatch = static_cast<std::uint32_t>(pipelined ? size : local);
  if (known && pipelined && local % size != 0) {
    arguments.fail("training.local_batch_size",
                   fmt::format("microbatches of {} do not divide {}", size, local));
  }
  if (global > 0) command.global_batch = static_cast<std::uint32_t>(global);
  if (pipelined ? known : global <= 0) {
    command.microbatches = static_cast<std::uint32_t>(pipelined ? local / size : 1);
  }
  constexpr std::int64_t usual_tokens = 2048;
  const auto tokens = arguments.whole("training.seq_len");
  if (tokens || !command.names_config) {
    command.sequence = static_cast<double>(tokens.value_or(usual_tokens));
  }
}

std::string dtype_of(Arguments& arguments) {
  constexpr const char* key = "model.converters";
  const std::string text = arguments.word(key).value_or("");
  std::string_view dtype = "bf16", of_experts;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view name = trimmed(take_until(rest, ','));
    const auto found = std::ranges::find(titan_converters, name, &TitanConverter::name);
    if (found == titan_converters.end()) {
      arguments.fail(key, fmt::format("\"{}\" is not simulated; known: quantize.linear.float8, "
                                      "quantize.linear.mx",
                                      shortened(name)));
    }
    (found->of_experts ? of_experts : dtype) = found->dtype;
  }
  if (!of_experts.empty() && of_experts != dtype) {
    arguments.fail(key, "products of experts in another type than the others are not simulated");
  }
  return std::string(dtype);
}

void read_memory(Arguments& arguments, TrainingCommand& command) {
  const std::string mode =
      arguments.one_of("activation_checkpoint.mode", {"selective", "full", "none"});
  arguments.one_of("activation_checkpoint.selective_ac_option", {"op"});
  command.recompute = mode == "none"   ? RecomputeMode::none
                      : mode == "full" ? RecomputeMode::full
                                       : RecomputeMode::selective;
  if (mode == "selective") command.recompute_operators = selective_operators;
  command.dtype = dtype_of(arguments);
  const bool older = arguments.flag("training", "compile", false);
  command.stack = arguments.flag("compile", "enable", older) ? "fsdp-compiled" : "fsdp-eager";
  arguments.one_of("optimizer.name", {"AdamW", "Adam"});
  arguments.one_of("training.dtype", {"float32"});
  arguments.one_of("training.mixed_precision_param", {"bfloat16"});
  if (arguments.flag("training", "enable_cpu_offload", false)) {
    arguments.fail("training.enable_cpu_offload", "weights on the host are not simulated");
  }
}

bool recognizes(std::string_view text) {
  return has_sign(text, false, {"--parallelism.", "torchtitan.train"});
}

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  Arguments arguments(text);
  ModelFile file;
  file.command.names_config = arguments.names_config();
  read_degrees(arguments, file.command);
  read_replicas(arguments, file.command);
  read_cut(arguments, file.command);
  read_batch(arguments, file.command);
  read_memory(arguments, file.command);
  file.notes = arguments.notes();
  if (arguments.assumes_processes()) {
    file.notes.emplace_back(
        file.command.devices
            ? "run_train.sh starts 8 processes; NGPU=N in front states another number"
            : "run_train.sh starts 8 processes, which the degrees do not divide; a multiple is "
              "assumed, which NGPU=N in front states");
  }
  if (file.command.names_config) {
    file.notes.push_back(
        fmt::format("the config that the command names is not read; defaults of torchtitan are "
                    "assumed for {}",
                    fmt::join(arguments.absent(), ", ")));
  }
  return file;
}

/// A command, and the order where torchtitan has no name for it.
std::vector<LaunchFile> write_launch(const TrainingLaunch& launch) {
  std::vector<LaunchFile> files{{".sh", torchtitan_script(launch)}};
  if (launch.command.pipeline.value_or(1) > 1 &&
      titan_schedule(launch.command.schedule) == nullptr) {
    files.push_back({".csv", write_torch_csv(*launch.order).text});
  }
  return files;
}

}  // namespace

constinit extern const FormatEntry torchtitan_args_entry{
    "torchtitan-args",
    ".sh",
    "a training command of torchtitan with its overrides, in a shell script, which is never run; "
    "read and written",
    recognizes,
    read_model,
    write_launch,
    "/model/command"};

}  // namespace penstock::torchtitan_args_file
