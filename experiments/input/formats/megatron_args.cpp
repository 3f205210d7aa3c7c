#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/megatron/megatron_command.hpp"
#include "experiments/input/formats/megatron/megatron_launch.hpp"
#include "experiments/input/formats/megatron/megatron_stages.hpp"
#include "experiments/input/formats/megatron/megatron_training.hpp"
#include "experiments/input/formats/registry.hpp"
#include "experiments/input/formats/transformers/transformer_shape.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

// Defaults follow Megatron-LM's arguments.py, in releases whose default implementation is
// Transformer Engine.

namespace penstock::megatron_args_file {
namespace {

using Limit = TransformerLimits;

constexpr double gpt2_vocab = 50'257;  // tokens of GPT-2's byte-pair encoding

/// Fills in a shape from a command.
class Reader {
 public:
  Reader(const MegatronCommand& command, std::vector<std::string>& notes)
      : command_(command), notes_(notes) {}

  TransformerShape read() {
    read_sizes();
    read_facts();
    read_dropout();
    read_vocab();
    if (command_.has("--multi-latent-attention")) {
      read_latent();
    } else {
      read_heads();
    }
    read_experts();
    read_window();
    return shape_;
  }

 private:
  void read_sizes() {
    shape_.layers = command_.needed("--num-layers", Limit::layers);
    shape_.hidden = command_.needed("--hidden-size", Limit::width);
    shape_.heads = command_.needed("--num-attention-heads", Limit::heads);
    shape_.further = command_.whole("--mtp-num-layers", Limit::further, 0).value_or(0);
    const bool swiglu = command_.has("--swiglu");
    shape_.gated = swiglu || command_.has("--quick-geglu");
    // A gated MLP has a third matrix. With --swiglu Megatron-LM then takes 2/3 of the width,
    // rounded down to a multiple of 64.
    const double width = 4 * shape_.hidden;
    const double usual = swiglu ? std::floor(width * 2 / 3 / 64) * 64 : width;
    shape_.intermediate = command_.whole("--ffn-hidden-size", Limit::width).value_or(usual);
    if (positions_are_learned()) {
      shape_.learned_positions = command_.needed("--max-position-embeddings", Limit::positions);
    }
  }

  bool positions_are_learned() const {
    if (command_.has("--no-position-embedding")) return false;
    if (command_.has("--use-rotary-position-embeddings")) return false;
    const auto type =
        command_.one_of("--position-embedding-type",
                        {"learned_absolute", "rope", "yarn", "mrope", "relative", "none"});
    return type.value_or("learned_absolute") == "learned_absolute";
  }

  void read_facts() {
    const auto norm = command_.one_of("--normalization", {"LayerNorm", "RMSNorm"});
    shape_.layer_norm = norm.value_or("LayerNorm") == "LayerNorm";
    const bool biases = !command_.has("--disable-bias-linear");
    shape_.qkv_bias = biases || command_.has("--add-qkv-bias");
    shape_.out_bias = biases;
    shape_.mlp_bias = biases;
    shape_.qk_norm = command_.has("--qk-layernorm");
    shape_.tied = !command_.has("--untie-embeddings-and-output-weights");
    shape_.fused_loss = command_.has("--cross-entropy-loss-fusion");
    shape_.flash = attention_is_fused();
  }

  /// Transformer Engine, Megatron-LM's default, fuses attention.
  bool attention_is_fused() {
    const auto engine = command_.one_of("--transformer-impl",
                                        {"local", "transformer_engine", "inference_optimized"});
    const auto backend =
        command_.one_of("--attention-backend", {"auto", "flash", "fused", "unfused", "local"});
    if (command_.has("--use-flash-attn")) return true;
    if (backend) return *backend != "unfused" && *backend != "local";
    if (engine) return *engine != "local";
    notes_.emplace_back(
        "fused (flash) attention is assumed, as in Transformer Engine, the default; with "
        "--transformer-impl local attention scores are kept");
    return true;
  }

