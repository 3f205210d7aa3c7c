#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/named_order.hpp"
#include "experiments/input/orders/order_check.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/python/module.hpp"
#include "sim/base/error.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

/// What of an order PyTorch's notation carries.
struct TorchOrderOf {
  CheckedOrder order;
  TorchOrder carried;
};
using SharedOrder = std::shared_ptr<const TorchOrderOf>;

SharedOrder shared(CheckedOrder order) {
  TorchOrder carried = torch_order(order.schedule);
  return std::make_shared<const TorchOrderOf>(TorchOrderOf{std::move(order), std::move(carried)});
}

SharedOrder order_by_name(const std::string& name, std::uint32_t ranks, std::uint32_t microbatches,
                          std::optional<std::uint32_t> chunks,
                          const std::vector<std::string>& options) {
  return shared(order_named({.name = name,
                             .ranks = ranks,
                             .chunks = chunks,
                             .options = {microbatches, rule_settings(options)}},
                            ": give chunks="));
}

/// Stages of each copy of the model.
using Chains = std::vector<std::vector<std::uint32_t>>;

SharedOrder order_in_csv(const std::string& name, const std::string& text, const Chains& chains) {
  std::vector<std::vector<Stage>> stages;
  for (const auto& chain : chains) {
    auto& numbers = stages.emplace_back();
    for (const std::uint32_t stage : chain) numbers.push_back(Stage{stage});
  }
  return shared(order_of_csv(name, text, stages));
}

TorchVersion version_of(const std::string& text) {
  if (const auto version = torch_version(text)) return *version;
  throw UsageError(unknown_torch(text));
}

std::string comms_of(const SharedOrder& order, bool fsdp, const std::string& torch) {
  return write_torch_comms(order->carried.schedule, order->order.placement,
                           {version_of(torch), fsdp});
}

/// Why a release rejects the communication of an order as it loads it; "" if it does not.
std::string why_rejected_by(const SharedOrder& order, const std::string& torch) {
  return why_rejected(order->order.communication.rows, torch_version(torch));
}

/// Why a release that loads an order may not train it right, or stops with FSDP stages; "" for
/// none.
std::string doubt_of(const SharedOrder& order, const std::string& torch) {
  if (!order->order.communication.written()) return "";
  const std::string text = torch_text(order->carried.schedule, order->order.communication);
  const OrderCheck check = check_order(text, order->order.placement.chains());
  if (!check.facts) return check.fault->text;
  const auto version = torch_version(torch);
  const auto& trains = check.facts->torch;
  std::vector<std::string> doubts;
  if (!version) {
    doubts.push_back(unknown_torch(torch));
  } else if (std::find(trains.begin(), trains.end(), *version) == trains.end()) {
    doubts.push_back(check.facts->torch_note);
  }
  if (!check.facts->fsdp_note.empty()) doubts.push_back(check.facts->fsdp_note);
  return fmt::format("{}", fmt::join(doubts, "; "));
}

Chains chains_of(const SharedOrder& order) {
  Chains chains;
  for (const auto& chain : order->order.placement.chains()) {
    auto& numbers = chains.emplace_back();
    for (const Stage stage : chain) numbers.push_back(index(stage));
  }
  return chains;
}

std::vector<std::uint32_t> stages_of(const SharedOrder& order, std::uint32_t rank) {
  std::vector<std::uint32_t> stages;
  for (const Stage stage : order->order.placement.stages_of(Rank{rank})) {
    stages.push_back(index(stage));
  }
  return stages;
}

}  // namespace

void bind_orders(nb::module_& module) {
  nb::class_<TorchOrderOf>(module, "Order", "A checked order.")
      .def_prop_ro("name", [](const TorchOrderOf& order) { return order.order.name; })
      .def_prop_ro("ranks", [](const TorchOrderOf& order) { return order.order.placement.ranks(); })
      .def_prop_ro("stages",
                   [](const TorchOrderOf& order) { return order.order.placement.stage_count(); })
      .def_prop_ro("microbatches",
                   [](const TorchOrderOf& order) { return order.order.microbatches; })
      .def("text",
           [](const TorchOrderOf& order) {
             return torch_text(order.order.schedule, order.order.communication);
           })
      .def_prop_ro("has_communication",
                   [](const TorchOrderOf& order) { return order.order.communication.written(); })
      .def("chains", chains_of)
      .def("stages_of", stages_of, nb::arg("rank"))
      .def("csv",
           [](const TorchOrderOf& order) {
             return torch_text(order.carried.schedule, order.order.communication);
           })
      .def("comms", comms_of, nb::arg("fsdp"), nb::arg("torch"))
      .def("why_not_loadable",
           [](const TorchOrderOf& order) {
             return why_not_loadable(order.carried.schedule, order.order.placement);
           })
      .def("why_not_trained",
           [](const TorchOrderOf& order) {
             return why_not_trained(order.carried.schedule, order.order.placement,
                                    order.order.slices, order.order.weights);
           })
      .def("why_rejected", why_rejected_by, nb::arg("torch"))
      .def("doubt", doubt_of, nb::arg("torch"))
      .def_prop_ro("columns",
                   [](const TorchOrderOf& order) {
                     return MicrobatchColumns(order.carried.schedule).count();
                   })
      .def("lost", [](const TorchOrderOf& order) {
        return lost_text(order.order.schedule, order.carried.left_out, order.order.slices,
                         order.order.weights);
      });
  module.def(
      "check_torch", [](const std::string& torch) { version_of(torch); }, nb::arg("torch"));
  module.def("schedule", order_by_name, nb::arg("name"), nb::arg("ranks"), nb::arg("microbatches"),
             nb::arg("chunks"), nb::arg("options"), nb::call_guard<nb::gil_scoped_release>());
  module.def("order_of_csv", order_in_csv, nb::arg("name"), nb::arg("text"), nb::arg("chains"),
             nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace penstock::python
