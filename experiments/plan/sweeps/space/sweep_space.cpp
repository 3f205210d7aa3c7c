#include "experiments/plan/sweeps/space/sweep_space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/named_files.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/document.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t most_configurations = 1'000'000'000;
constexpr std::uint64_t most_candidates = 50'000'000;  // with conditions
constexpr std::uint64_t most_coordinates = 50'000'000;

/// Throws for what an option says, or, without one, for a place in a file.
[[noreturn]] void refuse(const std::string& option, const char* place, const std::string& what) {
  if (!option.empty()) throw UsageError(option + ": " + what);
  throw InputError(place, what);
}

/// The first step of a pointer, which is taken off.
std::string_view take_step(std::string_view& pointer) {
  const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
  const std::string_view step = pointer.substr(0, end);
  pointer.remove_prefix(end);
  return step;
}

/// Whether a pointer is another one or leads to it, so that its value overwrites all of the
/// other's.
bool overwrites(std::string_view pointer, std::string_view other) {
  while (!pointer.empty()) {
    const std::string_view step = take_step(pointer), of_other = take_step(other);
    if (of_other.empty() || (step != "/*" && step != of_other)) return false;
  }
  return true;
}

void check_pointers_differ(const SweepRequest& request) {
  std::vector<std::string> before;
  for (const Axis& axis : request.axes) {
    for (const std::string& pointer : axis.pointers) {
      const auto lost = std::ranges::find_if(
          before, [&](const std::string& one) { return overwrites(pointer, one); });
      if (lost == before.end()) {
        before.push_back(pointer);
        continue;
      }
      const std::string what =
          *lost == pointer ? pointer + " varies twice; give all its values together"
                           : fmt::format("{} overwrites {}, which varies before it; give {} first",
                                         pointer, *lost, pointer);
      refuse(axis.option, "/vary", what);
    }
  }
}

/// How a range without steps gets some.
std::string steps_text(const Axis& axis) {
  if (axis.option.empty()) {
    return "give \"step\", \"points\" or \"factor\", or a \"sample\"";
  }
  const Progression& range = *axis.values.front().progression;
  const std::string ends = json_number(range.from) + ".." + json_number(range.to);
  return fmt::format("give {0}:STEP, {0}*FACTOR or --sample N", ends);
}

void check_values(const Axis& axis) {
  for (std::size_t i = 1; i < axis.values.size(); ++i) {
    if (axis.values[i].size() == axis.size()) continue;
    refuse(
        axis.option, "/vary",
        fmt::format("{} has {} values and {} has {}; those that go together have equally many",
                    axis.pointers.front(), axis.size(), axis.pointers[i], axis.values[i].size()));
  }
}

/// Throws for values of a list that come twice: their rows would have one hash.
void check_once(const Axis& axis) {
  const auto is_range = [](const ValueList& values) { return values.progression.has_value(); };
  if (std::ranges::any_of(axis.values, is_range)) return;
  std::set<std::vector<std::string>> known;
  for (std::uint64_t i = 0; i < axis.size(); ++i) {
    std::vector<std::string> together;
    for (const ValueList& values : axis.values) together.push_back(values.text(i));
    if (known.insert(together).second) continue;
    refuse(axis.option, "/vary",
           fmt::format("{} has {} twice; give each value once", fmt::join(axis.pointers, " & "),
                       fmt::join(together, " & ")));
  }
}

void check_axes(const SweepRequest& request) {
  if (request.axes.empty()) throw InputError("/vary", "nothing varies; give at least one axis");
  check_pointers_differ(request);
  for (const Axis& axis : request.axes) {
    if (!request.sample && axis.is_continuous()) {
      refuse(axis.option, "/vary",
             fmt::format("{} has no steps; {}", axis.pointers.front(), steps_text(axis)));
    }
    check_values(axis);
    check_once(axis);
  }
}

std::uint64_t count_of(const SweepRequest& request) {
  if (request.sample) {
    const auto& [method, count, seed, option] = *request.sample;
    if (count * request.axes.size() <= most_coordinates) return count;
    refuse(option, "/sample/count", fmt::format("count times axes is above {}", most_coordinates));
  }
  const std::uint64_t most = request.conditions.empty() ? most_configurations : most_candidates;
  std::uint64_t count = 1;
  for (const Axis& axis : request.axes) {
    if (axis.size() > most || count * axis.size() > most) {
      refuse(axis.option, "/vary",
             fmt::format("there are more than {} configurations{}", most,
                         request.conditions.empty() ? "" : " to choose from"));
    }
    count *= axis.size();
  }
  return count;
}

