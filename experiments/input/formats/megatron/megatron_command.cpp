#include "experiments/input/formats/megatron/megatron_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/megatron/shell_words.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Arguments that change the cost of a step but are not read, and the simulated behaviour.
struct UnreadArguments {
  std::string_view names;
  std::string_view instead;
};

constexpr std::array unread{
    UnreadArguments{"--transformer-engine-precision",
                    "products are simulated at the speed and size of /model/dtype"},
    UnreadArguments{
        "--accumulate-allreduce-grads-in-fp32, --grad-reduce-in-bf16, "
        "--use-precision-aware-optimizer, --main-grads-dtype, --main-params-dtype, "
        "--exp-avg-dtype, --exp-avg-sq-dtype",
        "gradients and optimizer state have the sizes of /model/dtype and /memory/optimizer"},
    UnreadArguments{"--fine-grained-activation-offloading",
                    "not moved to the host; /offload simulates that for activations"},
    UnreadArguments{"--no-overlap-p2p-communication, --tp-comm-overlap",
                    "collectives overlap with compute as in any simulated run"},
    UnreadArguments{"--distribute-saved-activations",
                    "saved activations are not distributed over the tensor group"},
    UnreadArguments{"--rampup-batch-size", "every step has the full global batch"},
    UnreadArguments{"--enable-cuda-graph, --external-cuda-graph, --cuda-graph-impl",
                    "launches are priced by /overheads/launch_us"}};

/// Arguments that make another model, layout or order, and what states it instead.
constexpr std::array refused{
    UnreadArguments{"--checkpoint-activations",
                    "write --recompute-granularity full --recompute-method uniform "
                    "--recompute-num-layers N"},
    UnreadArguments{"--o-lora-rank", "outputs of attention in two products are not simulated"},
    UnreadArguments{"--hybrid-override-pattern, --hybrid-layer-pattern, --is-hybrid-model, "
                    "--hybrid-attention-ratio, --hybrid-mlp-ratio, "
                    "--mamba-state-dim, --mamba-head-dim, --mamba-num-groups, --mamba-num-heads",
                    "layers of Mamba are read from the model's own config.json, under /model/file"},
    UnreadArguments{"--window-attn-skip-freq",
                    "layers whose windows differ are read from the model's own config.json, under "
                    "/model/file"},
    UnreadArguments{"--experimental-attention-variant, --linear-attention-freq, "
                    "--attention-output-gate, --moe-latent-size",
                    "such layers are read from the model's own config.json, under /model/file"},
    UnreadArguments{"--heterogeneous-layers-config-path, "
                    "--heterogeneous-layers-config-encoded-json",
                    "state layers that differ by kind, under /model/layers"},
    UnreadArguments{"--microbatch-group-size-per-virtual-pipeline-stage",
                    "leave it out and state \"group\" of interleaved-1f1b in /schedule"}};

/// Programs of Megatron-LM that train other models than pretrain_gpt.py.
constexpr std::string_view other_programs =
    "pretrain_bert.py, pretrain_ict.py, pretrain_mamba.py, pretrain_retro.py, pretrain_t5.py, "
    "pretrain_vision_classify.py, pretrain_vision_dino.py, pretrain_vision_inpaint.py, "
    "pretrain_vlm.py";

/// What is simulated in place of an argument, or states it; empty if none of `all` is this one.
std::string_view instead_of(std::string_view argument, std::span<const UnreadArguments> all) {
  for (const UnreadArguments& some : all) {
    if (is_listed(some.names, argument)) return some.instead;
  }
  return {};
}

/// The arguments that are read: those with a value, and flags.
constexpr std::string_view valued =
    "--attention-backend, --attention-dropout, --context-parallel-size, --cp-comm-type, "
    "--cpu-offloading-num-layers, --data-parallel-sharding-strategy, "
    "--decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers, "
    "--expert-model-parallel-size, --expert-tensor-parallel-size, --ffn-hidden-size, "
    "--fp4-format, --fp8-format, --fp8-recipe, --global-batch-size, --hidden-dropout, "
    "--hidden-size, --kv-channels, --kv-lora-rank, --make-vocab-size-divisible-by, "
    "--max-position-embeddings, --merge-file, --micro-batch-size, --moe-expert-capacity-factor, "
    "--moe-ffn-hidden-size, --moe-layer-freq, --moe-router-topk, "
    "--moe-shared-expert-intermediate-size, --moe-token-dispatcher-type, --mtp-num-layers, "
    "--nnodes, --normalization, --nproc-per-node, --num-attention-heads, "
    "--num-distributed-optimizer-instances, --num-experts, --num-layers, "
    "--num-layers-per-virtual-pipeline-stage, --num-query-groups, "
    "--num-virtual-stages-per-pipeline-rank, --optimizer, --optimizer-offload-fraction, "
    "--padded-vocab-size, --pipeline-model-parallel-layout, --pipeline-model-parallel-size, "
    "--position-embedding-type, --q-lora-rank, --qk-head-dim, --qk-pos-emb-head-dim, "
    "--recompute-granularity, --recompute-method, --recompute-modules, --recompute-num-layers, "
    "--seq-length, --sgd-momentum, --tensor-model-parallel-size, --tokenizer-type, "
    "--transformer-impl, --v-head-dim, --vocab-size, --window-size, --zero-stage";
