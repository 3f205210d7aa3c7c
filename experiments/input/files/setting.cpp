#include "experiments/input/files/setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/quantity.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr std::uint64_t most_listed = 1'000'000;  // numbers of ranges inside a list
constexpr std::size_t longest_shown = 240;

/// A part of a text, and the sign in front of it.
struct Piece {
  std::string text;
  char before = 0;
};

/// Splits at , and & outside of brackets and quotes.
std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces(1);
  std::string closing;
  bool quoted = false, escaped = false;
  for (const char c : text) {
    if (quoted) {
      quoted = escaped || c != '"';
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      closing += c == '[' ? ']' : '}';
    } else if (c == ']' || c == '}') {
      if (!closing.ends_with(c)) throw InputError(fmt::format("a {} closes nothing", c));
      closing.pop_back();
    } else if ((c == ',' || c == '&') && closing.empty()) {
      pieces.push_back({"", c});
      continue;
    }
    pieces.back().text += c;
  }
  if (quoted) throw InputError("a quote is not closed");
  if (!closing.empty()) throw InputError(fmt::format("a {} is missing", closing.back()));
  return pieces;
}

bool is_setting(std::string_view text) {
  return text.starts_with('/') && text.find('=') != std::string_view::npos;
}

/// JSON, or else a text without signs that mean something else.
std::string json_of(std::string_view text) {
  const std::string value(trimmed(text));
  if (value.empty()) throw InputError("a value is empty");
  if (is_json(value)) return parse_json(value).dump();
  if (valid_text(value) != value) throw InputError("a value is not UTF-8 text");
  if (value.find_first_of("\"[]{}") != std::string::npos || value.front() == '\'') {
    throw InputError(fmt::format("{} is not JSON; a text with brackets or quotes is given as {}",
                                 shortened(value), json(shortened(value)).dump()));
  }
  return json(value).dump();
}

/// A number, or, where its kind is known, one with a unit: "2GB/s".
double number_of(std::string_view text, std::optional<QuantityKind> kind) {
  text = trimmed(text);
  if (const auto plain = plain_number(text)) return *plain;
  if (kind) return quantity_of(text, *kind);
  throw InputError(fmt::format("\"{}\" is no number", shortened(text)));
}

/// "8..64:8" and its like; nothing for any other value.
std::optional<Progression> range_of(std::string_view text, std::optional<QuantityKind> kind) {
  text = trimmed(text);
  const std::size_t dots = text.find("..");
  const bool begins_as_number = text.find_first_of("+-.0123456789") == 0;
  if (dots == std::string_view::npos || dots == 0 || !begins_as_number) return std::nullopt;
  const std::string_view last = text.substr(dots + 2);
  const std::size_t sign = last.find_first_of(":*");
  ProgressionText range{.from = number_of(text.substr(0, dots), kind),
                        .to = number_of(last.substr(0, sign), kind)};
  if (sign != std::string_view::npos) {
    const bool steps = last[sign] == ':';
    (steps ? range.step : range.factor) =
        number_of(last.substr(sign + 1), steps ? kind : std::nullopt);
  } else if (range.from == std::floor(range.from) && range.to == std::floor(range.to)) {
    range.step = 1;
  }
  return progression_of(range);
}

/// Adds the numbers of a range to a list.
void list_range(const Progression& range, std::vector<std::string>& list) {
  if (range.count == 0) throw InputError("a range in a list needs a step: FROM..TO:STEP");
  if (range.count > most_listed || list.size() + range.count > most_listed) {
    throw InputError(fmt::format("there are more than {} values", most_listed));
  }
  for (std::uint64_t i = 0; i < range.count; ++i) list.push_back(json_number(range.at(i)));
}

ValueList values_of(const std::vector<std::string>& texts, const std::string& pointer) {
  const auto kind = measure_of_key(std::string_view(pointer).substr(pointer.rfind('/') + 1));
  ValueList values;
  for (const std::string& text : texts) {
    const auto range = range_of(text, kind);
    if (range && texts.size() == 1) return {.list = {}, .progression = range};
    range ? list_range(*range, values.list) : values.list.push_back(json_of(text));
  }
  return values;
}

/// "schedule.name=gpipe" was meant as a pointer.
std::string expected_text(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || text.front() == '/') {
    return "expected /POINTER=VALUE, such as /schedule/name=gpipe";
  }
  std::string pointer = text.substr(0, equals);
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return fmt::format("expected /POINTER=VALUE; did you mean /{}{}?", pointer, text.substr(equals));
}

