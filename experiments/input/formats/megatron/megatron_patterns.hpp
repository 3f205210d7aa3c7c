#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The stages of a --pipeline-model-parallel-layout, each as the letters of its layers:
/// "Et*2|(t|)*2L" is {"Ett", "t", "t", "L"}. E is the embedding, t a transformer layer, m a layer
/// of multi-token prediction, L the loss. A bar ends a stage; *3 repeats the letter, bar or group
/// in parentheses before it. Throws InputError naming the wrong character, also for an empty stage:
/// Megatron-LM passes tensors through it, which a pipeline of layers cannot do.
std::vector<std::string> pipeline_layout_stages(std::string_view layout);

/// The numbers of a list in Python's notation: "([0]*3+[1]*58)". Throws InputError naming the wrong
/// character.
std::vector<std::size_t> python_list(std::string_view text);

}  // namespace penstock