  void read_dropout() {
    constexpr double usual = 0.1;
    shape_.attention_dropout = command_.rate("--attention-dropout", 1).value_or(usual);
    shape_.hidden_dropout = command_.rate("--hidden-dropout", 1).value_or(usual);
  }

  /// The vocabulary, padded so that all devices of a tensor-parallel group hold the same number of
  /// tokens.
  void read_vocab() {
    const auto padded = command_.whole("--padded-vocab-size", Limit::vocab);
    const double step =
        command_.whole("--make-vocab-size-divisible-by", Limit::vocab).value_or(128) *
        command_.whole("--tensor-model-parallel-size", Limits::ranks).value_or(1);
    shape_.vocab = padded ? *padded : std::ceil(vocab() / step) * step;
  }

  /// The NullTokenizer adds a token, the end of a document.
  double vocab() const {
    if (const auto given = command_.whole("--vocab-size", Limit::vocab)) {
      return *given + (command_.is("--tokenizer-type", "NullTokenizer") ? 1 : 0);
    }
    const bool gpt2 = command_.has("--tokenizer-type")
                          ? command_.word("--tokenizer-type") == "GPT2BPETokenizer"
                          : command_.has("--merge-file");
    if (!gpt2) {
      command_.fail_missing("--vocab-size",
                            "tokenizers are not read, so add it or --padded-vocab-size");
    }
    notes_.push_back(fmt::format("GPT-2's vocabulary of {} tokens is assumed", gpt2_vocab));
    return gpt2_vocab;
  }

  void read_heads() {
    shape_.kv_heads = shape_.heads;
    if (command_.has("--group-query-attention")) {
      shape_.kv_heads = command_.whole("--num-query-groups", Limit::heads).value_or(1);
    }
    if (std::fmod(shape_.heads, shape_.kv_heads) != 0) {
      command_.fail("--num-query-groups",
                    fmt::format("{} groups do not divide {} heads", shape_.kv_heads, shape_.heads));
    }
    const auto width = command_.whole("--kv-channels", Limit::width);
    shape_.head_dim = width.value_or(shape_.hidden / shape_.heads);
    if (std::floor(shape_.head_dim) == shape_.head_dim) return;
    command_.fail("--num-attention-heads",
                  fmt::format("a width of {} has no {} heads of a whole width; add --kv-channels",
                              shape_.hidden, shape_.heads));
  }

  void read_latent() {
    const auto width = [&](const char* name, double usual) {
      return command_.whole(name, Limit::width).value_or(usual);
    };
    shape_.latent = LatentShape{.q_lora_rank = width("--q-lora-rank", 0),
                                .kv_lora_rank = width("--kv-lora-rank", 32),
                                .nope = width("--qk-head-dim", 128),
                                .rope = width("--qk-pos-emb-head-dim", 64),
                                .value = width("--v-head-dim", 128)};
    if (command_.has("--qk-layernorm")) return;
    notes_.emplace_back(
        "latent attention without --qk-layernorm: norms of its latent vectors are counted");
  }

  void read_experts() {
    const auto count = command_.whole("--num-experts", Limit::experts);
    if (!count) return;
    ExpertShape experts{.experts = *count,
                        .chosen = command_.whole("--moe-router-topk", Limit::experts).value_or(2)};
    if (experts.chosen > *count) {
      command_.fail(command_.has("--moe-router-topk") ? "--moe-router-topk" : "--num-experts",
                    fmt::format("{} experts cannot be chosen out of {}", experts.chosen, *count));
    }
    experts.intermediate =
        command_.whole("--moe-ffn-hidden-size", Limit::width).value_or(shape_.intermediate);
    experts.shared_intermediate =
        command_.whole("--moe-shared-expert-intermediate-size", Limit::width, 0).value_or(0);
    experts.shared_gate =
        experts.shared_intermediate > 0 && command_.has("--moe-shared-expert-gate");
    experts.bias = shape_.mlp_bias;
    // Above an even share no token is dropped; only padded experts work on more.
    const double capacity = command_.rate("--moe-expert-capacity-factor", 1e6).value_or(0);
    const bool pads = command_.has("--moe-pad-expert-input-to-capacity");
    if (pads || capacity < 1) experts.capacity_factor = capacity;
    shape_.experts = experts;
    read_layers_with_experts();
  }

