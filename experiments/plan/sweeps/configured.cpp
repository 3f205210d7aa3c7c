#include "experiments/plan/sweeps/configured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/plan/sweeps/row_text.hpp"
#include "experiments/run/batch_report.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/version.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// Whether a place is on the way to what a pointer names.
bool leads_to(std::string_view where, std::string_view pointer) {
  const std::size_t star = (std::string(pointer) + "/").find("/*/");
  if (star == std::string_view::npos) return pointer.starts_with(where);
  const std::string_view last = pointer.substr(std::max(star + 2, pointer.rfind('/')));
  return where.starts_with(pointer.substr(0, star)) && (last == "/*" || where.ends_with(last));
}

bool is_pointer_of(const SweepSpace& space, std::string_view where) {
  const auto& all = space.pointers();
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& pointer) { return leads_to(where, pointer); });
}

/// Throws UsageError for a text of --vary that its key cannot take, such as "four" for a number.
void check_texts(const Axis& axis, const json& base, const Schema& schema) {
  constexpr std::size_t most_checked = 1000;
  for (std::size_t p = 0; p < axis.pointers.size(); ++p) {
    const std::vector<std::string>& list = axis.values[p].list;
    for (std::size_t i = 0; i < std::min(most_checked, list.size()); ++i) {
      if (json::parse(list[i]).is_number()) continue;
      json document = base;
      below(axis.pointers[p], [&] { set_value(document, axis.pointers[p], list[i]); });
      try {
        take_quantities(document, schema);
      } catch (const InputError& error) {
        if (error.where().empty() || !leads_to(error.where(), axis.pointers[p])) continue;
        throw UsageError(fmt::format("{}: {}", axis.option, error.what()));
      }
    }
  }
}

using Text = fmt::memory_buffer;

template <class... Values>
void add(Text& text, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
}

void add_optional(Text& text, const char* key, const std::optional<double>& value) {
  if (value) add(text, ",\"{}\":{}", key, *value);
}

void add_throughput(Text& text, const Throughput& throughput) {
  add(text, ",\"throughput\":{{\"samples_per_s\":{}", throughput.samples_per_s);
  add_optional(text, "tokens_per_s", throughput.tokens_per_s);
  add_optional(text, "tokens_per_s_per_device", throughput.tokens_per_s_per_device);
  add_optional(text, "model_tflops_per_device", throughput.model_tflops_per_device);
  add_optional(text, "model_flops_utilization", throughput.model_flops_utilization);
  add_optional(text, "hardware_flops_utilization", throughput.hardware_flops_utilization);
  text.push_back('}');
}

void add_result(Text& text, const SweepOutcome& outcome) {
  const SweepResult& result = *outcome.result;
  const auto& peaks = result.peak_memory_bytes;
  const auto worst = std::max_element(peaks.begin(), peaks.end());
  add(text, ",\"result\":{{\"makespan_us\":{}", to_us(result.makespan));
  add(text, ",\"bubble\":{{\"of_makespan\":{},\"over_ideal\":{},\"of_longest_span\":{}}}",
      result.bubble.of_makespan, result.bubble.over_ideal, result.bubble.of_longest_span);
  add_throughput(text, result.throughput);
  add_optional(text, "steady_interval_us", result.steady_interval_us);
  add(text, ",\"peak_memory_bytes\":{},\"peak_memory_rank\":{}", *worst, worst - peaks.begin());
  for (const auto& [pointer, value] : outcome.more) {
    add(text, ",{}:{}", nlohmann::json(pointer).dump(), value);
  }
  text.push_back('}');
}

}  // namespace

json configured(const SweepSpace& space, const std::vector<std::string>& values) {
  return configured(*space.request().base, space.pointers(), values);
}

json configured(const json& base, const std::vector<std::string>& pointers,
                const std::vector<std::string>& values) {
  json document = base;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below(pointers[i], [&] { set_value(document, pointers[i], values[i]); });
  }
  return document;
}

