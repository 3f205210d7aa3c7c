#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The stages of a --pipeline-model-parallel-layout, each the letters of its layers in order:
/// "Et*2|(t|)*2L" is {"Ett", "t", "t", "L"}. E is the embedding, t a transformer layer, m one of
/// multi-token prediction, L the loss; | ends a stage, *3 repeats what comes before it, a letter,
/// a bar or a group in parentheses. Throws InputError naming the character at fault, also where a
/// stage is empty: what Megatron-LM passes through there has no place in a pipeline of layers.
std::vector<std::string> pipeline_layout_stages(std::string_view layout);

/// The numbers of a list in Python's notation: "([0]*3+[1]*58)". Throws InputError naming the
/// character at fault.
std::vector<std::size_t> python_list(std::string_view text);

}  // namespace penstock
