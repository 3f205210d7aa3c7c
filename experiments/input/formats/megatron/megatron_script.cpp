#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/formats/megatron/megatron_launch.hpp"

namespace penstock {
namespace {

std::string quoted(const std::string& value) {
  const bool plain = value.find_first_of("|*()[], ") == std::string::npos;
  return plain ? value : "'" + value + "'";
}

/// As YAML: true, false, 4, "text", [a, b].
std::string yaml_value(const MegatronArgument& argument) {
  if (argument.value.empty()) return argument.name.empty() ? "false" : "true";
  if (argument.name.empty()) return argument.value;
  if (argument.bridge == "model.recompute_modules") {
    std::string list = argument.value;
    std::replace(list.begin(), list.end(), ' ', ',');
    return "[" + list + "]";
  }
  const bool number = argument.value.find_first_not_of("0123456789.") == std::string::npos;
  return number ? argument.value : "\"" + argument.value + "\"";
}

/// What a config states that a script repeats.
std::vector<MegatronArgument> detail_arguments(const ModelDetails& details) {
  std::vector<MegatronArgument> all;
  if (details.norm_epsilon) all.push_back({"--norm-epsilon", json_number(*details.norm_epsilon)});
  if (details.rotary_base) all.push_back({"--rotary-base", json_number(*details.rotary_base)});
  if (const double share = details.rotary_share.value_or(1); share != 1) {
    all.push_back({"--rotary-percent", json_number(share)});
  }
  if (details.scoring == "sigmoid") all.push_back({"--moe-router-score-function", "sigmoid"});
  if (details.activation == "relu2") all.push_back({"--squared-relu"});
  if (details.rope_scaling == "llama3") {
    all.push_back({"--use-rope-scaling"});
    all.push_back({"--rope-scaling-factor", json_number(details.rope_factor)});
  }
  return all;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

/// What no argument says of a model. MLPs have GELU, and gated ones SiLU.
std::vector<std::string> details_left_out(const ModelDetails& details, bool gated) {
  std::vector<std::string> left_out;
  const std::string& activation = details.activation;
  const bool usual =
      gated ? is_one_of(activation, {"", "silu", "swish"})
            : activation.empty() || activation.starts_with("gelu") || activation == "relu2";
  if (!usual) left_out.push_back("hidden_act " + activation);
  if (!is_one_of(details.scoring, {"", "softmax", "sigmoid"})) {
    left_out.push_back("scoring_func " + details.scoring);
  }
  if (!is_one_of(details.rope_scaling, {"", "llama3"})) {
    left_out.push_back("rope_scaling " + details.rope_scaling);
  }
  return left_out;
}

/// And of a training.
std::vector<std::string> training_left_out(const TrainingLaunch& launch) {
  std::vector<std::string> left_out = launch.of_none;
  if (launch.command.optimizer == Optimizer::none) {
    left_out.emplace_back("/memory/optimizer=none");
  }
  if (launch.command.gradients == Precision::bf16) {
    left_out.emplace_back("/memory/gradients=bf16");
  }
  if (!launch.overlaps_sums && launch.command.overlap_gathers.value_or(false)) {
    left_out.emplace_back("/parallel/overlap_gathers=true without the overlap of sums");
  }
  return left_out;
}

/// Megatron-LM asks for it with tensor and context groups on devices before Blackwell.
std::string connections_line(const TrainingCommand& command) {
  const bool grouped = command.tensor.value_or(1) > 1 || command.context.value_or(1) > 1;
  return grouped ? "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" : "";
}

}  // namespace

std::string megatron_script(const TrainingLaunch& launch) {
  const auto model = model_arguments(launch.model, launch.command.sequence);
  const bool gated =
      std::ranges::any_of(model, [](const auto& one) { return one.name == "--swiglu"; });
  std::vector<std::string> left_out = details_left_out(launch.details, gated);
  for (std::string& one : training_left_out(launch)) left_out.push_back(std::move(one));
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "# {}\n"
      "# Megatron-LM needs data and a tokenizer too: sh {}.sh --data-path …\n"
      "{}{}{} pretrain_gpt.py",
      own_mark, launch.name, left_out_line(left_out), connections_line(launch.command),
      torchrun_text(launch));
  for (const auto& all : {model, detail_arguments(launch.details), training_arguments(launch)}) {
    for (const MegatronArgument& one : all) {
      if (one.name.empty()) continue;
      const bool words = one.name == "--recompute-modules";
      text += " \\\n  " + one.name;
      if (!one.value.empty()) text += " " + (words ? one.value : quoted(one.value));
    }
  }
  return text + " \\\n  \"$@\"\n";
}

std::string bridge_overrides(const TrainingLaunch& launch) {
  std::map<std::string, std::string> sections;
  for (const MegatronArgument& one : training_arguments(launch)) {
    const std::size_t dot = one.bridge.find('.');
    if (dot == std::string::npos) continue;
    sections[one.bridge.substr(0, dot)] +=
        fmt::format("  {}: {}\n", one.bridge.substr(dot + 1), yaml_value(one));
  }
  std::string text = fmt::format(
      "# {}: overrides for a recipe of Megatron-Bridge\n"
      "# Precision is the recipe's mixed_precision; this layout has {}. Where the dataset has no\n"
      "# seq_length, its key is sequence_length.\n"
      "{}",
      own_mark, launch.command.dtype.value_or("bf16"), left_out_line(training_left_out(launch)));
  if (const std::string missing = missing_in_script(launch.model); !missing.empty()) {
    text +=
        fmt::format("# No script for Megatron-LM: Penstock has no arguments for {}.\n", missing);
  }
  for (const auto& [name, keys] : sections) text += name + ":\n" + keys;
  return text;
}

}  // namespace penstock