/// The settings of a text, with their values apart.
std::vector<std::pair<Setting, std::vector<std::string>>> split(const std::string& text) {
  std::vector<std::pair<Setting, std::vector<std::string>>> all;
  for (const Piece& piece : pieces_of(text)) {
    const std::string part(trimmed(piece.text));
    if (!is_setting(part)) {
      if (all.empty()) throw InputError(expected_text(text));
      if (piece.before == '&') {
        throw InputError(fmt::format(
            "after & comes another /POINTER=VALUES, not \"{}\"; a text with & is given in quotes",
            shortened(part)));
      }
      all.back().second.push_back(part);
      continue;
    }
    const std::size_t equals = part.find('=');
    const std::string pointer(trimmed(part.substr(0, equals)));
    check_pointer(pointer, "");
    for (const auto& [known, values] : all) {
      if (known.pointer == pointer) throw InputError(fmt::format("{} is named twice", pointer));
    }
    all.push_back({{.pointer = pointer, .values = {}, .joined = piece.before == '&'},
                   {part.substr(equals + 1)}});
  }
  return all;
}

std::vector<Setting> read_settings(const std::string& text) {
  std::vector<Setting> settings;
  for (auto& [setting, values] : split(text)) {
    setting.values = values_of(values, setting.pointer);
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::vector<SingleSetting> read_single_settings(const std::string& text) {
  std::vector<SingleSetting> settings;
  for (const Setting& setting : read_settings(text)) {
    const auto& [pointer, values, joined] = setting;
    if (joined) throw InputError("& goes with --vary alone; , stands between settings");
    if (values.progression) throw InputError(pointer + " takes one value; --vary takes a range");
    if (values.list.size() > 1) {
      throw InputError(fmt::format(
          "{} takes one value, got {}; a list has brackets, a text with a comma is given in quotes",
          pointer, values.list.size()));
    }
    settings.push_back({pointer, values.list.front()});
  }
  return settings;
}

/// Puts an option and its text in front of errors.
template <class Read>
auto of_option(std::string_view option, const std::string& text, Read read) {
  try {
    return read();
  } catch (const InputError& error) {
    throw UsageError(
        fmt::format("{} {}: {}", option, shortened(text, longest_shown), error.what()));
  }
}

constexpr std::array relations{
    std::pair{"<", Relation::less},      std::pair{"<=", Relation::at_most},
    std::pair{"==", Relation::equal},    std::pair{"!=", Relation::unequal},
    std::pair{">=", Relation::at_least}, std::pair{">", Relation::more}};

Relation relation_of(std::string_view sign) {
  for (const auto& [known, relation] : relations) {
    if (sign == known) return relation;
  }
  throw InputError(fmt::format("\"{}\" is no comparison{}; known: <, <=, ==, !=, >=, >", sign,
                               sign == "=" ? "; did you mean ==?" : ""));
}

/// The first < > = or ! outside of quotes.
std::size_t find_sign(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (!quoted && std::string_view("<>=!").find(text[i]) != std::string_view::npos) return i;
  }
  return std::string_view::npos;
}

ConditionSide side_of(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) throw InputError("a side is empty; expected such as /a/b <= 2*/c/d");
  if (text.front() == '/') return {.pointer = std::string(text), .value = {}};
  const std::size_t times = text.find('*');
  if (times != std::string_view::npos && trimmed(text.substr(times + 1)).starts_with('/')) {
    return {.pointer = std::string(trimmed(text.substr(times + 1))),
            .factor = number_of(text.substr(0, times), {})};
  }
  return {.pointer = {}, .value = json_of(text)};
}

constexpr double most_points = 1e9;

bool is_whole(double value) { return value == std::floor(value); }

/// How many steps of a size fit, with a little air for rounding.
std::uint64_t steps_of(double ratio) {
  if (!(ratio >= 0 && ratio < most_points)) throw InputError("it has more than 1e9 numbers");
  return static_cast<std::uint64_t>(std::floor(ratio + 1e-9)) + 1;
}

double rounded(double value, bool whole) {
  if (whole) return std::round(value);
  const std::string text = fmt::format("{:.12g}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

}  // namespace

std::vector<Setting> settings_of(std::string_view option, const std::string& text) {
  return of_option(option, text, [&] { return read_settings(text); });
}

std::vector<SingleSetting> single_settings_of(std::string_view option, const std::string& text) {
  return of_option(option, text, [&] { return read_single_settings(text); });
}

void apply_settings(json& document, const std::vector<std::string>& settings,
                    std::string_view option) {
  for (const std::string& text : settings) {
    for (const SingleSetting& one : single_settings_of(option, text)) {
      of_option(option, text, [&] { set_value(document, one.pointer, one.value); });
    }
  }
}

std::pair<std::string, std::string> option_setting(const std::string& setting,
                                                   std::string_view section) {
  return of_option("--set", setting, [&] {
    const std::string prefix = fmt::format("/{}/", section);
    const bool whole = setting.starts_with(prefix);
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals <= (whole ? prefix.size() : 0)) {
      throw InputError("expected KEY=VALUE");
    }
    const auto all = read_single_settings(whole ? setting : prefix + setting);
    if (all.size() > 1) throw InputError("expected one KEY=VALUE; give --set for each");
    return std::pair{all.front().pointer.substr(prefix.size()), all.front().value};
  });
}

