#include "experiments/input/files/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "experiments/input/files/plain_text.hpp"

namespace penstock {
namespace {

/// Edit distance: the fewest insertions, deletions, replacements and swaps of neighbouring letters
/// (Damerau-Levenshtein, optimal string alignment).
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(to.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::vector<std::size_t> row(to.size() + 1, i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words) {
  return nearest(word, words, std::max<std::size_t>(1, word.size() / 3));
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words,
                                   std::size_t most) {
  const std::string small = in_small_letters(word);
  // The beginning of a name is that name.
  constexpr std::size_t letters_that_count = 3;
  for (const std::string& known : words) {
    if (word.size() >= letters_that_count && in_small_letters(known).starts_with(small)) {
      return known;
    }
  }
  std::optional<std::string> best;
  std::size_t least = most + 1;
  for (const std::string& known : words) {
    const std::size_t distance = edit_distance(small, in_small_letters(known));
    if (distance >= least) continue;
    least = distance;
    best = known;
  }
  return best;
}

std::string unknown_text(std::string_view thing, std::string_view word,
                         const std::vector<std::string>& words) {
  const auto near = nearest(word, words);
  return fmt::format("unknown {}{} known: {}", thing,
                     near ? fmt::format("; did you mean \"{}\"?", *near) : std::string(";"),
                     fmt::join(words, ", "));
}

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> words;
  while (!names.empty()) {
    const std::size_t end = names.find(", ");
    words.emplace_back(names.substr(0, end));
    names = end == std::string_view::npos ? "" : names.substr(end + 2);
  }
  return words;
}

std::string unknown_text(std::string_view thing, std::string_view word, std::string_view names) {
  return unknown_text(thing, word, split_names(names));
}

}  // namespace penstock
