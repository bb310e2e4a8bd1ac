#include "runs/engine/engine_core.h"

#include <algorithm>
#include <set>

namespace holdfast {

namespace {

constexpr int kBusyTries = 5;
// A checkpoint costs as much as there are attempts, so it must be earned by that many facts.
constexpr std::uint64_t kFactsPerAttempt = 4;

}  // namespace

std::optional<RunEnd> run_end_of(const RunProjection& run) {
  if (!run.is_terminal()) {
    return std::nullopt;
  }
  RunEnd end{run.run_id(), run.started().has_value() ? run.started()->workflow : SharedText(),
             run.terminal()->status, run.terminal()->result, run.terminal()->error};
  if (end.status == TerminalStatus::completed && end.result.empty()) {
    end.result = run.context();
  }
  return end;
}

Core::Core(Journal& journal, Definitions& definitions, const CoreOptions& options)
    : journal_(journal),
      definitions_(definitions),
      options_(options),
      state_(new_state()),
      inputs_(std::make_shared<InputReader>(journal)),
      building_(std::make_unique<Group>()) {}

std::unique_ptr<LiveState> Core::new_state() const {
  auto state = std::make_unique<LiveState>(journal_, definitions_, options_.memory);
  state->queues().set_carried({options_.carried_queues.begin(), options_.carried_queues.end()});
  return state;
}

Result<void> Core::open() {
  HOLDFAST_CHECK(state_->restore());
  HOLDFAST_CHECK(catch_up());
  building_->begin = state_->undo().mark();
  return {};
}

Result<void> Core::catch_up() {
  check_changes_ = false;
  if (rebuild_) {
    state_ = new_state();
    schedules_ = Schedules{};
    building_->begin = state_->undo().mark();
    HOLDFAST_CHECK(state_->restore());
  }
  // Not beyond what the journal knows: a run that is loaded would lack the rest.
  HOLDFAST_TRY(const Position head, journal_.catch_up());
  if (state_->position() < head) {
    rebuild_ = true;  // when the store fails before the end: a batch may be folded in half
    const auto entries = state_->read_up_to(head);
    // What was folded cannot be undone, also when the store failed half way.
    building_->begin = state_->undo().mark();
    HOLDFAST_CHECK(entries);
    since_checkpoint_ += entries.value();
    recover_ = true;
    serve_again_ = true;
  }
  building_->begin = state_->undo().mark();
  rebuild_ = false;
  drop_claims_of_ended_runs();
  run_waits_.check(*state_, effects_);
  return {};
}

void Core::post(CommandPtr command) {
  if (stopped_.has_value()) {
    command->settle(*stopped_);
    return;
  }
  if (outage_.has_value() && !command->waits_for_store() &&
      (rejecting_ || inbox_.size() >= options_.max_waiting_commands)) {
    command->settle(unavailable());
    return;
  }
  inbox_.push_back(std::move(command));
}

void Core::definitions_changed() {
  recover_ = true;
  state_->queues().resume_timeouts();
}

bool Core::has_work(TimeMs now) const {
  if (outage_.has_value()) {
    return patience_expired(now);
  }
  if (stopped_.has_value() || stopping_.has_value() ||
      building_->facts.commit.bytes() >= options_.max_group_bytes ||
      (checkpoint_requested_ && !quiet())) {
    return false;
  }
  const auto timer = next_timer(now);
  return !inbox_.empty() || (check_changes_ && writing_ == nullptr) ||
         (recover_ && !state_->pending_recovery().empty()) ||
         (serve_again_ && has_claim_request()) || !schedules_.is_fresh(*state_) ||
         (timer.has_value() && *timer <= now);
}

void Core::decide(TimeMs now) {
  if (outage_.has_value() && patience_expired(now)) {
    reject_waiting();
  }
  if (stopped_.has_value() || stopping_.has_value() || outage_.has_value() ||
      (checkpoint_requested_ && !quiet())) {
    return;
  }
  if (checkpoint_requested_) {
    make_checkpoint();
  }
  if (check_changes_ && writing_ == nullptr) {
    take_back();
    if (const Result<void> seen = catch_up(); !seen.ok()) {
      store_failed(seen.error(), now);
      return;
    }
  }
  for (const SharedText& claim_id : inputs_->take_failed()) {
    drop(claim_id);  // its lease ends, and another worker gets the attempt
  }
  Turn turn(*state_, definitions_, now, building_->facts);
  if (std::exchange(recover_, false) && !state_->pending_recovery().empty()) {
    const auto recovered = recover(turn);
    if (!recovered.ok()) {
      store_failed(recovered.error(), now);
      return;
    }
    stats_.recovered += recovered.value();
  }
  decide_commands(turn);
  if (const Result<void> kept = keep_time(turn); !kept.ok()) {
    store_failed(kept.error(), now);
    return;
  }
  send_heartbeats(turn);
  serve_waiting(turn);
  building_->end = state_->undo().mark();
  if (quiet()) {
    release_unwritten(now);
  }
}

// Replies that depend on nothing unwritten need no write, but they must be current: another process
// may have reported something to its callers that this process has not read yet.
void Core::release_unwritten(TimeMs now) {
  if (!building_->commands.empty()) {
    const auto store = journal_.log().refresh();
    if (!store.ok()) {
      store_failed(store.error(), now);
      return;
    }
    if (store.value().head != state_->position()) {
      take_back();
      check_changes_ = true;
      return;
    }
  }
  release(*building_, now);
  *building_ = Group{};
  building_->begin = state_->undo().mark();
}

void Core::decide_commands(Turn& turn) {
  while (!inbox_.empty() && building_->facts.commit.bytes() < options_.max_group_bytes) {
    CommandPtr command = std::move(inbox_.front());
    inbox_.pop_front();
    const Turn::Mark mark = turn.mark();
    const Result<void> decided = command->decide(turn);
    if (!decided.ok()) {
      turn.roll_back_to(mark);
    }
    building_->refusals.push_back(decided.ok() ? std::nullopt : std::optional(decided.error()));
    building_->commands.push_back(std::move(command));
    serve_again_ = true;
  }
}

Result<void> Core::keep_time(Turn& turn) {
  schedules_.refresh(*state_, definitions_, turn.now());
  bool more = true;
  while (more && building_->facts.commit.bytes() < options_.max_group_bytes) {
    more = start_due(turn);
    HOLDFAST_TRY(const bool fired, fire_timer(turn, options_.applicant));
    HOLDFAST_TRY(const bool failed, fail_timed_out(turn, options_.applicant));
    more = more || fired || failed;
    serve_again_ = serve_again_ || more;
  }
  return {};
}

// A run that cannot be started (its definition wants an input) leaves nothing behind.
bool Core::start_due(Turn& turn) {
  auto due = schedules_.take_due(turn.now());
  if (!due.has_value()) {
    return false;
  }
  const Turn::Mark mark = turn.mark();
  if (start_run(turn, due->start, IdOrigin::given).ok()) {
    building_->due.push_back(*std::move(due));
  } else {
    turn.roll_back_to(mark);
  }
  return true;
}

bool Core::can_write() const {
  return !stopped_.has_value() && !outage_.has_value() && writing_ == nullptr &&
         !building_->facts.commit.empty();
}

Core::Write Core::begin_write() {
  HOLDFAST_ASSERT(can_write() && !open_write_.has_value());  // E3
  writing_ = std::exchange(building_, std::make_unique<Group>());
  writing_->end = state_->undo().mark();
  writing_->entries = writing_->facts.commit.entries();
  writing_->bytes = writing_->facts.commit.bytes();
  building_->begin = writing_->end;
  HOLDFAST_ASSERT(state_->undo().oldest() <= writing_->begin);  // E4
  HOLDFAST_ASSERT(writing_->begin <= writing_->end);            // E4
  return Write{state_->position(), &writing_->facts.commit};
}

void Core::end_write(const Result<Committed>& outcome, TimeMs now) {
  finish_write(outcome, now);
  if (stopping_.has_value()) {
    stop(*std::exchange(stopping_, std::nullopt));
  }
}

void Core::finish_write(const Result<Committed>& outcome, TimeMs now) {
  HOLDFAST_ASSERT(writing_ != nullptr && !open_write_.has_value());  // E3
  HOLDFAST_ASSERT(writing_->end == building_->begin);                // E4
  if (outcome.ok()) {
    const std::unique_ptr<Group> group = std::move(writing_);
    busy_tries_ = 0;
    state_->set_position(outcome.value().position);
    state_->undo().keep_until(group->end);
    rows_.note(*state_, group->facts, group->bytes, outcome.value());
    make_due_rows();
    for (const RunId& run : group->facts.ended) {
      if (run_waits_.has_waiter(run)) {
        run_waits_.ended(run, run_end_of(state_->runs().held(run)), effects_);
      }
      state_->forget(run);
    }
    if (!group->facts.ended.empty()) {
      drop_claims_of_ended_runs();
    }
    stop_handlers(group->facts);
    state_->trim([this](const RunProjection& run) { rows_.note_evicted(run, position()); });
    ++stats_.commits;
    stats_.facts += group->entries;
    stats_.bytes += group->bytes;
    since_checkpoint_ += group->entries;
    if (since_checkpoint_ >= options_.checkpoint_every &&
        since_checkpoint_ >= kFactsPerAttempt * state_->queues().attempt_count()) {
      checkpoint_requested_ = true;
    }
    reports_.push_back(report_of(*group, outcome.value().position));
    release(*group, now);
    if (building_->facts.commit.empty()) {
      release_unwritten(now);
    }
    return;
  }
  const ErrorCode code = outcome.error().code();
  const bool lost_race = code == ErrorCode::conflict;
  const bool busy_again = code == ErrorCode::busy && ++busy_tries_ < kBusyTries;
  if (!lost_race && !busy_again) {
    open_write_ = outcome.error();
    store_failed(outcome.error(), now);
    return;
  }
  stats_.conflicts += lost_race ? 1 : 0;
  take_back();
  if (lost_race) {
    if (const Result<void> seen = catch_up(); !seen.ok()) {
      store_failed(seen.error(), now);
    }
  }
}

CommitReport Core::report_of(Group& group, Position position) {
  std::set<SharedText> claimed;
  for (const Group::Claimed& one : group.claimed) {
    for (const Assignment& assignment : one.assignments) {
      claimed.insert(assignment.runnable_key);
    }
  }
  std::erase_if(group.facts.wakeups,
                [&](const Wakeup& wakeup) { return claimed.contains(wakeup.runnable_key); });
  return CommitReport{position,
                      group.entries,
                      group.bytes,
                      std::move(group.facts.wakeups),
                      std::move(group.facts.lines),
                      group.commands.size(),
                      group.facts.counts};
}

void Core::take_back(Groups which) {
  Group* const written = which == Groups::all ? writing_.get() : nullptr;
  const Group* oldest = written != nullptr ? written : building_.get();
  state_->undo().roll_back_to(oldest->begin);
  std::deque<CommandPtr> commands;
  for (Group* group : {written, building_.get()}) {
    if (group == nullptr) {
      continue;
    }
    commands.insert(commands.end(), group->commands.begin(), group->commands.end());
    for (const Schedules::Due& due : group->due) {
      schedules_.put_back(due);
    }
    for (const SharedText& claim_id : group->heartbeats) {
      const auto claim = held_.find(claim_id);
      if (claim != held_.end()) {
        schedule_heartbeat(claim_id, claim->second, TimeMs{0});
      }
    }
  }
  inbox_.insert(inbox_.begin(), commands.begin(), commands.end());
  // Newest first, so that the oldest is first in its line again.
  for (Group* group : {building_.get(), written}) {
    if (group != nullptr) {
      put_back(group->claimed);
    }
  }
  if (which == Groups::all) {
    writing_.reset();
  }
  building_ = std::make_unique<Group>();
  building_->begin = state_->undo().mark();
  recover_ = true;
  serve_again_ = true;
}

void Core::release(Group& group, TimeMs now) {
  HOLDFAST_ASSERT(group.entries > 0 ? group.end <= state_->undo().oldest() : quiet());  // E6
  HOLDFAST_ASSERT(group.commands.size() == group.refusals.size());                      // E6
  for (std::size_t i = 0; i < group.commands.size(); ++i) {
    effects_.emplace_back(
        [command = std::move(group.commands[i]), refusal = std::move(group.refusals[i])] {
          command->settle(refusal.has_value() ? Result<void>(*refusal) : Result<void>());
        });
  }
  for (Group::Claimed& claimed : group.claimed) {
    for (const Assignment& assignment : claimed.assignments) {
      hold(*claimed.request, assignment, now);
    }
    effects_.emplace_back([claimed = std::move(claimed), inputs = inputs_]() mutable {
      claimed.request->assigned(inputs->fill_in(std::move(claimed.assignments)));
    });
  }
  for (auto& [claim_id, error] : group.lost) {
    const auto claim = held_.find(claim_id);
    if (claim != held_.end()) {
      effects_.emplace_back(
          [lost = claim->second.lost, id = claim_id, why = error] { lost(id, why); });
      drop(claim_id);
    }
  }
}

std::vector<std::function<void()>> Core::take_effects() { return std::exchange(effects_, {}); }

std::vector<CommitReport> Core::take_reports() { return std::exchange(reports_, {}); }

bool Core::timer_for_workers_due(TimeMs now) const {
  const auto next = next_claimable_at(now);
  return next.has_value() && *next <= now;
}

// When an attempt becomes visible to a waiting claim request without any new fact.
std::optional<TimeMs> Core::next_claimable_at(TimeMs now) const {
  std::optional<TimeMs> next;
  for (const Line& line : lines_) {
    if (line.requests.empty()) {
      continue;
    }
    const auto change =
        state_->queues().next_claimable_at(line.skills->queues, line.skills->handlers, now);
    if (change.has_value() && (!next.has_value() || *change < *next)) {
      next = change;
    }
  }
  return next;
}

std::optional<TimeMs> Core::next_timer(TimeMs now) const {
  if (outage_.has_value()) {
    return rejecting_ ? std::nullopt
                      : std::optional(TimeMs{outage_->since.value + options_.store_patience_ms});
  }
  auto next = next_claimable_at(now);
  const auto consider = [&](const std::optional<TimeMs>& at) {
    if (at.has_value() && (!next.has_value() || *at < *next)) {
      next = at;
    }
  };
  consider(schedules_.next());
  consider(state_->queues().next_time());
  if (!heartbeats_.empty() && (!next.has_value() || heartbeats_.begin()->first < *next)) {
    next = heartbeats_.begin()->first;
  }
  return next;
}

TimesAhead Core::times_ahead(const Skills& skills, TimeMs now) const {
  if (stopped_.has_value() || outage_.has_value()) {
    return {};
  }
  auto work = state_->queues().next_claimable_at(skills.queues, skills.handlers, now);
  const auto timer = state_->queues().next_time();
  if (timer.has_value() && (!work.has_value() || *timer < *work)) {
    work = timer;
  }
  return {work, schedules_.next()};
}

void Core::request_rows() {
  rows_.request();
  make_due_rows();
}

void Core::make_due_rows() {
  if (rows_.has_due()) {
    rows_.make_due(*state_, quiet() ? RowCollector::Disk::current : RowCollector::Disk::behind);
  }
}

void Core::make_checkpoint() {
  HOLDFAST_ASSERT(quiet());  // E10
  checkpoint_requested_ = false;
  since_checkpoint_ = 0;
  checkpoint_ = Checkpoint{kLiveCheckpointVersion, Revision{0}, state_->encode()};
}

std::optional<Checkpoint> Core::take_checkpoint() { return std::exchange(checkpoint_, {}); }

Result<void> Core::save(Journal& journal, const Checkpoint& checkpoint) {
  return journal.put_checkpoint(live_checkpoint_name(), checkpoint);
}

}  // namespace holdfast