/// Contents of a file that a scenario names: another model is another sweep. Of a machine, those of
/// the files beside it that it takes as well.
void add_file(std::string_view pointer, const std::string& source, const std::string& path,
              std::vector<std::string>& texts) {
  const std::size_t slash = source.rfind('/');
  try {
    const std::string place =
        resolve(slash == std::string::npos ? "." : source.substr(0, slash), path);
    check_confined(place);
    texts.push_back(read_file(place));
    if (pointer != "/hardware/file") return;
    Catalogue machine;
    add_catalogue_file(place, machine);
    for (const auto& [name, item] : machine) texts.push_back(item.text);
  } catch (const InputError&) {
    texts.emplace_back();  // a configuration without its file is a row with its reason
  }
}

/// The file of a pointer that the value at `above`, where the pointer begins, names, if it does.
void add_file_of(std::string_view pointer, std::string_view above, const nlohmann::json& value,
                 const std::string& source, std::vector<std::string>& texts) {
  const std::string_view rest = pointer.substr(above.size());
  if (!rest.empty() && rest.front() != '/') return;
  const nlohmann::json::json_pointer place{std::string(rest)};
  if (!value.contains(place) || !value.at(place).is_string()) return;
  add_file(pointer, source, value.at(place).get<std::string>(), texts);
}

bool mentions(const std::string& text, const std::string& name) {
  return text.find('"' + name + '"') != std::string::npos;
}

/// The user's files of the catalogue that texts name, or that what they name takes. Any stack
/// counts: which one a model takes on a machine need not be said.
void add_own_catalogue(std::vector<std::string>& texts) {
  const Catalogue catalogue = read_catalogue();
  const bool any_own =
      std::ranges::any_of(catalogue, [](const auto& one) { return !one.second.built_in; });
  if (!any_own) return;
  std::vector<std::string> named = texts;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < named.size(); ++i) {
    for (const auto& [name, item] : catalogue) {
      const bool counts = mentions(named[i], name) || (item.is == "stack" && !taken.empty());
      if (!counts || !taken.insert(name).second) continue;
      named.push_back(item.text);
      if (!item.built_in) texts.push_back(item.text);
    }
  }
}

void add_axis(const Axis& axis, const std::string& source, std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < axis.pointers.size(); ++i) {
    const ValueList& values = axis.values[i];
    texts.push_back(axis.pointers[i]);
    for (const std::string& value : values.list) texts.push_back(value);
    if (values.progression) {
      const Progression& all = *values.progression;
      texts.push_back(
          fmt::format("{}..{} {} {} {}", all.from, all.to, all.count, all.logarithmic, all.whole));
    }
    // A value may be a section that names files.
    for (const std::string_view of_file : file_pointers) {
      if (!of_file.starts_with(axis.pointers[i])) continue;
      for (const std::string& value : values.list) {
        add_file_of(of_file, axis.pointers[i], parse_json(value), source, texts);
      }
    }
  }
  texts.emplace_back("/");
}

std::string hash_of(const SweepRequest& request, const std::string& base_hash) {
  std::vector<std::string> texts{base_hash};
  for (const Axis& axis : request.axes) add_axis(axis, request.source, texts);
  for (const Condition& one : request.conditions) {
    texts.push_back(fmt::format("{} {} {} {} {} {} {}", one.left.value, one.left.text,
                                one.left.factor, static_cast<int>(one.relation), one.right.value,
                                one.right.text, one.right.factor));
  }
  if (request.sample) {
    // The second set of Sobol points: a sweep that was begun with the first goes on as no other.
    const int method = request.sample->method == SampleMethod::sobol ? 2 : 0;
    texts.push_back(fmt::format("{} {} {}", method, request.sample->count, request.sample->seed));
  }
  for (const std::string& result : request.results) texts.push_back(result);
  add_own_catalogue(texts);
  return hash_of_texts(texts);
}

/// Names the condition that no configuration fulfils, or with which those before leave none.
[[noreturn]] void refuse_conditions(
    const std::vector<Condition>& conditions, std::uint64_t candidates,
    const std::function<std::vector<std::string>(std::uint64_t)>& values) {
  std::vector<std::uint64_t> alone(conditions.size()), so_far(conditions.size());
  for (std::uint64_t number = 0; number < candidates; ++number) {
    const std::vector<std::string> one = values(number);
    bool all = true;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      const bool holds = conditions[i].holds(one);
      all = all && holds;
      alone[i] += holds ? 1 : 0;
      so_far[i] += all ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (alone[i] > 0) continue;
    refuse(conditions[i].option, "/where",
           fmt::format("none of {} fulfils {}", counted(candidates, "configuration"),
                       conditions[i].source));
  }
  const auto last = static_cast<std::size_t>(std::ranges::find(so_far, 0) - so_far.begin());
  refuse(conditions[last].option, "/where",
         fmt::format("{} fulfil {}, but none of them the conditions before it", alone[last],
                     conditions[last].source));
}

