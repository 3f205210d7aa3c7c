#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/fields/fields.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/program/commands/registry.hpp"
#include "experiments/run/timing/questions.hpp"
#include "hardware_models/spec/machine.hpp"

namespace penstock::kernel_file {
namespace {

/// "product: a product of matrices; attention: …".
std::string kinds_help() {
  std::string text;
  for (const KernelKindEntry& entry : kernel_kinds()) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", entry.name, entry.summary);
  }
  return text;
}

struct Options : Arguments {
  Text kind = line.required_choice("KIND", words_of(kernel_kinds()), kinds_help());
  Texts sizes = line.list("--set", "one of its sizes", "KEY=VALUE");
  Text hardware =
      line.option("--hardware", "a device, a machine that has it, or the machine's file",
                  "NAME|FILE", suggested_machines);
  Text dtype =
      line.choice("--dtype", dtype_words(), "precision of its numbers, default bf16", "bf16");
  Text attention =
      line.option("--attention",
                  "the kernel of the device that runs attention; otherwise as a product", "NAME");
  Text watts = line.option("--watts", "power cap of the device", "NUMBER");
  Flag json = line.json();
};

std::optional<double> watts_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const double number = number_of("--watts", text);
  const auto [least, most] = watts().bounds();
  if (least <= number && number <= most) return number;
  throw UsageError(fmt::format("--watts is {}: expected {:.7g} to {:.7g}", text, least, most));
}

KernelQuestion question_of(const Options& options) {
  KernelQuestion question{options.kind, {}, options.dtype, options.attention};
  question.watts = watts_of(options.watts);
  for (const std::string& setting : options.sizes) {
    const auto [key, value] = option_setting(setting, "kernel");
    question.sizes[key] = number_of("--set " + setting, value);
  }
  return question;
}

std::string timing_text(const Options& options, const KernelTiming& timing) {
  const TimeUnit unit = unit_for(from_us(timing.us));
  std::string text = fmt::format("{} on {}: {} {}\n", options.kind, options.hardware,
                                 time_text(from_us(timing.us), unit), unit.name);
  if (timing.kernel.flops > 0) {
    text +=
        fmt::format("{} TFLOP/s, {} of the {} peak\n", number_text(timing.flops_per_s() * 1e-12),
                    percent_text(timing.flops_per_s() / timing.peak_flops_per_s), timing.precision);
  }
  text += fmt::format("{} GB/s\n", number_text(timing.bytes_per_s() * 1e-9));
  for (const std::string& note : timing.notes) text += fmt::format("note: {}\n", note);
  return text;
}

Device device_of_option(const std::string& value) {
  const Catalogue catalogue = read_catalogue();
  return (is_machine_file(catalogue, value) ? machine_of_option(catalogue, value)
                                            : machine_or_device(catalogue, value))
      .device;
}

/// The option behind a place of the question: "--set rows" behind /sizes/rows.
std::string option_at(const std::string& place) {
  constexpr std::string_view sizes = "/sizes/";
  return place.starts_with(sizes) ? "--set " + place.substr(sizes.size()) : "--" + place.substr(1);
}

int print_timing(const Options& options) {
  try {
    const Device device = device_of_option(options.hardware);
    const KernelTiming timing = time_kernel(device, question_of(options));
    show(options.json ? printed(kernel_json(options.hardware, timing))
                      : timing_text(options, timing));
  } catch (const InputError& error) {
    if (!error.file().empty() || error.where().empty()) throw;  // not of the question
    throw UsageError(fmt::format("{}: {}", option_at(error.where()), error.what()));
  }
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry kernel_entry{
    .name = "kernel",
    .summary = "time one kernel on a device, as its file prices it",
    .group = CommandGroup::plan,
    .example =
        "penstock kernel product --hardware h100-sxm5-80gb --set rows=4096 --set "
        "columns=4096 --set inner=4096",
    .declare = command<Options, print_timing>,
};

}  // namespace penstock::kernel_file
