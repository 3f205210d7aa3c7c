#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/model_files/launch.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// What starts the training of a layout, for frameworks that can. The layout must outlive it.
/// `name`: of the files, without suffix.
TrainingLaunch launch_of(const Scenario& scenario, const Layout& layout, std::string name);

/// The files of a launch in a format that writes them; see `launch_formats`.
std::vector<LaunchFile> launch_files(const TrainingLaunch& launch, std::string_view format);

/// The formats that start a training: "megatron-args", …
std::vector<std::string> launch_formats();

}  // namespace penstock
