#include "experiments/input/formats/transformers/hf_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// A value for an error text.
std::string shown(const json& value) {
  constexpr std::size_t longest = 40;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return shortened(value.dump(-1, ' ', true, json::error_handler_t::replace), longest);
}

std::string range_text(const HfField& field) {
  return fmt::format("{}, a whole number from {} to {}", field.summary, field.least, field.most);
}

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

HfFields::HfFields(const json& document) : object_(&document), around_(&document) {
  if (!document.is_object()) throw InputError("", "a config is a JSON object");
  const auto inner = document.find("text_config");
  if (inner == document.end() || inner->is_null()) return;
  place_ = "/text_config";
  if (!inner->is_object()) throw InputError(place_, "expected an object with the model's fields");
  object_ = &*inner;
}

HfFields::HfFields(const json& object, const json& around, std::string place)
    : object_(&object), around_(&around), place_(std::move(place)) {}

HfFields HfFields::around() const { return {*around_, *around_, ""}; }

std::string HfFields::place(std::string_view name) const { return place_ + pointer_step(name); }

const json* HfFields::find(std::string_view name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> HfFields::number(const HfField& field) const {
  for (const std::string_view name : field.names) {
    const json* value = name.empty() ? nullptr : find(name);
    if (value == nullptr) continue;
    const double number = value->is_number() ? value->get<double>() : -1;
    const bool fits = number >= field.least && number <= field.most && std::floor(number) == number;
    if (fits) return number;
    throw InputError(place(name),
                     fmt::format("{} is not valid: expected {}", shown(*value), range_text(field)));
  }
  return std::nullopt;
}

double HfFields::needed(const HfField& field) const {
  if (const auto value = number(field)) return *value;
  throw InputError(place(field.names[0]), fmt::format("\"{}\" is missing; expected {}",
                                                      field.names[0], range_text(field)));
}

std::optional<double> HfFields::rate(std::string_view name, double most) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (number >= 0 && number <= most) return number;
  throw InputError(place(name),
                   fmt::format("{} is not a number from 0 to {}", shown(*value), most));
}

std::optional<bool> HfFields::flag(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  throw InputError(place(name), fmt::format("{} is not true or false", shown(*value)));
}

std::optional<std::string> HfFields::word(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  throw InputError(place(name), fmt::format("{} is not a text", shown(*value)));
}

std::optional<std::vector<bool>> HfFields::layer_flags(std::string_view name, double layers) const {
  const json* value = find(name);
  if (value == nullptr || !value->is_array()) return std::nullopt;
  if (static_cast<double>(value->size()) != layers) {
    throw InputError(place(name), fmt::format("it lists {} layers; it must list {}, as many as "
                                              "there are",
                                              value->size(), layers));
  }
  std::vector<bool> flags;
  for (const json& item : *value) {
    if (item != 0 && item != 1) {
      throw InputError(
          fmt::format("{}/{}", place(name), flags.size()),
          fmt::format("{} is not 1, for a layer with experts, or 0, for one without", shown(item)));
    }
    flags.push_back(item == 1);
  }
  return flags;
}

std::optional<std::vector<std::size_t>> HfFields::layer_list(std::string_view name,
                                                             double layers) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) {
    throw InputError(place(name), fmt::format("{} is not a list of layers", shown(*value)));
  }
  std::vector<std::size_t> list;
  for (const json& item : *value) {
    const double layer = item.is_number_integer() ? item.get<double>() : -1;
    if (layer < 0 || layer >= layers) {
      throw InputError(
          fmt::format("{}/{}", place(name), list.size()),
          fmt::format("{} is no layer; layers are numbered from 0 to {}", shown(item), layers - 1));
    }
    list.push_back(static_cast<std::size_t>(layer));
  }
  return list;
}

std::optional<std::vector<std::string>> HfFields::layer_words(std::string_view name,
                                                              double layers) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array() || static_cast<double>(value->size()) != layers) {
    throw InputError(place(name),
                     fmt::format("it must be a list of {} texts, one a layer", layers));
  }
  std::vector<std::string> words;
  for (const json& item : *value) {
    if (!item.is_string()) {
      throw InputError(fmt::format("{}/{}", place(name), words.size()),
                       fmt::format("{} is not a text", shown(item)));
    }
    words.push_back(item.get<std::string>());
  }
  return words;
}

std::optional<std::string> HfFields::first_word_anywhere(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr && object_ != around_) return around().first_word_anywhere(name);
  if (value == nullptr || !value->is_array() || value->empty()) return std::nullopt;
  if (value->front().is_string()) return value->front().get<std::string>();
  throw InputError(place(name) + "/0", "it must be the name of a class");
}

std::optional<std::string> HfFields::word_anywhere(std::string_view name) const {
  if (auto value = word(name)) return value;
  return around().word(name);
}

std::optional<bool> HfFields::flag_anywhere(std::string_view name) const {
  if (const auto value = flag(name)) return value;
  return around().flag(name);
}

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
