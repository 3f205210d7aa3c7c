#include "experiments/profiles/profile_standing.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/files/json_output.hpp"

namespace penstock {

std::string_view standing_of(const RowJudgement& judgement) {
  if (judgement.superseded_by) return "past";
  return judgement.unfit ? "unfit" : name(judgement.state);
}

ordered_json judgement_json(const StoredRow& stored, const RowJudgement& judgement) {
  const KernelPoint& point = stored.row.point;
  return {{"id", index(stored.id)},
          {"state", name(judgement.state)},
          {"unfit", judgement.unfit},
          {"state_in_store", name(stored.state)},
          {"score", judgement.score},
          {"reasons", judgement.reasons},
          {"of_this_machine", !judgement.elsewhere},
          {"superseded_by", judgement.superseded_by ? ordered_json(index(*judgement.superseded_by))
                                                    : ordered_json()},
          {"kernel", point.kernel},
          {"pass", point.pass},
          {"shape", point.shape},
          {"condition", point.condition},
          {"environment", stored.environment},
          {"measured_at", stored.row.measured_at}};
}

ordered_json unreadable_json(const JudgedRows& judged) {
  ordered_json all = ordered_json::array();
  for (const UnreadableRow& row : judged.unreadable) {
    all.push_back({{"id", index(row.id)}, {"why", row.why}});
  }
  return all;
}

std::string unreadable_text(const JudgedRows& judged) {
  std::string text;
  for (const UnreadableRow& row : judged.unreadable) {
    text += fmt::format("row {} cannot be read: {}\n", index(row.id), row.why);
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace penstock
