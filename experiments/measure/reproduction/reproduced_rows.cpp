#include "experiments/measure/reproduction/reproduced_rows.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

bool agree(const PaperTable& table, const PaperRow& a, const PaperRow& b,
           const std::vector<std::string>& columns) {
  return std::ranges::all_of(columns, [&](const std::string& name) {
    const std::size_t column = column_of(table, name);
    return a[column] == b[column];
  });
}

int sign(double value) { return (value > 0) - (value < 0); }

/// Whether one value is more than exp(`least`) times the other; values of other signs are apart.
bool are_apart(double a, double b, double least) {
  return least == 0 || a / b <= 0 || std::abs(std::log(a / b)) > least;
}

/// Kendall's tau: of all pairs with published values far enough apart, those in the same order in
/// simulation minus those in the opposite order, over all of them.
void rank(const Judgement& judgement, const PaperTable& table, const std::vector<PaperRow>& rows,
          JudgedTable& judged) {
  double agreement = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const ReproducedRow &a = judged.rows[i], &b = judged.rows[k];
      if (!a.ranked || !b.ranked || !agree(table, rows[i], rows[k], judgement.ranked_by)) continue;
      const int published = sign(a.published - b.published);
      if (published == 0 || !are_apart(a.published, b.published, judgement.apart)) continue;
      const int agreed = published * sign(a.simulated - b.simulated);
      ++judged.ranked_pairs;
      if (agreed > 0) ++judged.pairs_in_order;
      agreement += agreed;
    }
  }
  if (judged.ranked_pairs == 0) return;
  judged.ranking = agreement / static_cast<double>(judged.ranked_pairs);
}

/// The errors of some rows; those that are not finite do not count.
template <class Chosen>
ErrorTotals totals_of(const std::vector<ReproducedRow>& rows, Chosen chosen) {
  ErrorTotals totals;
  for (const ReproducedRow& row : rows) {
    if (!chosen(row) || !std::isfinite(row.error)) continue;
    ++totals.rows;
    totals.mean += std::abs(row.error);
    totals.bias += row.error;
    if (std::abs(row.error) > std::abs(totals.worst)) totals.worst = row.error;
  }
  const double count = std::max<double>(1, static_cast<double>(totals.rows));
  totals.mean /= count;
  totals.bias /= count;
  return totals;
}

}  // namespace

void sum_up(const Judgement& judgement, const PaperTable& table, const std::vector<PaperRow>& rows,
            JudgedTable& judged) {
  judged.judged = totals_of(judged.rows, [](const ReproducedRow& row) { return row.judged; });
  judged.unjudged = totals_of(judged.rows, [](const ReproducedRow& row) {
    return !row.judged && !row.fitted && !row.anchor && !row.reference;
  });
  const bool has_target =
      judgement.each || judgement.mean || judgement.ranking || judgement.in_order;
  judged.met = !has_target || judged.judged.rows > 0;
  if (judgement.each) judged.met = judged.met && std::abs(judged.judged.worst) <= *judgement.each;
  if (judgement.mean) judged.met = judged.met && judged.judged.mean <= *judgement.mean;
  if (!judgement.ranking && !judgement.in_order) return;
  rank(judgement, table, rows, judged);
  judged.met = judged.met && judged.ranked_pairs > 0;
  if (judgement.ranking) judged.met = judged.met && *judged.ranking >= *judgement.ranking;
  if (judgement.in_order) judged.met = judged.met && share_in_order(judged) >= *judgement.in_order;
}

}  // namespace penstock
