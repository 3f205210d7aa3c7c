#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/named_order.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/program/commands/registry.hpp"
#include "sim/base/limits.hpp"

namespace penstock::schedule_file {
namespace {

struct Options : Arguments {
  Text name = line.required("NAME", "a schedule; see penstock list schedules", suggested_schedules);
  Number ranks = line.number("--ranks", "pipeline ranks");
  Number chunks = line.number("--chunks", "stages a rank, where the rule leaves a choice");
  Number microbatches = line.number("--microbatches", "microbatches of one iteration");
  Texts settings = line.list("--set", "an option of the rule", "KEY=VALUE", suggested_options);
  Flag comms =
      line.flag("--comms", "with sends, receives and reductions, as PyTorch lowers an order");
  Flag fsdp = line.flag("--fsdp", "with gathering and freeing of weights too; implies --comms");
  Text torch = line.option("--torch", "the release of PyTorch that loads it; default 2.15",
                           "VERSION", suggested_torch);
};

TorchVersion torch_of(const Options& options) {
  if (options.torch.empty()) return newest_torch;
  const auto version = torch_version(options.torch);
  if (version) return *version;
  throw UsageError(fmt::format("--torch {}", unknown_torch(options.torch)));
}

/// Says what PyTorch would not load, or train otherwise. With --torch, such orders are refused.
void say_support(const Options& options, const CheckedOrder& order, const Schedule& carried) {
  const std::string why = why_not_trained(carried, order.placement, order.slices, order.weights);
  if (why.empty()) return;
  const std::string text =
      fmt::format("PyTorch {} cannot train this order: {}", name(torch_of(options)), why);
  if (!options.torch.empty()) throw UsageError(fmt::format("{}: {}", order.name, text));
  say(text);
}

OrderRequest request_of(const Options& options) {
  OrderRequest request{.name = options.name,
                       .ranks = within("--ranks", options.ranks, Limits::ranks)};
  request.options.microbatch_count =
      within("--microbatches", options.microbatches, Limits::microbatches);
  request.options.settings = rule_settings(options.settings);
  if (options.comms || options.fsdp) request.cell_bytes = CellBytes::lowered_order;
  if (options.chunks) {
    request.chunks = within("--chunks", options.chunks, Limits::stages / request.ranks);
  }
  return request;
}

int print_schedule(const Options& options) {
  const TorchVersion version = torch_of(options);
  const CheckedOrder order = order_named(request_of(options), ": give --chunks ");
  const TorchOrder torch = torch_order(order.schedule);
  say_support(options, order, torch.schedule);
  const bool with_comms = options.comms || options.fsdp;
  try {
    show(with_comms ? write_torch_comms(torch.schedule, order.placement, {version, options.fsdp})
                    : write_torch_csv(torch.schedule).text);
  } catch (const RuleError& error) {
    throw UsageError(fmt::format("{}: {}", order.name, error.what()));
  }
  for (const std::string& action : torch.left_out) {
    say("left out, since the notation cannot carry it: " + action);
  }
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry schedule_entry{
    .name = "schedule",
    .summary = "print the order of a schedule as PyTorch CSV",
    .group = CommandGroup::plan,
    .example = "penstock schedule 1f1b --ranks 4 --microbatches 8 > order.csv",
    .declare = command<Options, print_schedule>,
};

}  // namespace penstock::schedule_file
