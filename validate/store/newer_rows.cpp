#include "validate/store/newer_rows.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "validate/store/environment_keys.hpp"

namespace penstock {
namespace {

std::string point_text(const StoredRow& stored) {
  const KernelPoint& point = stored.row.point;
  return fmt::format("{}\n{}\n{}\n{}\n{}", point.kernel, point.pass, point.condition,
                     stored.row.build, point.shape);
}

bool is_newer(const StoredRow& a, const StoredRow& b) {
  return std::pair(a.row.measured_at, index(a.id)) > std::pair(b.row.measured_at, index(b.id));
}

/// The newest valid row among rows of one point.
class Newest {
 public:
  void offer(const StoredRow& row) {
    if (row.state != RowState::valid) return;
    if (found_ == nullptr || is_newer(row, *found_)) found_ = &row;
  }
  bool stands_before(const StoredRow& row) const {
    return found_ != nullptr && found_->id != row.id && is_newer(*found_, row);
  }
  RowId id() const { return found_->id; }

 private:
  const StoredRow* found_ = nullptr;
};

}  // namespace

std::vector<std::optional<RowId>> newer_rows(std::span<const StoredRow> rows, const Today& today) {
  const std::string now = identity_of(today.environment);
  std::map<std::string, std::map<std::string, Newest>> newest;  // by point and environment
  for (const StoredRow& row : rows) {
    newest[point_text(row)][identity_of(row.row.environment)].offer(row);
  }
  std::vector<std::optional<RowId>> all;
  for (const StoredRow& row : rows) {
    auto& of_point = newest[point_text(row)];
    const Newest& own = of_point[identity_of(row.row.environment)];
    const bool here = of_one_machine(row.row.environment, today.environment);
    const Newest& other = here ? of_point[now] : own;
    all.push_back(other.stands_before(row) ? std::optional(other.id())
                  : own.stands_before(row) ? std::optional(own.id())
                                           : std::nullopt);
  }
  return all;
}

}  // namespace penstock
