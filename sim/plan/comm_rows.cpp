#include "sim/plan/comm_rows.hpp"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

void add_new(std::vector<TaskId>& tasks, std::span<const TaskId> more) {
  for (const TaskId task : more) {
    if (std::ranges::find(tasks, task) == tasks.end()) tasks.push_back(task);
  }
}

/// Whether a cell goes through a stream of SENDs and RECVs.
bool moves_tensor(const CommCell& cell) { return is_send(cell.comm) || is_receive(cell.comm); }

Action maker_of(const Crossing& crossing) {
  return {crossing.gradient ? Pass::backward : Pass::forward, crossing.sender, crossing.microbatch};
}

}  // namespace

std::vector<UnusedGather> unused_gathers(const std::vector<CommCell>& row,
                                         const std::vector<Action>& actions) {
  std::vector<UnusedGather> unused;
  for (auto gather = row.begin(); gather != row.end(); ++gather) {
    if (gather->comm != Comm::unshard) continue;
    const Stage stage = gather->stage;
    const auto freed = std::find_if(gather, row.end(), [&](const CommCell& cell) {
      return cell.comm == Comm::reshard && cell.stage == stage;
    });
    const std::size_t end = freed == row.end() ? actions.size() : freed->before;
    const bool used = std::any_of(actions.begin() + gather->before,
                                  actions.begin() + static_cast<std::ptrdiff_t>(end),
                                  [&](const Action& action) { return action.stage == stage; });
    if (used) continue;
    UnusedGather& one = unused.emplace_back();
    one.unshard = static_cast<std::size_t>(gather - row.begin());
    if (freed != row.end()) one.reshard = static_cast<std::size_t>(freed - row.begin());
  }
  return unused;
}

CommRows::CommRows(const Communication& communication, const Schedule& schedule,
                   const Placement& placement, Plan& plan, WorkClasses& classes, TailTasks& tail,
                   Number number)
    : communication_(communication),
      placement_(placement),
      plan_(plan),
      classes_(classes),
      tail_(tail),
      number_(std::move(number)),
      next_(communication.rows.size()),
      waits_(communication.rows.size()),
      unused_(communication.rows.size()),
      collective_(communication.rows.size(), no_task),
      streams_chain_(communication.streams != CommStreams::message) {
  for (const auto& row : communication.rows) {
    for (const CommCell& cell : row) {
      if (!moves_tensor(cell)) continue;
      const Crossing crossing = *crossing_of(cell, placement);
      Tensor& one = tensors_[number_(crossing)];
      one.crossing = crossing;
      (is_send(cell.comm) ? one.send : one.receive).cell = cell;
    }
  }
  if (!communication.weights) return;
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    const auto& row = communication.rows[index(rank)];
    auto& unused = unused_[index(rank)];
    unused.resize(row.size());
    for (const UnusedGather& one : unused_gathers(row, schedule.on(rank))) {
      unused[one.unshard] = true;
      if (one.reshard) unused[*one.reshard] = true;
    }
  }
}

const CommCell* CommRows::next(Rank rank, std::uint32_t action) const {
  const auto& row = communication_.rows[index(rank)];
  const std::size_t at = next_[index(rank)];
  return at < row.size() && row[at].before <= action ? &row[at] : nullptr;
}

bool CommRows::is_eager(const Crossing& crossing) const {
  const std::uint32_t lower =
      std::min(placement_.position(crossing.sender), placement_.position(crossing.receiver));
  return lower < communication_.eager.size() && communication_.eager[lower];
}

Rank CommRows::peer_of(const CommCell& cell) const {
  const Crossing crossing = *crossing_of(cell, placement_);
  return placement_.rank_of(is_send(cell.comm) ? crossing.receiver : crossing.sender,
                            cell.microbatch);
}

CommRows::StreamKey CommRows::stream_of(const CommCell& cell, Rank rank) const {
  switch (communication_.streams) {
    case CommStreams::rank:
      return {rank, 0, false};
    case CommStreams::pair:
      return {rank, index(peer_of(cell)), false};
    case CommStreams::direction:
      return {rank, 0, is_send(cell.comm)};
    case CommStreams::message:
      break;
  }
  return {rank, number_(*crossing_of(cell, placement_)), is_send(cell.comm)};
}

/// Behind the cells that are issued with the next one of a rank.
std::size_t CommRows::end_of_batch(Rank rank) const {
  const auto& row = communication_.rows[index(rank)];
  const std::size_t first = next_[index(rank)];
  std::size_t end = first + 1;
  if (!communication_.batched) return end;
  const auto joins = [&](const CommCell& cell) {
    return moves_tensor(cell) && cell.before == row[first].before &&
           peer_of(cell) == peer_of(row[first]);
  };
  while (end < row.size() && joins(row[end])) ++end;
  return end;
}