constexpr std::string_view flags =
    "--account-for-embedding-in-pipeline-split, --account-for-loss-in-pipeline-split, "
    "--add-qkv-bias, --bf16, --cpu-offloading, --cross-entropy-loss-fusion, "
    "--disable-bias-linear, --fp16, --fp4-param-gather, --fp8-dot-product-attention, "
    "--fp8-multi-head-attention, --fp8-param-gather, --group-query-attention, "
    "--moe-layer-recompute, --moe-pad-expert-input-to-capacity, --moe-shared-expert-gate, "
    "--moe-shared-expert-overlap, --multi-latent-attention, --no-position-embedding, "
    "--no-scatter-gather-tensors-in-pipeline, --optimizer-cpu-offload, --overlap-grad-reduce, "
    "--overlap-moe-expert-parallel-comm, --overlap-param-gather, --qk-layernorm, --quick-geglu, "
    "--recompute-activations, --reuse-grad-buf-for-mxfp8-param-ag, --sequence-parallel, --swiglu, "
    "--torch-fsdp2-no-reshard-after-forward, --untie-embeddings-and-output-weights, "
    "--use-custom-fsdp, --use-distributed-optimizer, --use-flash-attn, --use-megatron-fsdp, "
    "--use-rotary-position-embeddings, --use-torch-fsdp2, --use-tp-pp-dp-mapping";

/// Arguments of Megatron-LM, srun and mpirun without effect here that are a letter or two from one
/// that is read.
constexpr std::string_view no_misspellings = "--fp4-recipe, --n, --nodes, --np, --vocab-file";

/// The argument that a misspelt one was meant for. Other arguments of Megatron-LM differ from those
/// that are read by more letters.
std::optional<std::string> meant_by(std::string name, bool of_launcher) {
  constexpr std::size_t most_wrong_letters = 2;
  std::replace(name.begin(), name.end(), '_', '-');
  if (is_listed(no_misspellings, name)) return std::nullopt;
  const std::string all = of_launcher ? "--nnodes, --nproc-per-node"  // of torchrun
                                      : fmt::format("{}, {}", valued, flags);
  return nearest(name, split_names(all), most_wrong_letters);
}

/// The launcher accepts both spellings.
std::string canonical(std::string_view name) {
  if (name == "--nproc_per_node") return "--nproc-per-node";
  return std::string(name);
}

/// torchrun's range of nodes is one number where both ends are equal: "2:2".
std::string without_range(const std::string& text) {
  const std::string least = text.substr(0, text.find(':'));
  return text == least + ":" + least ? least : text;
}

bool names_argument(const ShellWord& word) { return word.text.starts_with("--"); }

/// Splits a quoted command, or arguments quoted together with their values.
ShellWords taken_apart(const ShellWords& words) {
  ShellFields fields(words.empty() ? 1 : words.front().line);
  for (const ShellWord& word : words) {
    const bool several = names_argument(word) || word.text.find(" --") != std::string::npos;
    several ? fields.add_split(word) : fields.add(word);
    fields.end_word();
  }
  return fields.take();
}

bool takes(const ShellWords& words, std::string_view name) {
  return std::ranges::any_of(words, [&](const ShellWord& word) {
    return word.text == name || word.text.starts_with(std::string(name) + "=");
  });
}

bool states_sizes(const ShellWords& words) {
  return takes(words, "--num-layers") && takes(words, "--hidden-size");
}

/// Accepts a training command that lacks some sizes; the error then names the missing one.
bool states_a_size(const ShellWords& words) {
  return takes(words, "--num-layers") || takes(words, "--hidden-size") ||
         takes(words, "--num-attention-heads");
}

/// Whether a text is only arguments, on one or more lines.
bool is_bare(const ShellScript& script) {
  return !script.commands.empty() && names_argument(script.commands.front().front());
}

