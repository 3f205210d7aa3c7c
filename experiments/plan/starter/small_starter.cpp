#include "experiments/plan/starter/small_starter.hpp"

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"

namespace penstock {
namespace {

ordered_json small_model() {
  const ordered_json stage{{"forward_us", 1000},         {"backward_input_us", 1000},
                           {"backward_weight_us", 1000}, {"activation_bytes", 8'388'608},
                           {"stash_bytes", 268'435'456}, {"parameter_bytes", 1'073'741'824}};
  return {{"description",
           "what each stage costs for one microbatch. activation_bytes go to the next stage; "
           "stash_bytes are kept until the backward pass; parameter_bytes for the whole run. "
           "Instead of stages: layers, or a file"},
          {"stages", ordered_json::array({stage, stage, stage, stage})}};
}

ordered_json small_hardware() {
  return {{"description",
           "ideal: stages take the times that they state, and one link each way joins every two "
           "ranks. Machines and devices: penstock list hardware"},
          {"name", "ideal"},
          {"devices", 4},
          {"latency_us", 2},
          {"bandwidth_bytes_per_s", 25'000'000'000}};
}

ordered_json small_parallel() {
  return {{"description",
           "degrees of parallelism: their product is the number of devices. chunks: stages per "
           "pipeline rank"},
          {"pipeline", 4},
          {"chunks", 1},
          {"tensor", 1},
          {"data", 1}};
}

ordered_json small_overheads() {
  return {{"description", "time of the host to launch an action, and of an update of the weights"},
          {"launch_us", 0},
          {"optimizer_us", 0}};
}

}  // namespace

std::string small_starter() {
  return printed(ordered_json{
      {"penstock", 1},
      {"description", "a pipeline of four equal stages, written by penstock new"},
      {"model", small_model()},
      {"hardware", small_hardware()},
      {"parallel", small_parallel()},
      {"schedule",
       {{"description", "the order of work (penstock list schedules); other keys are its options"},
        {"name", "1f1b"},
        {"microbatches", 8}}},
      {"memory",
       {{"description",
         "what a rank can hold, and what goes with its parameters: adam keeps gradients, master "
         "weights and moments"},
        {"capacity_bytes", 16'000'000'000},
        {"optimizer", "adam"},
        {"zero", 0}}},
      {"overheads", small_overheads()},
      {"chance",
       {{"description", "jitter: standard deviation of the logarithm of an action's time"},
        {"seed", 1},
        {"jitter", 0}}}});
}

}  // namespace penstock
