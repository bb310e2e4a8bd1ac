#include "lab/sim/sim_process.h"

#include <algorithm>
#include <limits>

#include "lab/sim/sim_leases.h"
#include "lab/sim/simulation.h"
#include "storage/log/open_store.h"

namespace holdfast::sim {

namespace {

// Small, so that short simulations have checkpoints too.
constexpr std::uint64_t kCheckpointEvery = 60;

// Whichever process starts first creates the log.
StoreOrigin origin() {
  SeededRandom random(1);
  return new_origin(make_uuid(TimeMs{SimClock::kBegin}, random));
}

struct EntryName {
  std::string thread;
  std::string kind;
};

std::vector<EntryName> entries_of(std::string_view body) {
  std::vector<EntryName> entries;
  BodyScanner scanner(Position{}, body);
  for (auto entry = scanner.next(); entry.ok() && entry.value().has_value();
       entry = scanner.next()) {
    entries.push_back({std::string(entry.value()->thread), std::string(entry.value()->kind)});
  }
  return entries;
}

// The crash windows of the protocol: completed but not applied, failed but not continued, planned
// but not scheduled, linked but not started. The facts that a run decided together are never
// separated.
bool can_split_before(const std::vector<EntryName>& entries, std::size_t next) {
  const EntryName& last = entries[next - 1];
  const bool window = last.kind == "attempt_completed" || last.kind == "attempt_failed" ||
                      (last.kind == "child_run_started" && entries[next].thread != last.thread) ||
                      entries[next].kind == "attempt_scheduled";
  const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(next);
  return window && std::none_of(middle, entries.end(), [&](const EntryName& later) {
           return later.thread.starts_with("run:") &&
                  std::any_of(entries.begin(), middle, [&](const EntryName& earlier) {
                    return earlier.thread == later.thread;
                  });
         });
}

}  // namespace

Process::Process(const Environment& env, std::uint32_t number)
    : env_(env),
      number_(number),
      dice_(env.dice.about("process", number)),
      clock_(env.schedule),
      random_(dice_.number("random")) {}

Process::~Process() = default;

std::int64_t Process::delay(std::string_view what, std::int64_t at_most_us) {
  return static_cast<std::int64_t>(
      dice_.below(static_cast<std::uint64_t>(at_most_us), what, ++draws_));
}

void Process::after(std::int64_t delay_us, std::function<void()> what) {
  env_.schedule.after(delay_us, [this, what = std::move(what), alive = incarnation_] {
    if (up() && incarnation_ == alive) {
      what();
    }
  });
}

// ------------------------------------------------------------------------------------------------
// Start and stop

Result<void> Process::try_open() {
  HOLDFAST_TRY(auto disk, open_memory_store(env_.disk, OpenMode::create, origin()));
  HOLDFAST_TRY(auto log, Log::open(make_sim_store(std::move(disk), *this)));
  HOLDFAST_TRY(journal_, Journal::open(std::move(log)));
  definitions_ = std::make_unique<Definitions>(*journal_);
  CoreOptions options;
  options.checkpoint_every = kCheckpointEvery;
  if (dice_.chance(50, "cache", incarnation_)) {
    options.memory.cached_bytes = 8192;
  }
  options.applicant = [this] { return applicant(); };
  if (env_.simulation.plan().carried) {
    options.carried_queues = {SharedText(kCarriedQueue)};
  }
  core_ = std::make_unique<Core>(*journal_, *definitions_, options);
  return core_->open();
}

Applicant Process::applicant() {
  const std::string claim = to_string(make_uuid(clock_.now(), random_));
  const std::string token = to_string(make_uuid(clock_.now(), random_));
  return {{SharedText(claim), sha256(token), SharedText(name()), {}}, SharedText(token)};
}

void Process::open() {
  ++incarnation_;
  dying_ = false;
  recovers_ = dice_.chance(60, "recovers", incarnation_);
  recovering_ = false;
  const Result<void> opened = try_open();
  if (!opened.ok() || dying_) {
    kill("cannot open the store: " + (opened.ok() ? "it died" : opened.error().text()));
    return;
  }
  env_.simulation.note(name() + " comes up at " + std::to_string(core_->position().value));
  env_.simulation.process_started(*this);
  wake();
}

void Process::kill(const std::string& why) {
  env_.simulation.note(name() + " goes down: " + why);
  // The core holds some of the requests as well; its destructor must not answer them.
  const std::vector<RequestPtr> open = std::exchange(requests_, {});
  decided_.clear();
  in_write_.clear();
  core_.reset();
  definitions_.reset();
  journal_.reset();
  writing_ = false;
  next_turn_us_ = -1;
  groups_landed_ = groups_begun_;
  end_faults();
  for (const RequestPtr& request : open) {
    request->abandon();
  }
  env_.simulation.process_stopped(*this, why);
}

void Process::end_if_died() {
  if (up() && dying_) {
    kill("it died during maintenance of its store");
  }
}

void Process::end_faults() {
  next_write_ = WriteFate::good;
  next_side_write_ = WriteFate::good;
  next_read_fails_ = false;
  extra_write_us_ = 0;
  stalled_until_us_ = 0;
}

bool Process::check_stopped() {
  if (dying_) {
    kill("it died while it wrote");
    return true;
  }
  if (core_->stopped().has_value()) {
    execute_effects();
    kill(core_->stopped()->text());
    return true;
  }
  return false;
}

// ------------------------------------------------------------------------------------------------
// The loop

void Process::submit(const RequestPtr& request) {
  request->set_submitted(env_.schedule.now_us());
  requests_.push_back(request);
  core_->post(request);
  wake();
}

std::vector<RequestPtr> Process::unanswered(std::int64_t submitted_before_us) const {
  std::vector<RequestPtr> waiting;
  std::copy_if(requests_.begin(), requests_.end(), std::back_inserter(waiting),
               [&](const RequestPtr& request) {
                 return !request->closed() && request->submitted_us() < submitted_before_us;
               });
  return waiting;
}

void Process::request_claim(const ClaimRequestPtr& request) {
  core_->request_claim(request);
  wake();
}

void Process::wake() { schedule_turn(delay("turn", 2 * kMs)); }

void Process::schedule_turn(std::int64_t delay_us) {
  const std::int64_t at = env_.schedule.now_us() + delay_us;
  if (next_turn_us_ >= 0 && next_turn_us_ <= at) {
    return;
  }
  next_turn_us_ = at;
  after(delay_us, [this, at] {
    if (next_turn_us_ == at) {
      next_turn_us_ = -1;
      turn();
    }
  });
}

void Process::turn() {
  const std::int64_t rest = stalled_until_us_ - env_.schedule.now_us();
  if (rest > 0) {
    schedule_turn(rest);
    return;
  }
  if (core_->has_work(now())) {
    decide();
    if (check_stopped()) {
      return;
    }
    execute_effects();
  }
  plan_recovery();
  if (core_->can_write() && !writing_) {
    begin_write();
  }
  save_checkpoint();
  if (up()) {
    plan_next_turn();
  }
}

void Process::decide() {
  const PendingRecovery& pending = core_->state().pending_recovery();
  const std::pair<const char*, bool> kinds[] = {{"unscheduled", !pending.unscheduled.empty()},
                                                {"unapplied", !pending.unapplied.empty()},
                                                {"unprogressed", !pending.unprogressed.empty()},
                                                {"children", !pending.children.empty()}};
  core_->decide(now());
  for (const auto& [what, there] : kinds) {
    if (there) {
      env_.simulation.count(std::string("recovery:") + what);
    }
  }
}

void Process::plan_next_turn() {
  if (core_->has_work(now()) || (core_->can_write() && !writing_)) {
    wake();
    return;
  }
  const auto timer = core_->next_timer(now());
  if (timer.has_value()) {
    // A drifting clock may arrive a little early; then the process looks again.
    const std::int64_t ms = std::max<std::int64_t>(1, timer->value - now().value);
    constexpr std::int64_t kFar = 400LL * 24 * 3600 * 1000;
    schedule_turn(std::min(ms, kFar) * kMs);
  }
}

void Process::begin_write() {
  const Core::Write what = core_->begin_write();
  writing_ = true;
  ++groups_begun_;
  in_write_ = std::exchange(decided_, {});
  const std::int64_t slow = std::exchange(extra_write_us_, 0);
  after(slow + delay("write", 4 * kMs), [this, what] { write(what); });
}

void Process::write(const Core::Write& what) {
  const Result<Committed> outcome =
      journal_->commit_at(what.expected_head, std::move(*what.commit));
  if (dying_) {
    kill("it died while it wrote");
    return;
  }
  after(delay("written", 2 * kMs), [this, outcome] { end_write(outcome); });
}

void Process::end_write(const Result<Committed>& outcome) {
  writing_ = false;
  if (!outcome.ok()) {
    env_.simulation.note(name() + " write failed: " + outcome.error().text());
    env_.simulation.count("write_error:" + std::string(error_info(outcome.error().code()).name));
  }
  core_->end_write(outcome, now());
  if (!core_->has_open_write()) {
    forget_write();
  }
  if (check_stopped()) {
    return;
  }
  execute_effects();
  plan_recovery();
  env_.simulation.write_ended(*this);
  wake();
}

// The outcome of the write is known, also to the process.
void Process::forget_write() {
  in_write_.clear();
  groups_landed_ = groups_begun_;
  env_.simulation.committed(*this, core_->take_reports());
}

void Process::plan_recovery() {
  if (!up() || !core_->outage().has_value() || writing_ || std::exchange(recovering_, true)) {
    return;
  }
  after(delay("recovery", 3 * kSecond), [this] {
    recovering_ = false;
    recover();
  });
}

void Process::recover() {
  const auto found = journal_->recover();
  if (dying_) {
    kill("it died while it reconnected to its store");
    return;
  }
  if (!found.ok() && may_return(found.error())) {
    env_.simulation.note(name() + " cannot recover yet: " + found.error().text());
    plan_recovery();
    return;
  }
  if (found.ok()) {
    const auto& open = found.value().open;
    const char* const what = !open.has_value() ? "nothing_open" : open->ok() ? "landed" : "lost";
    env_.simulation.note(name() + " has reconnected to its store: " + what);
    env_.simulation.count(std::string("store_returned:") + what);
    core_->store_returned(found.value(), now());
  } else {
    core_->stop(found.error());
  }
  if (!core_->has_open_write()) {
    forget_write();
  }
  if (check_stopped()) {
    return;
  }
  execute_effects();
  env_.simulation.write_ended(*this);
  wake();
}

// For the process, replies are sent at once; they arrive later, if it stays alive.
void Process::execute_effects() {
  for (const auto& effect : core_->take_effects()) {
    effect();
  }
  std::erase_if(requests_, [](const RequestPtr& request) { return request->closed(); });
}

void Process::send_later(std::function<void()> what) {
  const std::int64_t at = std::max(last_reply_us_, env_.schedule.now_us() + delay("say", 2 * kMs));
  last_reply_us_ = at;
  after(at - env_.schedule.now_us(), std::move(what));
}

void Process::save_checkpoint() {
  const auto checkpoint = core_->take_checkpoint();
  if (!checkpoint.has_value()) {
    return;
  }
  const Result<void> saved = Core::save(*journal_, *checkpoint);
  env_.simulation.count(saved.ok() ? "maintenance:checkpoint_saved"
                                   : "maintenance:checkpoint_failed");
  if (dying_) {
    kill("it died while it saved a checkpoint");
  }
}

// A request that was decided twice counts where it was decided last. A request that was decided,
// rolled back and refused because the store was unavailable is not part of a write.
std::vector<RequestPtr> Process::requests_of_write() {
  std::vector<RequestPtr> of_write;
  for (auto request = in_write_.rbegin(); request != in_write_.rend(); ++request) {
    const bool there = std::find(of_write.begin(), of_write.end(), *request) != of_write.end();
    if (!there && !(*request)->checked() && !(*request)->settled() &&
        (*request)->group() + 1 == groups_begun_) {
      of_write.push_back(*request);
    }
  }
  std::reverse(of_write.begin(), of_write.end());
  return of_write;
}

// ------------------------------------------------------------------------------------------------
// The store

WriteFate Process::fate_of_write(bool side) {
  const WriteFate fate = std::exchange(side ? next_side_write_ : next_write_, WriteFate::good);
  if (fate != WriteFate::good) {
    env_.simulation.count((side ? "side_write:" : "write:") + std::string(to_text(fate)));
  }
  return fate;
}

// Splits where a writer without atomic commits over several threads could have stopped.
std::size_t Process::split_after(std::string_view body) {
  const std::vector<EntryName> entries = entries_of(body);
  std::vector<std::size_t> ends;
  for (std::size_t next = 1; next < entries.size(); ++next) {
    if (can_split_before(entries, next)) {
      ends.push_back(next);
    }
  }
  return ends.empty() ? 0 : ends[dice_.below(ends.size(), "split", ++draws_)];
}

void Process::landed(const RowView& row, bool whole) {
  groups_landed_ = groups_begun_;
  env_.simulation.batch_landed(*this, row, whole);
}

// ------------------------------------------------------------------------------------------------
// Requests

Request::Request(Process& process, Answer::What what, std::string params, Decision decision,
                 Done done)
    : process_(process), decision_(std::move(decision)), done_(std::move(done)) {
  answer_.what = what;
  answer_.params = std::move(params);
}

Result<void> Request::decide(Turn& turn) {
  group_ = process_.groups_begun();
  first_fact_ = turn.mark().commit.entries;
  ++decisions_;
  process_.decided(shared_from_this());
  answer_.at = turn.now();
  Result<std::string> result = decision_(turn);
  // A refusal stores nothing.
  end_fact_ = result.ok() ? turn.mark().commit.entries : first_fact_;
  answer_.code = result.ok() ? "ok" : std::string(error_info(result.error().code()).name);
  answer_.result = result.ok() ? std::move(result).value() : "";
  return result.ok() ? Result<void>() : Result<void>(result.error());
}

void Request::settle(Result<void> outcome) {
  if (std::exchange(settled_, true)) {
    process_.simulation().report_violation("a request was answered twice: " + answer_.params);
    return;
  }
  const std::string code =
      outcome.ok() ? "ok" : std::string(error_info(outcome.error().code()).name);
  // Errors of the store and of a stopping engine are not answers.
  const bool answered = decisions_ > 0 && code == answer_.code;
  if (answered && !checked_) {
    process_.simulation().answered_without_write(process_, shared_from_this());
  }
  const Reply reply = answered ? Reply{answer_.code, answer_.result} : Reply{};
  process_.send_later([self = shared_from_this(), reply] { self->deliver(reply); });
}

void Request::abandon() { deliver(Reply{}); }

void Request::deliver(const Reply& reply) {
  if (!std::exchange(closed_, true)) {
    done_(reply);
  }
}

}  // namespace holdfast::sim
