#include "experiments/input/formats/transformers/hf_architectures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace penstock {
namespace {

// Shapes follow the modelling code of Hugging Face Transformers. Tests compare the parameters of
// each row with a published count.
constexpr HfArchitecture table[] = {
    {.name = "deepseek_v2", .class_name = "DeepseekV2ForCausalLM", .latent = true},
    {.name = "deepseek_v3",
     .class_name = "DeepseekV3ForCausalLM",
     .other_name = "kimi_k2",
     .latent = true,
     .dense_first = 3},
    {.name = "gemma", .class_name = "GemmaForCausalLM", .tied = true, .head_dim = 256},
    {.name = "gemma2",
     .class_name = "Gemma2ForCausalLM",
     .norms_after = true,
     .tied = true,
     .head_dim = 256,
     .window = WindowRule::alternate},
    {.name = "gemma3_text",
     .class_name = "Gemma3ForCausalLM",
     .other_name = "gemma3",
     .norms_after = true,
     .qk_norm = true,
     .tied = true,
     .head_dim = 256,
     .window = WindowRule::pattern},
    {.name = "glm4_moe", .class_name = "Glm4MoeForCausalLM", .out_bias = false, .dense_first = 1},
    {.name = "gpt2",
     .class_name = "GPT2LMHeadModel",
     .gated = false,
     .layer_norm = true,
     .linear_bias = true,
     .learned_positions = true,
     .tied = true,
     .dropout = 0.1,
     .dense_width = "n_inner"},
    {.name = "gpt_neox",
     .class_name = "GPTNeoXForCausalLM",
     .gated = false,
     .layer_norm = true,
     .linear_bias = true},
    {.name = "gpt_oss",
     .class_name = "GptOssForCausalLM",
     .attention_bias = true,
     .head_dim = 64,
     .window = WindowRule::alternate,
     .expert_width = "intermediate_size"},
    {.name = "llama", .class_name = "LlamaForCausalLM"},
    {.name = "llama4_text",
     .class_name = "Llama4ForConditionalGeneration",
     .other_name = "llama4",
     .shared_experts = 1,
     .head_dim = 128,
     .dense_width = "intermediate_size_mlp",
     .expert_width = "intermediate_size"},
    {.name = "mistral", .class_name = "MistralForCausalLM", .window = WindowRule::always},
    {.name = "mixtral",
     .class_name = "MixtralForCausalLM",
     .window = WindowRule::always,
     .expert_width = "intermediate_size"},
    {.name = "opt",
     .class_name = "OPTForCausalLM",
     .gated = false,
     .layer_norm = true,
     .linear_bias = true,
     .learned_positions = true,
     .extra_positions = 2,
     .tied = true,
     .dropout = 0.1,
     .dense_width = "ffn_dim"},
    {.name = "phi3", .class_name = "Phi3ForCausalLM", .window = WindowRule::always},
    {.name = "qwen2",
     .class_name = "Qwen2ForCausalLM",
     .qkv_bias = true,
     .window = WindowRule::when_used},
    {.name = "qwen2_moe",
     .class_name = "Qwen2MoeForCausalLM",
     .qkv_bias = true,
     .shared_gate = true,
     .window = WindowRule::when_used},
    {.name = "qwen3",
     .class_name = "Qwen3ForCausalLM",
     .qk_norm = true,
     .head_dim = 128,
     .window = WindowRule::when_used},
    {.name = "qwen3_moe",
     .class_name = "Qwen3MoeForCausalLM",
     .qk_norm = true,
     .window = WindowRule::when_used},
};

}  // namespace

std::span<const HfArchitecture> hf_architectures() { return table; }

const HfArchitecture* find_hf_architecture(std::string_view name) {
  if (name.empty()) return nullptr;
  const auto* found = std::find_if(std::begin(table), std::end(table), [&](const auto& row) {
    return row.name == name || row.other_name == name || row.class_name == name;
  });
  return found == std::end(table) ? nullptr : found;
}

std::string hf_architecture_names() {
  std::vector<std::string_view> names;
  for (const HfArchitecture& row : table) names.push_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace penstock
