#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The word that a mistyped one most likely means: the first that begins with it, else the one that
/// differs least, in at most a third of the letters. Small and capital letters are the same.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words);
/// The same, with at most `most` wrong letters.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words,
                                   std::size_t most);

/// "unknown THING; did you mean NEAREST? known: A, B", without the question if no word is close.
std::string unknown_text(std::string_view thing, std::string_view word,
                         const std::vector<std::string>& words);

/// Names as texts list them, "gpipe, naive", one by one.
std::vector<std::string> split_names(std::string_view names);

/// The same for names as texts list them: "gpipe, naive".
std::string unknown_text(std::string_view thing, std::string_view word, std::string_view names);

}  // namespace penstock
