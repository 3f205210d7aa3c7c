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

/// The files of a launch in a format that writes them, such as "megatron-args".
std::vector<LaunchFile> launch_files(const TrainingLaunch& launch, std::string_view format);

}  // namespace penstock
