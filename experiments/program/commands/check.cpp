#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/order_check.hpp"
#include "experiments/program/commands/registry.hpp"
#include "sim/base/limits.hpp"

namespace penstock::check_file {
namespace {

struct Options : Arguments {
  Text order =
      line.input().required("ORDER", "an order in PyTorch's CSV notation, - for standard input");
  Text chains =
      line.option("--chains", "stages of each copy of the model; inferred for bidirectional orders",
                  "\"0,1;2,3\"");
  Text torch =
      line.option("--torch", "a release: what its runtime does with the order, over NCCL and gloo",
                  "VERSION", suggested_torch);
  Flag json = line.json("print the result as JSON");
};

/// "0,1;2,3" as two chains of two stages.
std::vector<std::vector<Stage>> parse_chains(const std::string& text) {
  std::vector<std::vector<Stage>> chains;
  if (text.empty()) return chains;
  const std::string list = text + ";";
  for (std::string_view rest = list; !rest.empty();) {
    const std::string own = fmt::format("{},", take_until(rest, ';'));
    auto& chain = chains.emplace_back();
    for (std::string_view stages = own; !stages.empty();) {
      const auto stage = whole_number<std::uint32_t>(take_until(stages, ','));
      if (!stage || *stage >= Limits::stages) {
        throw UsageError(
            fmt::format("--chains \"{}\": it must read like \"0,1;2,3\": the stages of each "
                        "copy of the model",
                        text));
      }
      chain.push_back(Stage{*stage});
    }
  }
  return chains;
}

ordered_json fault_json(const CellFault& fault) {
  return {{"penstock", 1},
          {"ok", false},
          {"fault", {{"rank", fault.rank}, {"column", fault.column}, {"text", fault.text}}}};
}

ordered_json facts_json(const OrderFacts& facts) {
  ordered_json versions = ordered_json::array();
  for (const TorchVersion version : facts.torch) versions.push_back(name(version));
  return {{"penstock", 1},
          {"ok", true},
          {"ranks", facts.ranks},
          {"stages", facts.stages},
          {"microbatches", facts.microbatches},
          {"placement", facts.placement},
          {"communication", facts.with_communication},
          {"peak_activations", facts.peak_activations},
          {"torch", std::move(versions)},
          {"torch_note", facts.torch_note},
          {"fsdp_note", facts.fsdp_note},
          {"timing_note", facts.timing_note}};
}

ordered_json check_json(const OrderCheck& check) {
  ordered_json document = check.fault ? fault_json(*check.fault) : facts_json(*check.facts);
  for (const StreamVerdict& verdict : check.streams) {
    document["streams"][std::string(verdict.where)] =
        verdict.fault ? verdict.fault->text : "runs to its end";
  }
  if (check.inferred_chains.empty()) return document;
  document["inferred_chains"] = ordered_json::array();
  for (const auto& chain : check.inferred_chains) {
    ordered_json& stages = document["inferred_chains"].emplace_back(ordered_json::array());
    for (const Stage stage : chain) stages.push_back(index(stage));
  }
  return document;
}

/// "v 2", or "3 stages" where ranks hold unequal numbers of them.
std::string chunks_text(const OrderFacts& facts) {
  return facts.chunks > 0 ? fmt::format("v {}", facts.chunks) : counted(facts.stages, "stage");
}

std::string facts_text(const OrderFacts& facts) {
  return fmt::format("fine: p {}, {}, m {}; placement {}; {}; peak activations {}\n", facts.ranks,
                     chunks_text(facts), facts.microbatches, facts.placement,
                     facts.with_communication ? "with communication" : "compute-only",
                     fmt::join(facts.peak_activations, " "));
}

/// "loads in PyTorch 2.9, 2.14, 2.15".
std::string torch_text(const OrderFacts& facts) {
  std::vector<std::string_view> versions;
  for (const TorchVersion version : facts.torch) versions.push_back(name(version));
  const std::string loads = versions.empty()
                                ? "no release of PyTorch trains it"
                                : fmt::format("loads in PyTorch {}", fmt::join(versions, ", "));
  return loads + (facts.torch_note.empty() ? "\n" : fmt::format(": {}\n", facts.torch_note));
}

/// Names ranks without actions, which may come from an accidental empty last line.
std::string idle_text(const OrderFacts& facts) {
  std::vector<std::size_t> idle;
  for (std::size_t rank = 0; rank < facts.peak_activations.size(); ++rank) {
    if (facts.peak_activations[rank] == 0) idle.push_back(rank);
  }
  return idle.empty() ? "" : fmt::format("ranks without actions: {}\n", fmt::join(idle, ", "));
}

/// "0,1;2,3", as for --chains.
std::string chains_text(const std::vector<std::vector<Stage>>& chains) {
  std::string text;
  for (const auto& chain : chains) {
    std::vector<std::uint32_t> stages;
    for (const Stage stage : chain) stages.push_back(index(stage));
    text += fmt::format("{}{}", text.empty() ? "" : ";", fmt::join(stages, ","));
  }
  return text;
}

std::string check_text(const std::string& file, const OrderCheck& check) {
  const auto& fault = check.fault;
  std::string text =
      fault ? fmt::format("{}: row {}, column {}: {}\n", file, fault->rank, fault->column,
                          fault->text)
            : facts_text(*check.facts) + torch_text(*check.facts) + idle_text(*check.facts);
  if (!fault && !check.facts->fsdp_note.empty()) text += check.facts->fsdp_note + "\n";
  if (!fault && !check.facts->timing_note.empty()) {
    text += "when timed: " + check.facts->timing_note + "\n";
  }
  for (const StreamVerdict& verdict : check.streams) {
    text += fmt::format("over {}: {}\n", verdict.where,
                        verdict.fault ? verdict.fault->text : "runs to its end");
  }
  if (check.inferred_chains.empty()) return text;
  return text + fmt::format(
                    "chains inferred: \"{}\", {} copies of the model, since no microbatch "
                    "runs in both; --chains overrides this\n",
                    chains_text(check.inferred_chains), check.inferred_chains.size());
}

OrderCheck checked(const std::string& text, const std::vector<std::vector<Stage>>& chains,
                   std::optional<TorchVersion> torch) {
  try {
    return check_order(text, chains, torch);
  } catch (const InputError& error) {
    throw UsageError(fmt::format("--chains: {}", error.what()));
  }
}

/// A file of another kind is no faulty order.
void refuse_others(const std::string& file, std::string_view text) {
  about_file(file, [&] {
    refuse_run(text);
    refuse_model(text);
    refuse_scenario(text);
  });
}

int check(const Options& options) {
  const auto chains = parse_chains(options.chains);
  const std::string& release = options.torch;
  const auto torch = release.empty() ? std::nullopt : torch_version(release);
  if (!release.empty() && !torch) throw UsageError("--torch " + unknown_torch(release));
  const std::string text = read_file(options.order);
  const OrderCheck result = checked(text, chains, torch);
  if (result.fault) refuse_others(options.order, text);
  show(options.json ? printed(check_json(result)) : check_text(options.order, result));
  return result.fault ? ExitCode::finding : ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry check_entry{
    .name = "check",
    .summary = "check an order: complete, consistent, free of deadlock",
    .group = CommandGroup::plan,
    .example = "penstock schedule 1f1b --ranks 4 --microbatches 8 | penstock check -",
    .declare = command<Options, check>,
};

}  // namespace penstock::check_file