std::optional<std::size_t> CommRows::issue(Rank rank, std::uint32_t action, TaskId last,
                                           std::vector<Moved>& moved) {
  moved_ = &moved;
  while (const CommCell* cell = next(rank, action)) {
    if (moves_tensor(*cell)) {
      issue_batch(rank, last);
      continue;
    }
    if (is_send_wait(cell->comm)) {
      const std::size_t tensor = number_(*crossing_of(*cell, placement_));
      const TaskId transfer = tensors_.at(tensor).transfer;
      if (transfer == no_task) return tensor;
      waits_[index(rank)].push_back(transfer);
    } else {
      issue_collective(rank, *cell, last);
    }
    ++next_[index(rank)];
  }
  return std::nullopt;
}

/// What the next cell of a rank is issued behind: the action before it, and what the waits between
/// the two wait for.
std::vector<TaskId> CommRows::issued_after(Rank rank, TaskId last) const {
  std::vector<TaskId> tasks;
  if (last != no_task) tasks.push_back(last);
  add_new(tasks, waits_[index(rank)]);
  return tasks;
}

/// Adds what an UNSHARD, a REDUCE_GRAD or an EXCHANGE starts, behind the collective before it.
void CommRows::issue_collective(Rank rank, const CommCell& cell, TaskId last) {
  TaskId& before = collective_[index(rank)];
  std::vector<TaskId> inputs = issued_after(rank, last);
  if (before != no_task) add_new(inputs, {&before, 1});
  std::ranges::sort(inputs);
  if (cell.comm == Comm::unshard && communication_.weights) {
    const bool used = !unused_[index(rank)][next_[index(rank)]];
    before = add_task(plan_, classes_.gather(rank, cell.stage, used), cell.microbatch,
                      add_inputs(plan_, inputs));
    if (used) gathered_[{rank, cell.stage}] = before;
  } else if (cell.comm == Comm::reduce_grad && communication_.gradients) {
    const TaskId sum = tail_.reduce_written(rank, cell.stage, add_inputs(plan_, inputs));
    if (sum != no_task) reduced_[{rank, cell.stage}] = before = sum;
  } else if (is_exchange(cell.comm)) {
    before = exchange(rank, cell, inputs);
  } else if (cell.comm == Comm::wait_reduce_grad) {
    const auto sum = reduced_.find({rank, cell.stage});
    if (sum != reduced_.end()) waits_[index(rank)].push_back(sum->second);
  }
}

/// Adds the transfer of an EXCHANGE, which has its ends on one rank.
TaskId CommRows::exchange(Rank rank, const CommCell& cell, std::span<const TaskId> inputs) {
  const Crossing crossing = *crossing_of(cell, placement_);
  const std::size_t number = number_(crossing);
  const TaskId task = add_task(plan_, classes_.transfer(maker_of(crossing), crossing.receiver),
                               cell.microbatch, add_inputs(plan_, inputs));
  tensors_[number].arrival = {task};
  moved_->push_back({number, task, rank, /*received=*/true});
  return task;
}

TaskId CommRows::take_gathered(Rank rank, Stage stage) {
  const auto gather = gathered_.find({rank, stage});
  if (gather == gathered_.end()) return no_task;
  const TaskId task = gather->second;
  gathered_.erase(gather);
  return task;
}

/// The next cell, and those batched with it.
void CommRows::issue_batch(Rank rank, TaskId last) {
  const auto& row = communication_.rows[index(rank)];
  std::map<StreamKey, std::vector<Op>> batch;
  for (const std::size_t end = end_of_batch(rank); next_[index(rank)] < end; ++next_[index(rank)]) {
    const CommCell& cell = row[next_[index(rank)]];
    const std::size_t tensor = number_(*crossing_of(cell, placement_));
    const StreamKey key = stream_of(cell, rank);
    (is_send(cell.comm) ? tensors_.at(tensor).send : tensors_.at(tensor).receive).stream = key;
    batch[key].push_back({tensor, is_send(cell.comm)});
  }
  for (auto& [key, ops] : batch) {
    const auto sends = std::ranges::count_if(ops, &Op::sends);
    sends_together_ = sends_together_ || sends > 1;
    Stream& stream = streams_[key];
    const std::size_t count = ops.size();
    stream.groups.push_back({std::move(ops), issued_after(rank, last), count, {}});
    if (stream.groups.size() == 1) come_to_head(key);
  }
  while (!ready_.empty()) {
    const std::size_t tensor = ready_.front();
    ready_.pop_front();
    place(tensor);
  }
}