/// Arguments in a text without a command: in arrays, and on lines of their own.
ShellWords loose_words(const ShellScript& script) {
  ShellWords words;
  const auto append = [&](const ShellWords& more) {
    const ShellWords parts = taken_apart(more);
    words.insert(words.end(), parts.begin(), parts.end());
  };
  for (const ShellWords& array : script.arrays) append(array);
  for (const ShellWords& command : script.commands) {
    if (is_bare(script) || names_argument(command.front())) append(command);
  }
  return words;
}

/// The training commands, each as its words.
template <class IsTraining>
std::vector<ShellWords> training_commands(const ShellScript& script, IsTraining is_training) {
  std::vector<ShellWords> found;
  if (is_bare(script)) return found;
  for (const ShellWords& command : script.commands) {
    ShellWords words = taken_apart(command);
    if (is_training(words)) found.push_back(std::move(words));
  }
  return found;
}

void refuse_other_program(const ShellWords& words) {
  for (const ShellWord& word : words) {
    const std::string_view text = word.text;
    const std::string_view program = text.substr(text.rfind('/') + 1);
    if (!program.ends_with(".py") || !is_listed(other_programs, program)) continue;
    throw InputError(line_text(word.line),
                     fmt::format("{} is not read, only pretrain_gpt.py is; other models are read "
                                 "from their own config.json, under /model/file",
                                 program));
  }
}

/// Sorted, without duplicates.
std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

}  // namespace

MegatronCommand::MegatronCommand(std::string_view text) {
  const ShellScript script = read_shell_script(text);
  notes_ = script.notes;
  left_out_ = script.notes;
  std::vector<ShellWords> found = training_commands(script, states_sizes);
  ShellWords loose;
  if (found.empty()) {
    loose = loose_words(script);
    if (!states_sizes(loose)) found = training_commands(script, states_a_size);
  }
  if (found.size() > 1) {
    notes_.push_back(fmt::format("the last of {} training commands is read", found.size()));
  }
  if (found.empty() && !script.arrays.empty()) {
    notes_.emplace_back("no command takes --num-layers and --hidden-size; all arrays are read");
  }
  read(found.empty() ? loose : found.back());
}

void MegatronCommand::read(const ShellWords& words) {
  refuse_other_program(words);
  const auto program =
      std::ranges::find_if(words, [](const ShellWord& word) { return word.text.ends_with(".py"); });
  const auto own = program == words.end() ? words.begin() : program;
  for (std::size_t i = 0; i < words.size();) {
    const ShellWord& word = words[i++];
    if (!names_argument(word)) {
      if (word.text.empty() && !word.gaps.empty()) leave_out(word);
      continue;
    }
    ShellWords values;
    for (; i < words.size() && !names_argument(words[i]); ++i) values.push_back(words[i]);
    of_launcher_ = &word < &*own;
    add(word, std::move(values));
  }
}

/// A word that may expand to any number of arguments, or to one of unknown name.
void MegatronCommand::leave_out(const ShellWord& word) {
  left_out_.push_back(notes_.emplace_back(fmt::format("{}: left out: {}", line_text(word.line),
                                                      shortened(word.gaps.front().why, 120))));
}

void MegatronCommand::add(const ShellWord& word, ShellWords values) {
  const std::size_t equals = word.text.find('=');
  const std::string name = canonical(std::string_view(word.text).substr(0, equals));
  for (std::size_t i = is_listed(flags, name) ? 0 : 1; i < values.size(); ++i) {
    if (values[i].text.empty() && !values[i].gaps.empty()) leave_out(values[i]);
  }
  if (!word.gaps.empty() && word.gaps.front().at <= name.size()) return leave_out(word);
  if (!is_listed(valued, name) && !is_listed(flags, name)) return ignore(word, name, values);
  if (equals != std::string::npos) {
    values = {word};
    values.front().text = word.text.substr(equals + 1);
  }
  if (name == "--nnodes" && !values.empty()) {
    values.front().text = without_range(values.front().text);
  }
  arguments_[name] = {.line = word.line, .values = std::move(values)};
}

/// Adds a separate note for an argument that changes the cost of a step.
void MegatronCommand::ignore(const ShellWord& word, const std::string& name,
                             const ShellWords& values) {
  if (const auto stated = instead_of(name, refused); !stated.empty()) {
    throw InputError(line_text(word.line), fmt::format("{} is not read: {}", name, stated));
  }
  const std::string_view instead = instead_of(name, unread);
  if (const auto meant = instead.empty() ? meant_by(name, of_launcher_) : std::nullopt) {
    throw InputError(line_text(word.line),
                     fmt::format("{} is not known; did you mean {}?", shortened(name), *meant));
  }
  if (instead.empty()) return ignored_.push_back(shortened(name));
  const std::string value = values.empty() ? "" : " " + values.front().text;
  notes_.push_back(fmt::format("{}{} is not read: {}", name, shortened(value), instead));
}

