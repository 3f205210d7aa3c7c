#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/plan/studies/description.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "experiments/program/commands/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock::describe_file {
namespace {

struct Options {
  std::string model;
  ModelFileOptions file;
  std::optional<std::uint32_t> sequence, microbatch, tensor, context, expert;
  std::string dtype;
  bool sequence_parallel = false;
  bool json = false;
};

int describe_model(const Options& options) {
  const ModelFile file = read_model_file(options.model, options.file);
  const DescriptionOptions shape{
      .sequence = within_if_given("--sequence", options.sequence),
      .microbatch = within_if_given("--microbatch", options.microbatch),
      .tensor = within_if_given("--tensor", options.tensor),
      .context = within_if_given("--context", options.context),
      .expert = within_if_given("--expert", options.expert),
      .dtype = options.dtype.empty() ? std::nullopt : std::optional(options.dtype),
      .sequence_parallel = options.sequence_parallel};
  try {
    const ModelDescription model = describe(file, shape);
    show(options.json ? printed(description_json(model)) : description_text(model));
  } catch (const InputError& error) {
    throw in_file(options.model, error);
  }
  return ExitCode::done;
}

void declare(CommandLine& line, Options& options) {
  line.required("MODEL", options.model, "a model's file, - for standard input");
  line.option("--sequence", options.sequence, "tokens per example");
  line.option("--microbatch", options.microbatch, "examples per microbatch");
  line.option("--tensor", options.tensor, "degree of tensor parallelism");
  line.option("--context", options.context, "degree of context parallelism");
  line.option("--expert", options.expert, "degree of expert parallelism");
  line.flag("--sequence-parallel", options.sequence_parallel,
            "shard norms and dropout along the sequence");
  line.choice("--dtype", options.dtype, {"bf16", "fp16", "fp32", "tf32", "fp8"},
              "of weights and activations; default: as in the file");
  line.option("--format", options.file.format,
              "format of the file; default: recognised from its text", "NAME");
  line.suggest("--format", suggested_model_formats);
  line.option("--arch", options.file.architecture, "architecture; default: as in the file", "NAME");
  line.suggest("--arch", suggested_architectures);
  line.json(options.json);
}

}  // namespace

constinit extern const CommandEntry describe_entry{
    .name = "describe",
    .summary = "show a model: parameters, FLOPs, memory of each layer",
    .group = CommandGroup::plan,
    .example = "penstock describe experiments/models/llama-3.1-8b.json --sequence 8192 --tensor 8",
    .declare = command<Options, declare, describe_model>,
};

}  // namespace penstock::describe_file