/// The first group of a stream has nothing more before it.
void CommRows::come_to_head(const StreamKey& key) {
  const Stream& stream = streams_.at(key);
  const Group group = stream.groups.front();  // a copy: it may finish at once
  std::vector<TaskId> after = stream.before;
  add_new(after, group.after);
  for (const Op& op : group.ops) {
    End& end = op.sends ? tensors_.at(op.tensor).send : tensors_.at(op.tensor).receive;
    end.after = after;
    end.at_head = true;
  }
  for (const Op& op : group.ops) look_at(op.tensor);
}

/// An end of a tensor's way has come to the head of its stream.
void CommRows::look_at(std::size_t tensor) {
  const Tensor& one = tensors_.at(tensor);
  if (one.transfer != no_task) return receive(tensor);
  const bool meets = one.receive.at_head || is_eager(one.crossing);
  const bool listed = std::ranges::find(ready_, tensor) != ready_.end();
  if (one.send.at_head && meets && !listed) ready_.push_back(tensor);
}

void CommRows::place(std::size_t tensor) {
  Tensor& one = tensors_.at(tensor);
  std::vector<TaskId> inputs = one.send.after;
  if (!is_eager(one.crossing)) add_new(inputs, one.receive.after);
  std::ranges::sort(inputs);
  std::uint32_t work = classes_.transfer(maker_of(one.crossing), one.crossing.receiver);
  const bool held = one.receive.cell.before > 0 && communication_.receives_hold;
  if (held) work = classes_.into_held(work);
  one.transfer = add_task(plan_, work, one.crossing.microbatch, add_inputs(plan_, inputs));
  moved_->push_back({tensor, one.transfer, rank_of(one.send.cell), /*received=*/false});
  finish(*one.send.stream, {&one.transfer, 1});
  receive(tensor);
}

/// Ends the RECV of a tensor that is under way, once it is at the head of its stream. Behind an
/// eager one, which did not wait for it, its reader waits for what was before it there, too.
void CommRows::receive(std::size_t tensor) {
  Tensor& one = tensors_.at(tensor);
  if (!one.receive.at_head || std::exchange(one.received, true)) return;
  one.arrival = {one.transfer};
  if (is_eager(one.crossing)) add_new(one.arrival, one.receive.after);
  std::ranges::sort(one.arrival);
  moved_->push_back({tensor, one.transfer, rank_of(one.receive.cell), /*received=*/true});
  const StreamKey key = *one.receive.stream;
  const std::vector<TaskId> arrival = one.arrival;
  finish(key, arrival);
}

/// A cell of the group at the head of a stream has ended.
void CommRows::finish(const StreamKey& key, std::span<const TaskId> done) {
  Stream& stream = streams_.at(key);
  Group& group = stream.groups.front();
  add_new(group.done, done);
  if (--group.left > 0) return;
  stream.before = std::move(group.done);
  stream.groups.pop_front();
  if (!stream.groups.empty()) come_to_head(key);
}

std::uint32_t CommRows::holding(std::uint32_t work, Rank rank, std::uint32_t action) {
  const auto& row = communication_.rows[index(rank)];
  auto cell = std::ranges::lower_bound(row, action, {}, &CommCell::before);
  std::vector<CommCell> changing;
  for (; cell != row.end() && cell->before == action; ++cell) {
    const bool takes = cell->comm == Comm::receive_forward && communication_.receives_hold;
    const bool frees = cell->comm == Comm::reshard && communication_.weights &&
                       !unused_[index(rank)][static_cast<std::size_t>(cell - row.begin())];
    if (takes || frees) changing.push_back(*cell);
  }
  return changing.empty() ? work : classes_.with_behind(work, rank, changing);
}

CommRows::Missing CommRows::missing(const Crossing& crossing) const {
  const Tensor& one = tensors_.at(number_(crossing));
  const bool send_lacks = !one.send.at_head;
  const End& end = send_lacks ? one.send : one.receive;
  Missing missing{rank_of(end.cell), end.cell, std::nullopt};
  if (!end.stream) return missing;
  for (const Op& op : streams_.at(*end.stream).groups.front().ops) {
    const Tensor& other = tensors_.at(op.tensor);
    if (op.sends ? other.transfer != no_task : other.received) continue;
    missing.behind = op.sends ? other.send.cell : other.receive.cell;
    break;
  }
  return missing;
}

}  // namespace penstock
