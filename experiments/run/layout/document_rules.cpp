#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/input/files/table.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

void refuse_if(bool refused, const char* where, const std::string& what) {
  if (refused) throw InputError(where, what);
}

/// Calls `visit(part)` for each layer with experts.
template <class Visitor>
void for_each_mixture(const ModelSpec& spec, Visitor visit) {
  for (const BlockSpec& block : spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      if (part.numbers.contains("experts")) visit(part);
    }
  }
}

/// Tokens of the busiest expert over the mean.
double busiest_of(const RouterLoads& router) {
  if (router.skew) return *router.skew;
  const auto& loads = router.loads;
  const double all = std::accumulate(loads.begin(), loads.end(), 0.0);
  const double most = *std::ranges::max_element(loads);
  return most * static_cast<double>(loads.size()) / all;
}

/// A token meets an expert at most once.
void check_busiest(const RouterLoads& router, const LayerSpec& mixture) {
  constexpr double rounding = 1 + 1e-9;
  const double imbalance = mixture.number("imbalance", 1);
  const double most = mixture.numbers.at("experts") / (mixture.numbers.at("chosen") * imbalance);
  const double busiest = busiest_of(router);
  refuse_if(busiest > most * rounding, router.skew ? "/batch/router/skew" : "/batch/router/file",
            fmt::format("the busiest expert has {:g} times the mean; it must be at most experts / "
                        "(chosen x imbalance), {:g}: a token meets an expert at most once",
                        busiest, most));
}

void check_router(const RouterLoads& router, const Layout& layout) {
  refuse_if(!has_experts(layout.spec), "/batch/router",
            "no layer of the model has experts; leave it out");
  for_each_mixture(layout.spec, [&](const LayerSpec& part) {
    refuse_if(part.number("capacity_factor") > 0, "/batch/router",
              "capacity_factor bounds what an expert receives, so none is busier; leave one out");
    const double experts = part.numbers.at("experts");
    refuse_if(!router.file.empty() && static_cast<double>(router.loads.size()) != experts,
              "/batch/router/file",
              fmt::format("it has {}, and the model has {} experts; one line an expert is needed",
                          counted(router.loads.size(), "load"), experts));
    check_busiest(router, part);
  });
}

/// Tokens of pictures over all tokens, in an example of a model; 0: it has no pictures.
double pictures_per_token(const Layout& layout) {
  for (const BlockSpec& block : layout.spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      const auto found = part.numbers.find("pictures");
      if (found != part.numbers.end()) return found->second / *layout.batch.sequence;
    }
  }
  return 0;
}

void check_kinds(const BatchSection& batch, const Layout& layout) {
  refuse_if(!has_tokens(layout.spec), "/batch", "the examples of the model are no sequences");
  refuse_if(batch.attention_share.has_value(), "/batch/attention_share",
            "the kinds of layers say what is attention; it goes with stated times");
  refuse_if(layout.overlap == Overlap::fused, "/schedule/overlap",
            "cells of microbatches that differ are fused for stated times alone; set it to "
            "\"serial\"");
  refuse_if(layout.hardware.spec.profile.has_value(), "/hardware/profile",
            "a profile has times of one shape of microbatch; leave it or /batch out");
  const double full = *layout.batch.sequence * *layout.batch.microbatch;
  refuse_if(batch.tokens && *batch.tokens != full, "/batch/tokens",
            fmt::format("it is {}, and a microbatch of the model has {:.10g} tokens; set "
                        "/model/sequence, or leave it out",
                        batch.tokens.value_or(0), full));
  if (batch.router) check_router(*batch.router, layout);
}

void check_times(const BatchSection& batch) {
  refuse_if(!batch.tokens, "/batch/tokens",
            "\"tokens\" is missing: of a full microbatch, for which the stated times are");
  refuse_if(batch.router.has_value(), "/batch/router",
            "layers that state their times have no experts; leave it out");
}

}  // namespace

std::optional<BatchSection> settle_documents(const Scenario& scenario, const Layout& layout) {
  if (!scenario.batch) return std::nullopt;
  BatchSection batch = *scenario.batch;
  refuse_if(layout.slices > 1, "/schedule/name",
            fmt::format("{} slices sequences, and documents are not sliced; choose another "
                        "schedule, or leave /batch out",
                        layout.name));
  refuse_if(layout.codec.encodes(), "/codec",
            "codecs work on activations of one size; leave it or /batch out");
  if (layout.spec.blocks.empty()) {
    check_times(batch);
  } else {
    check_kinds(batch, layout);
    batch.tokens =
        static_cast<std::uint32_t>(std::llrint(*layout.batch.sequence * *layout.batch.microbatch));
  }
  if (const auto most = batch.lengths.most_pictures()) {
    batch.pictures_per_token = pictures_per_token(layout);
    refuse_if(*most > 0 && batch.pictures_per_token == 0, "/batch/lengths",
              fmt::format("a document has {} from pictures, and the examples of the model have "
                          "none; set /model/image_tokens, or leave the numbers out",
                          counted(*most, "token")));
  }
  check_tokens_count(layout);
  return batch;
}

void check_tokens_count(const Layout& layout) {
  const bool by_kind = !layout.spec.blocks.empty();
  for (const Layer& layer : layout.model.layers) {
    const bool timed = layer.forward_us.has_value(), works = !layer.work.kernels.empty();
    refuse_if(by_kind && timed, "/batch",
              "measured layers have times of one shape of microbatch; leave /batch out");
    refuse_if(!by_kind && !timed && works, "/batch",
              "layers that state work alone have no tokens to scale it by");
  }
}

}  // namespace penstock