void check_pointers(const SweepSpace& space) {
  const Schema schema(scenario_schema());
  const json base = configured(space, space.values(0));
  for (const Axis& axis : space.request().axes) {
    if (!axis.option.empty()) check_texts(axis, base, schema);
  }
  json document = base;
  try {
    take_quantities(document, schema);
  } catch (const InputError& error) {
    if (is_of_unknown_key(error) && is_pointer_of(space, error.where())) throw;
  }
}

SweepSpace sweep_space_of(const SweepArguments& arguments) {
  SweepRequest request = read_sweep(arguments);
  return about_file(arguments.file, [&] {
    SweepSpace space(std::move(request));
    check_pointers(space);
    return space;
  });
}

SweepResult sweep_result(const Layout& layout, const Simulated& run, PeakBytes& peaks) {
  const auto& [priced, timeline, peak_flops, batch, replica] = run;
  const Report report = summarize_times(priced.plan, timeline);
  SweepResult result{.makespan = report.makespan, .bubble = report.bubble};
  result.throughput = throughput_of(layout, batch, priced.plan, report.makespan, peak_flops);
  if (layout.schedule.weights().use != WeightUse::flushed) {
    result.steady_interval_us = steady_interval_us(priced.plan, timeline);
  }
  result.peak_memory_bytes = peaks.of(priced.plan, priced.costs, timeline);
  return result;
}

std::string row_head(const SweepSpace& space, std::uint64_t number,
                     const std::vector<std::string>& values) {
  Text configuration;
  for (std::size_t i = 0; i < values.size(); ++i) {
    add(configuration, "{}\"{}\":{}", i == 0 ? "" : ",", space.pointers()[i], values[i]);
  }
  const std::string inside = fmt::to_string(configuration);
  return fmt::format(
      R"({{"item":{},"of":{},"sweep":"{}","hash":"{}","version":"{}","configuration":{{{}}})",
      number, space.size(), space.hash(), hash_of_texts({space.base_hash(), inside}), version,
      inside);
}

std::string row_end(const SweepOutcome& outcome) {
  Text text;
  if (outcome.result) add_result(text, outcome);
  if (!outcome.findings.empty()) {
    constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
    add(text, ",\"findings\":{}", findings_json(outcome.findings).dump(-1, ' ', false, replace));
  }
  add(text, "}}\n");
  return fmt::to_string(text);
}

std::string reason_of_row(std::string_view row) {
  return row_document(row, 1)["findings"][0]["text"].get<std::string>();
}

std::string_view configuration_text(std::string_view row) {
  constexpr std::string_view key = "\"configuration\":{";
  const std::size_t begin = std::min(row.find(key), row.size() - key.size()) + key.size();
  const std::size_t end =
      std::min(row.find("},\"result\":{", begin), row.find("},\"findings\":[", begin));
  return row.substr(begin, std::min(end, row.size()) - begin);
}

bool lacks_memory(std::string_view row) {
  const std::size_t findings = row.rfind("},\"findings\":[");
  return findings != std::string_view::npos && !has_result(row) &&
         row.find(lacks_memory_text, findings) != std::string_view::npos;
}

std::string_view result_in(std::string_view row) {
  const std::size_t at = row.find("},\"result\":{");
  return at == std::string_view::npos ? std::string_view() : row.substr(at);
}

bool has_result(std::string_view row) { return !result_in(row).empty(); }

bool runs_out_of_memory(std::string_view row) {
  const std::size_t findings = row.rfind("},\"findings\":[");
  return findings != std::string_view::npos && has_result(row) &&
         row.find("\"kind\":\"out_of_memory\"", findings) != std::string_view::npos;
}

bool is_answer(std::string_view row) {
  constexpr std::string_view key = "},\"findings\":[{\"kind\":\"";
  const std::size_t found = row.rfind(key);
  if (found == std::string_view::npos) return has_result(row);
  const std::string_view kind = row.substr(found + key.size());
  return has_result(row) && leaves_answer(kind.substr(0, kind.find('"')));
}

}  // namespace penstock