const MegatronCommand::Argument* MegatronCommand::find(std::string_view name) const {
  const auto found = arguments_.find(name);
  return found == arguments_.end() ? nullptr : &found->second;
}

std::string MegatronCommand::place(std::string_view name) const {
  const Argument* argument = find(name);
  return argument == nullptr ? "" : line_text(argument->line);
}

void MegatronCommand::fail(std::string_view name, const std::string& what) const {
  throw InputError(place(name), fmt::format("{}: {}", name, what));
}

void MegatronCommand::fail_missing(std::string_view name, const std::string& what) const {
  constexpr std::size_t most = 5;
  const auto shown = std::span(left_out_).first(std::min(left_out_.size(), most));
  const std::string hidden = shown.empty() ? "" : fmt::format(" ({})", fmt::join(shown, "; "));
  throw InputError(fmt::format("{} is missing; {}{}", name, what, hidden));
}

std::optional<std::string> MegatronCommand::word(std::string_view name) const {
  const Argument* argument = find(name);
  if (argument == nullptr) return std::nullopt;
  if (argument->values.empty()) fail(name, "its value is missing");
  return known(name, argument->values.front());
}

std::string MegatronCommand::known(std::string_view name, const ShellWord& value) const {
  if (!value.gaps.empty()) {
    fail(name, fmt::format("{}; nothing is run, so write the value out", value.gaps.front().why));
  }
  if (!value.assumed.empty()) assumed_.push_back(fmt::format("{}: {}", name, value.assumed));
  return value.text;
}

std::vector<std::string> MegatronCommand::words(std::string_view name) const {
  std::vector<std::string> all;
  const Argument* argument = find(name);
  if (argument == nullptr) return all;
  for (const ShellWord& value : argument->values) {
    if (all.empty() || !value.text.empty()) all.push_back(known(name, value));  // noted otherwise
  }
  return all;
}

std::optional<double> MegatronCommand::whole(std::string_view name, double most,
                                             double least) const {
  const auto text = word(name);
  if (!text) return std::nullopt;
  const auto value = plain_number(*text);
  if (value && *value >= least && *value <= most && std::floor(*value) == *value) return value;
  fail(name,
       fmt::format("\"{}\" is not a whole number from {} to {}", shortened(*text), least, most));
}

double MegatronCommand::needed(std::string_view name, double most) const {
  if (const auto value = whole(name, most)) return *value;
  fail_missing(name, fmt::format("add it with a whole number from 1 to {}", most));
}

std::optional<double> MegatronCommand::rate(std::string_view name, double most) const {
  const auto text = word(name);
  if (!text) return std::nullopt;
  const auto value = plain_number(*text);
  if (value && *value >= 0 && *value <= most) return value;
  fail(name, fmt::format("\"{}\" is not a number from 0 to {}", shortened(*text), most));
}

std::optional<std::string> MegatronCommand::one_of(
    std::string_view name, std::initializer_list<std::string_view> words) const {
  const auto text = word(name);
  if (!text || std::ranges::find(words, *text) != words.end()) return text;
  fail(name,
       fmt::format("\"{}\" is not known; known: {}", shortened(*text), fmt::join(words, ", ")));
}

std::optional<double> MegatronCommand::whole_if_known(std::string_view name, double most) {
  const Argument* argument = find(name);
  const auto known = [](const ShellWord& word) {  // "2:4" is, and no number
    return word.gaps.empty() && (plain_number(word.text) || word.text.find(':') != word.text.npos);
  };
  const bool unknown =
      argument != nullptr && (argument->values.empty() || !known(argument->values.front()));
  if (!unknown) return whole(name, most);
  notes_.push_back(fmt::format("{}: {} is not known here", place(name), name));
  return std::nullopt;
}

std::vector<std::string> MegatronCommand::notes() const {
  constexpr std::size_t most = 200;
  std::vector<std::string> all = notes_;
  const std::vector<std::string> assumed = sorted(assumed_);
  all.insert(all.end(), assumed.begin(), assumed.end());
  std::vector<std::string> ignored = sorted(ignored_);
  if (ignored.size() > most) ignored.resize(most);
  if (!ignored.empty()) {
    all.push_back(fmt::format("arguments that are not read: {}", fmt::join(ignored, ", ")));
  }
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace penstock
