#include "experiments/measure/measured_runs/rank_ops.hpp"

#include <algorithm>
#include <array>

#include "experiments/input/files/plain_text.hpp"

namespace penstock {
namespace {

/// N of "ProfilerStep#N".
std::optional<std::uint32_t> step_number(std::string_view name) {
  constexpr std::string_view prefix = "ProfilerStep#";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  return whole_number<std::uint32_t>(name);
}

}  // namespace

const char* text(TimesOf times) {
  constexpr std::array<const char*, 5> texts{"kernels launched in annotations",
                                             "annotations of the device", "annotations of the host",
                                             "operators of the host", "kernels between messages"};
  return texts[static_cast<std::size_t>(times)];
}

ProfilerSteps::ProfilerSteps(const KinetoTrace& trace, bool on_device) {
  std::vector<std::optional<std::uint32_t>> numbers;
  for (const std::string& name : trace.names) numbers.push_back(step_number(name));
  for (const KinetoAnnotation& annotation : trace.annotations) {
    if (annotation.on_device != on_device || !numbers[annotation.name]) continue;
    Step step{annotation.span, *numbers[annotation.name]};
    if (on_device) step.span.end_ns = INT64_MAX;
    steps_.push_back(step);
  }
  std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
    return std::pair(a.span.begin_ns, a.number) < std::pair(b.span.begin_ns, b.number);
  });
}

std::optional<std::uint32_t> ProfilerSteps::at(std::int64_t ns) const {
  const auto next = std::upper_bound(
      steps_.begin(), steps_.end(), ns,
      [](std::int64_t time, const Step& step) { return time < step.span.begin_ns; });
  if (next == steps_.begin() || (next - 1)->span.end_ns < ns) return std::nullopt;
  return (next - 1)->number;
}

void for_each_work(
    const KinetoTrace& trace,
    const std::function<void(const KinetoWork& work, const KinetoLaunch* launch)>& visit) {
  const auto by_number = [](const KinetoWork& a, const KinetoWork& b) {
    return a.correlation < b.correlation;
  };
  const auto by_call = [](const KinetoLaunch& a, const KinetoLaunch& b) {
    return std::pair(a.correlation, a.at_ns) < std::pair(b.correlation, b.at_ns);
  };
  SortedRecords works(trace.works, by_number);
  SortedRecords launches(trace.launches, by_call);
  std::optional<KinetoLaunch> launch;
  bool more = true;
  while (const KinetoWork* const work = works.next()) {
    while (more && (!launch || launch->correlation < work->correlation)) {
      const KinetoLaunch* const next = launches.next();
      more = next != nullptr;
      if (more) launch = *next;
    }
    const bool found = work->correlation != 0 && launch && launch->correlation == work->correlation;
    visit(*work, found ? &*launch : nullptr);
  }
}

std::vector<bool> computing_lanes(const KinetoTrace& trace) {
  std::vector<bool> computes;
  for (const KinetoWork& work : trace.works) {
    if (work.lane >= computes.size()) computes.resize(work.lane + 1);
    if (work.kind == KinetoWorkKind::compute) computes[work.lane] = true;
  }
  return computes;
}

}  // namespace penstock
