#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The word of `words` that a mistyped one most likely means: at most a third of its letters
/// differ.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);

/// "unknown THING; did you mean NEAREST? known: A, B", without the question where nothing is near.
std::string unknown_text(std::string_view thing, std::string_view word,
                         const std::vector<std::string>& words);

}  // namespace penstock