bool all_hold(const std::vector<Condition>& conditions, const std::vector<std::string>& values) {
  for (const Condition& condition : conditions) {
    if (!condition.holds(values)) return false;
  }
  return true;
}

constexpr double two_to_32 = 4294967296.0;

}  // namespace

std::string hash_of_base(const SweepRequest& request) {
  std::vector<std::string> texts{request.base->dump()};
  for (const std::string_view of_file : file_pointers) {
    add_file_of(of_file, "", *request.base, request.source, texts);
  }
  add_own_catalogue(texts);
  return hash_of_texts(texts);
}

std::string hash_of_texts(const std::vector<std::string>& texts) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325U;
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3U; };
  for (const std::string& text : texts) {
    for (const char byte : text) add(static_cast<unsigned char>(byte));
    add(0xff);  // in no UTF-8 text
  }
  return fmt::format("{:016x}", hash);
}

std::vector<std::string> pointers_of(const SweepRequest& request) {
  std::vector<std::string> pointers;
  for (const Axis& axis : request.axes) {
    pointers.insert(pointers.end(), axis.pointers.begin(), axis.pointers.end());
  }
  return pointers;
}

SweepSpace::SweepSpace(SweepRequest request)
    : request_(std::move(request)), pointers_(pointers_of(request_)) {
  check_axes(request_);
  candidates_ = size_ = count_of(request_);
  if (request_.sample) points_ = SamplePoints(*request_.sample, request_.axes.size());
  if (!request_.conditions.empty()) keep_fitting();
  base_hash_ = hash_of_base(request_);
  hash_ = hash_of(request_, base_hash_);
}

void SweepSpace::keep_fitting() {
  for (std::uint64_t number = 0; number < candidates_; ++number) {
    if (all_hold(request_.conditions, candidate(number))) {
      kept_.push_back(static_cast<std::uint32_t>(number));
    }
  }
  size_ = kept_.size();
  if (size_ > 0) return;
  refuse_conditions(request_.conditions, candidates_,
                    [&](std::uint64_t number) { return candidate(number); });
}

std::vector<std::string> SweepSpace::values(std::uint64_t number) const {
  return candidate(kept_.empty() ? number : kept_[number]);
}

std::vector<std::string> SweepSpace::candidate(std::uint64_t number) const {
  std::vector<std::string> values(pointers_.size());
  std::size_t end = values.size();
  std::uint64_t rest = number;
  for (std::size_t a = request_.axes.size(); a-- > 0;) {
    const Axis& axis = request_.axes[a];
    const std::size_t first = end - axis.pointers.size();
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      values[first + i] = request_.sample ? axis.values[i].text_at(points_.share(number, a))
                                          : axis.values[i].text(rest % axis.size());
    }
    if (!request_.sample) rest /= axis.size();
    end = first;
  }
  return values;
}

SampleMethod sample_method_of(const std::string& name) {
  if (name == "random") return SampleMethod::random;
  if (name == "sobol") return SampleMethod::sobol;
  throw InputError(fmt::format("unknown method \"{}\"; known: random, sobol", name));
}

SamplePoints::SamplePoints(const Sample& sample, std::size_t axes) : sample_(sample), axes_(axes) {
  if (sample.method != SampleMethod::sobol) return;
  // Boost leaves out the first point, the origin, without which no first 2^k points are balanced.
  boost::random::sobol sequence(axes);
  sobol_.resize(sample.count * axes, 0);
  for (std::size_t i = axes; i < sobol_.size(); ++i) {
    sobol_[i] = static_cast<std::uint32_t>(sequence() >> 32);
  }
}

double SamplePoints::share(std::uint64_t point, std::size_t axis) const {
  if (sample_.method == SampleMethod::sobol) return sobol_[point * axes_ + axis] / two_to_32;
  const auto bits = philox(
      {static_cast<std::uint32_t>(point), static_cast<std::uint32_t>(point >> 32),
       static_cast<std::uint32_t>(axis), 0},
      {static_cast<std::uint32_t>(sample_.seed), static_cast<std::uint32_t>(sample_.seed >> 32)});
  return bits[0] / two_to_32;
}

}  // namespace penstock