  void read_layers_with_experts() {
    constexpr const char* name = "--moe-layer-freq";
    const std::string pattern = command_.word(name).value_or("1");
    if (pattern.find('[') == std::string::npos) {
      const double every = command_.whole(name, Limit::layers).value_or(1);
      for (double layer = 0; layer < shape_.layers; ++layer) {
        shape_.has_experts.push_back(std::fmod(layer, every) == 0);
      }
      return;
    }
    for (const std::size_t number : listed_layers(name, pattern)) {
      if (number > 1) command_.fail(name, "a layer has experts, 1, or none, 0");
      shape_.has_experts.push_back(number == 1);
    }
  }

  std::vector<std::size_t> listed_layers(const char* name, const std::string& pattern) const {
    std::vector<std::size_t> list;
    try {
      list = python_list(pattern);
    } catch (const InputError& error) {
      command_.fail(name, error.what());
    }
    if (static_cast<double>(list.size()) == shape_.layers) return list;
    command_.fail(name, fmt::format("it lists {} layers, but --num-layers is {}", list.size(),
                                    shape_.layers));
  }

  /// "(1024,0)" or "1024,0": tokens before and after the current one; -1 is all of them.
  void read_window() {
    const auto text = command_.word("--window-size");
    if (!text) return;
    const std::size_t from = text->find_first_of("0123456789-");
    double before = -2;
    if (from != std::string::npos) {
      std::from_chars(text->data() + from, text->data() + text->size(), before);
    }
    if (!(before >= -1 && before <= Limit::positions) || std::floor(before) != before) {
      command_.fail("--window-size",
                    "it must be a number of tokens before and one behind, as in (1024,0)");
    }
    if (before >= 0) shape_.window.assign(static_cast<std::size_t>(shape_.layers), before + 1);
  }

  const MegatronCommand& command_;
  std::vector<std::string>& notes_;
  TransformerShape shape_;
};

/// One size is enough; the error then names the missing flag.
bool recognizes(std::string_view text) {
  return has_sign(text, false, {"--num-layers", "--hidden-size", "--num-attention-heads"});
}

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  MegatronCommand command(text);
  ModelFile file{.architecture = "megatron"};
  const TransformerShape shape = Reader(command, file.notes).read();
  file.max_sequence = command.whole("--max-position-embeddings", Limit::positions);
  MegatronStages cut = megatron_stages(command, shape.layers, shape.further);
  file.command = megatron_training(command, cut, file.notes);
  file.stages = std::move(cut.stages);
  file.spec = transformer_spec(shape);
  const std::vector<std::string> notes = command.notes();
  file.notes.insert(file.notes.end(), notes.begin(), notes.end());
  return file;
}

/// A script, and the same for a recipe of Megatron-Bridge.
std::vector<LaunchFile> write_launch(const TrainingLaunch& launch) {
  const LaunchFile overrides{".yaml", bridge_overrides(launch)};
  if (!missing_in_script(launch.model).empty()) return {overrides};
  return {{".sh", megatron_script(launch)}, overrides};
}

}  // namespace

constinit extern const FormatEntry megatron_args_entry{
    "megatron-args",
    ".sh",
    "a training command of Megatron-LM, in a shell script or alone, which is never run; read and "
    "written",
    recognizes,
    read_model,
    write_launch};

}  // namespace penstock::megatron_args_file
