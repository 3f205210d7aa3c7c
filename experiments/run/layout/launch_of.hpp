#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/model_files/launch.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// What starts the training of a layout, for formats that write it. The layout, whose order it
/// refers to, must outlive it. `name`: of the files, without suffix. What a scenario says of
/// hardware and overheads has no place in it.
TrainingLaunch launch_of(const Scenario& scenario, const Layout& layout, std::string name);

/// The files of a launch in a format that writes them; the first one is what a scenario reads under
/// /model/command. "megatron-args": the command (.sh) and overrides for a recipe of Megatron-Bridge
/// (.yaml); "torchtitan-args": the command (.sh), and the order (.csv) where torchtitan has no name
/// for it; "deepspeed-config": the config (.deepspeed.json).
std::vector<LaunchFile> launch_files(const TrainingLaunch& launch, std::string_view format);

/// What starts a scenario, of which this is the text: files beside its own at `path`, such as
/// "layouts/layout_1.json". They have its name with suffixes of their own: "layout_1.sh". Throws
/// InputError for what `settle` refuses.
std::vector<LaunchFile> launch_files_beside(const std::string& path, const std::string& text,
                                            std::string_view format);

}  // namespace penstock
