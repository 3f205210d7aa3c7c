#include "gui/models/view/op_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

[[noreturn]] void refuse_word(const std::string& word) {
  throw InputError(
      fmt::format("\"{}\" is not understood; a search reads stage:3 kind:B mb:12 rank:0 dur>2ms "
                  "dur<1s, or 3B12",
                  word));
}

std::uint32_t number_in(std::string_view digits, const std::string& word) {
  std::uint32_t value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || rest != digits.data() + digits.size()) refuse_word(word);
  return value;
}

Pass pass_in(std::string_view text, const std::string& word) {
  for (std::size_t p = 0; p < pass_count; ++p) {
    if (letters(static_cast<Pass>(p)) == text) return static_cast<Pass>(p);
  }
  refuse_word(word);
}

Time time_in_words(std::string_view text, const std::string& word) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  constexpr std::array<std::pair<std::string_view, double>, 6> units{
      {{"s", 1e6}, {"ms", 1e3}, {"us", 1}, {"µs", 1}, {"ns", 1e-3}, {"ps", 1e-6}}};
  for (const auto& [name, microseconds] : units) {
    if (error == std::errc{} && name == unit && value >= 0 && value * microseconds < 9e12) {
      return from_us(value * microseconds);
    }
  }
  refuse_word(word);
}

/// "3B12": stage, pass, microbatch.
void take_name(const std::string& word, OpQuery& query) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto letter = std::find_if_not(word.begin(), word.end(), is_digit);
  const auto after = std::find_if(letter, word.end(), is_digit);
  const auto part = [&](auto from, auto to) {
    return std::string_view(word).substr(static_cast<std::size_t>(from - word.begin()),
                                         static_cast<std::size_t>(to - from));
  };
  if (letter == word.end()) refuse_word(word);
  if (letter != word.begin()) query.stage = number_in(part(word.begin(), letter), word);
  query.pass = pass_in(part(letter, after), word);
  if (after != word.end()) query.microbatch = number_in(part(after, word.end()), word);
}

void take_word(const std::string& word, OpQuery& query) {
  const auto behind = [&](std::string_view start) {
    return std::string_view(word).substr(start.size());
  };
  if (word.starts_with("stage:")) {
    query.stage = number_in(behind("stage:"), word);
  } else if (word.starts_with("mb:")) {
    query.microbatch = number_in(behind("mb:"), word);
  } else if (word.starts_with("rank:")) {
    query.rank = number_in(behind("rank:"), word);
  } else if (word.starts_with("kind:")) {
    query.pass = pass_in(behind("kind:"), word);
  } else if (word.starts_with("dur>")) {
    query.longer_than = time_in_words(behind("dur>"), word);
  } else if (word.starts_with("dur<")) {
    query.shorter_than = time_in_words(behind("dur<"), word);
  } else {
    take_name(word, query);
  }
}

/// Whether the task runs on the rank, or moves something to or from it.
bool concerns(const Plan& plan, std::uint32_t resource, std::uint32_t rank) {
  if (!plan.is_link(resource)) return resource == rank;
  const Link& link = plan.link(resource);
  return index(link.from) == rank || index(link.to) == rank;
}

}  // namespace

OpQuery read_query(std::string_view text) {
  OpQuery query;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) take_word(word, query);
  return query;
}

bool fits(const OpQuery& query, const Plan& plan, const Timeline& timeline, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  if (query.pass && work.pass != *query.pass) return false;
  if (query.stage && index(work.stage) != *query.stage) return false;
  if (query.microbatch && index(plan.microbatch[task]) != *query.microbatch) return false;
  if (query.rank && !concerns(plan, work.resource, *query.rank)) return false;
  const Time length = timeline.end[task] - timeline.begin[task];
  if (query.longer_than && length <= *query.longer_than) return false;
  return !query.shorter_than || length < *query.shorter_than;
}

std::vector<TaskId> find_ops(const OpQuery& query, const Plan& plan, const Timeline& timeline) {
  std::vector<TaskId> found;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const bool has_length = timeline.end[task] > timeline.begin[task];
    if (has_length && fits(query, plan, timeline, task)) found.push_back(task);
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](TaskId a, TaskId b) { return timeline.begin[a] < timeline.begin[b]; });
  return found;
}

}  // namespace penstock
