#include <nlohmann/json.hpp>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/plan/studies/description.hpp"
#include "experiments/program/commands/registry.hpp"

namespace penstock::describe_file {
namespace {

struct Options : Arguments {
  Text model = line.input().required("MODEL", "a model's file, - for standard input");
  Number sequence = line.number("--sequence", "tokens per example");
  Number microbatch = line.number("--microbatch", "examples per microbatch");
  Number tensor = line.number("--tensor", "degree of tensor parallelism");
  Number image_tokens = line.number(
      "--image-tokens", "tokens of an example that pictures become; default: one picture");
  Number context = line.number("--context", "degree of context parallelism");
  Number expert = line.number("--expert", "degree of expert parallelism");
  Number expert_tensor =
      line.number("--expert-tensor", "devices that share an expert; default: as --tensor");
  Flag sequence_parallel =
      line.flag("--sequence-parallel", "shard norms and dropout along the sequence");
  Text dtype =
      line.choice("--dtype", dtype_words(), "of weights and activations; default: as in the file");
  Text format = line.option("--format", "format of the file; default: recognised from its text",
                            "NAME", suggested_model_formats);
  Text architecture = line.option("--arch", "architecture; default: as in the file", "NAME",
                                  suggested_architectures);
  Flag json = line.json();
};

int describe_model(const Options& options) {
  const ModelFile file = read_model_file(options.model, {.format = options.format,
                                                         .architecture = options.architecture,
                                                         .image_tokens = options.image_tokens});
  if (options.image_tokens && !file.reads_pictures) {
    throw UsageError("--image-tokens: the model has no encoder of pictures; leave this out");
  }
  const DescriptionOptions shape{
      .sequence = within_if_given("--sequence", options.sequence),
      .microbatch = within_if_given("--microbatch", options.microbatch),
      .tensor = within_if_given("--tensor", options.tensor),
      .context = within_if_given("--context", options.context),
      .expert = within_if_given("--expert", options.expert),
      .expert_tensor = within_if_given("--expert-tensor", options.expert_tensor),
      .dtype = options.dtype.empty() ? std::nullopt : std::optional(options.dtype),
      .sequence_parallel = options.sequence_parallel};
  about_file(options.model, [&] {
    const ModelDescription model = describe(file, shape);
    show(options.json ? printed(description_json(model)) : description_text(model));
  });
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry describe_entry{
    .name = "describe",
    .summary = "show a model: parameters, FLOPs, memory of each layer",
    .group = CommandGroup::plan,
    .example = "penstock describe llama-3.1-8b.json --sequence 8192 --tensor 8",
    .declare = command<Options, describe_model>,
};

}  // namespace penstock::describe_file