void check_pointer(const std::string& pointer, const std::string& place) {
  try {
    check_depth(pointer);
  } catch (const InputError& error) {
    throw InputError(shortened(place, longest_shown), error.what());
  }
  try {
    if (pointer.size() > 1 && pointer.front() == '/') return (void)json::json_pointer(pointer);
  } catch (const json::exception&) {
    // Reported below.
  }
  throw InputError(
      place, fmt::format("\"{}\" is no JSON pointer, such as /schedule/name", shortened(pointer)));
}

ConditionText condition_text_of(std::string_view text) {
  const std::size_t at = find_sign(text);
  if (at == std::string_view::npos) {
    throw InputError(
        fmt::format("\"{}\" compares nothing; expected such as "
                    "/schedule/microbatches >= 2*/parallel/pipeline",
                    shortened(text)));
  }
  const std::size_t end = std::min(text.find_first_not_of("<>=!", at), text.size());
  if (find_sign(text.substr(end)) != std::string_view::npos) {
    throw InputError("it compares twice; give each comparison as a condition of its own");
  }
  return {side_of(text.substr(0, at)), relation_of(text.substr(at, end - at)),
          side_of(text.substr(end))};
}

Progression progression_of(const ProgressionText& text) {
  const auto& [from, to, step, factor, points, logarithmic, whole] = text;
  if (to < from) throw InputError(fmt::format("it goes from {} down to {}", from, to));
  if ((step ? 1 : 0) + (factor ? 1 : 0) + (points ? 1 : 0) > 1) {
    throw InputError("\"step\", \"factor\" and \"points\" exclude each other");
  }
  Progression all{.from = from, .to = to, .logarithmic = logarithmic || factor};
  if (all.logarithmic && from <= 0) throw InputError("equal factors start above 0");
  all.whole = whole.value_or(is_whole(from) && is_whole(to) && is_whole(step.value_or(1)) &&
                             is_whole(factor.value_or(1)) && (!points || step || factor));
  if (points) all.count = *points;
  if (step) {
    if (logarithmic) throw InputError("equal factors have no step; give \"factor\" or \"points\"");
    if (!(*step > 0)) throw InputError("the step must be above 0");
    all.count = steps_of((to - from) / *step);
    all.to = from + *step * static_cast<double>(all.count - 1);
  }
  if (factor) {
    if (!(*factor > 1)) throw InputError("the factor must be above 1");
    all.count = steps_of(std::log(to / from) / std::log(*factor));
    all.to = from;
    for (std::uint64_t i = 1; i < all.count; ++i) all.to *= *factor;
  }
  return all;
}

double Progression::between(double share) const {
  if (share <= 0) return rounded(from, whole);
  if (share >= 1) return rounded(to, whole);
  if (!logarithmic) return rounded(from + (to - from) * share, whole);
  const double low = portable_log(from), high = portable_log(to);
  return rounded(portable_exp(low + (high - low) * share), whole);
}

double Progression::at(std::uint64_t i) const {
  return between(count < 2 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1));
}

std::string ValueList::text(std::uint64_t i) const {
  return progression ? json_number(progression->at(i)) : list[i];
}

std::string ValueList::text_at(double share) const {
  if (is_continuous()) {
    if (!progression->whole) return json_number(progression->between(share));
    // Every whole number is as likely as any other, the ends too.
    Progression wider = *progression;
    wider.whole = false;
    wider.from -= 0.5;
    wider.to += 0.5;
    const double value = std::round(wider.between(share));
    return json_number(std::clamp(value, progression->from, progression->to));
  }
  const std::uint64_t count = size();
  return text(std::min(count - 1, static_cast<std::uint64_t>(share * static_cast<double>(count))));
}

std::string json_number(double value) {
  // Whole numbers up to 2^53 without an exponent: counts must be integers in JSON.
  if (value == std::floor(value) && std::abs(value) < 9007199254740992.0) {
    return fmt::format("{}", static_cast<std::int64_t>(value));
  }
  return fmt::format("{}", value);
}

}  // namespace penstock
