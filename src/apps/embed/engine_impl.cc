#include "apps/embed/engine_impl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/names.h"
#include "runs/api/json_object.h"
#include "runs/language/cron/cron.h"
#include "runs/language/cron/zone_names.h"
#include "runs/service/engine_handlers.h"
#include "runs/steps/built_in.h"
#include "runs/steps/step_outcome.h"
#include "storage/journal/open_journal.h"
#include "storage/log/user_store.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxProgressBytes = 64U << 10U;

// Passes the messages of log steps to the program.
class LogObserver final : public CommitObserver {
 public:
  explicit LogObserver(std::function<void(const LogMessage&)> log) : log_(std::move(log)) {}

  void committed(const CommitReport& report) override {
    for (const LogLine& line : report.lines) {
      const auto json = Json::parse(line.line.view());
      const auto text = [&](std::string_view name) {
        return std::string(json.ok() ? json.value().text(name) : "");
      };
      try {
        log_({to_string(line.run_id), line.workflow.str(), line.step.str(), text("level"),
              text("message"), line.at.value});
      } catch (...) {
        // The run does not depend on the program's log function.
      }
    }
  }

 private:
  std::function<void(const LogMessage&)> log_;
};

// The name of this process in claims: host and process id.
std::string process_name() {
  std::array<char, 65> host{};
  const bool known = gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0';
  return fmt::format("{}-{}", known ? host.data() : "host", getpid());
}

// Calls the notify function of the program.
class ProgramNotifier final : public DispatchNotifier {
 public:
  explicit ProgramNotifier(std::function<bool(const WorkNotice&)> notify)
      : notify_(std::move(notify)) {}

  Result<void> notify(const Wakeup& wakeup) override {
    const WorkNotice notice{to_string(wakeup.run_id), wakeup.runnable_key.str(), wakeup.queue.str(),
                            wakeup.handler.str(), wakeup.visible_at.value};
    try {
      if (notify_(notice)) {
        return {};
      }
    } catch (...) {
      // An exception counts as a failed notification.
    }
    return Error{ErrorCode::unavailable, "no notification was sent for " + notice.runnable_key};
  }

 private:
  std::function<bool(const WorkNotice&)> notify_;
};

// invalid_definition when a cron trigger names an unknown time zone.
Result<void> check_timezones(const Definition& definition) {
  std::vector<DefinitionFault> faults;
  for (std::size_t i = 0; i < definition.triggers().size(); ++i) {
    const auto& cron = definition.triggers()[i].spec.cron;
    if (cron.has_value() && !is_timezone(cron->timezone.view())) {
      faults.push_back({{"triggers", std::to_string(i), "cron", "timezone"},
                        "invalid_cron_timezone",
                        unknown_timezone(cron->timezone.view()).message()});
    }
  }
  return faults.empty() ? Result<void>() : invalid_definition(faults);
}

// The clock of the program.
class ProgramClock final : public Clock {
 public:
  explicit ProgramClock(std::function<std::chrono::system_clock::time_point()> now)
      : now_(std::move(now)) {}
  TimeMs now() override {
    const auto since_epoch = now_().time_since_epoch();
    return TimeMs{std::chrono::floor<std::chrono::milliseconds>(since_epoch).count()};
  }

 private:
  std::function<std::chrono::system_clock::time_point()> now_;
};

std::unique_ptr<Clock> clock_of(const EngineOptions& options) {
  if (options.clock) {
    return std::make_unique<ProgramClock>(options.clock);
  }
  return std::make_unique<SystemClock>();
}

// How long a call waits for an unavailable store before it fails with unavailable.
constexpr std::int64_t kStorePatienceMs = 30'000;

// The latest progress of a handler, on its way to the loop. At most one request is queued, however
// often the handler reports.
class ProgressSlot : public std::enable_shared_from_this<ProgressSlot> {
 public:
  ProgressSlot(Loop& loop, SharedText claim_id) : loop_(loop), claim_id_(std::move(claim_id)) {}

  void put(std::string_view json) {
    if (json.size() > kMaxProgressBytes) {
      return;
    }
    const auto text = JsonText::parse(json);
    if (text.ok() && !replace(Payload(text.value()))) {
      loop_.submit(SetProgress{claim_id_, [self = shared_from_this()] { return self->take(); }});
    }
  }

 private:
  // True when a queued request will take it.
  bool replace(Payload newest) {
    const std::scoped_lock lock(mutex_);
    newest_ = std::move(newest);
    return std::exchange(queued_, true);
  }
  Payload take() {
    const std::scoped_lock lock(mutex_);
    queued_ = false;
    return newest_;
  }

  Loop& loop_;
  SharedText claim_id_;
  std::mutex mutex_;  // guards what follows
  Payload newest_;
  bool queued_ = false;
};

Result<void> check_queues(const EngineOptions& options) {
  for (const std::string& queue : options.queues) {
    HOLDFAST_CHECK(check_name("queue", queue));
  }
  return {};
}

}  // namespace

Engine::Impl::Impl(const EngineOptions& options, std::unique_ptr<Random> random)
    : clock_(clock_of(options)),
      random_(std::move(random)),
      all_queues_(options.all_queues),
      commands_(*clock_, *random_, SharedText(options.source)),
      queues_(options.queues.begin(), options.queues.end()),
      handlers_(std::make_shared<const HandlerTable>()) {
  queues_.insert(SharedText(kDefaultQueue));
}

Result<std::unique_ptr<Engine::Impl>> Engine::Impl::open(std::string_view url,
                                                         const EngineOptions& options) {
  std::unique_ptr<Impl> impl(new Impl(options, std::make_unique<SystemRandom>()));
  const OpenMode mode = options.create ? OpenMode::create : OpenMode::write;
  HOLDFAST_CHECK(check_queues(options));
  HOLDFAST_TRY(auto journal, open_journal(url, mode, *impl->clock_, *impl->random_));
  HOLDFAST_CHECK(impl->run_on(std::move(journal), options, LoopOptions{}));
  return impl;
}

Result<std::unique_ptr<Engine::Impl>> Engine::Impl::open(std::unique_ptr<LogStore> log,
                                                         const EngineOptions& options) {
  if (log == nullptr) {
    return Error{ErrorCode::invalid_argument, "the engine needs a log, not a null pointer"};
  }
  std::unique_ptr<Impl> impl(new Impl(options, std::make_unique<SystemRandom>()));
  HOLDFAST_CHECK(check_queues(options));
  HOLDFAST_TRY(auto opened, Log::open(adapt_log_store(std::move(log))));
  HOLDFAST_TRY(auto journal, Journal::open(std::move(opened)));
  HOLDFAST_CHECK(impl->run_on(std::move(journal), options, LoopOptions{}));
  return impl;
}

Result<std::unique_ptr<Engine::Impl>> Engine::Impl::open(EngineParts parts,
                                                         const EngineOptions& options) {
  HOLDFAST_ASSERT(parts.store != nullptr);
  std::unique_ptr<Impl> impl(new Impl(options, std::make_unique<SeededRandom>(parts.seed)));
  HOLDFAST_CHECK(check_queues(options));
  HOLDFAST_TRY(auto opened, Log::open(std::move(parts.store)));
  HOLDFAST_TRY(auto journal, Journal::open(std::move(opened)));
  LoopOptions loop;
  loop.drive = LoopOptions::Drive::callers;
  loop.owner = "test";
  HOLDFAST_CHECK(impl->run_on(std::move(journal), options, loop));
  if (parts.find_stub) {
    impl->stub_built_in(parts.find_stub);
  }
  return impl;
}

Result<void> Engine::Impl::run_on(std::unique_ptr<Journal> journal, const EngineOptions& options,
                                  LoopOptions loop) {
  const std::string owner = process_name();
  if (loop.drive == LoopOptions::Drive::threads) {
    loop.owner = owner;
  }
  loop.core.store_patience_ms = kStorePatienceMs;
  if (options.notify) {
    notifier_ = std::make_unique<ProgramNotifier>(options.notify);
    loop.notifier = notifier_.get();
    loop.record_wakeups = options.record_notices;
  }
  if (options.log) {
    observer_ = std::make_unique<LogObserver>(options.log);
    loop.observer = observer_.get();
  }
  handlers_ = std::make_shared<const HandlerTable>(built_in_handlers(options.credential));
  std::vector<QueueBinding> bindings;
  for (const BoundQueue& bound : options.backends) {
    bindings.push_back({bound.queue, bound.open});
  }
  HOLDFAST_TRY(loop.core.carried_queues, bound_queues(bindings));
  if (!bindings.empty()) {
    bound_.insert(loop.core.carried_queues.begin(), loop.core.carried_queues.end());
    lease_observer_ = std::make_unique<LeaseObserver>(observer_.get());
    loop.observer = lease_observer_.get();
  }
  set_skills();
  HOLDFAST_TRY(loop_, Loop::open(std::move(journal), *clock_, *random_, loop));
  if (!bindings.empty()) {
    HOLDFAST_TRY(leases_, LeaseAdapters::start(*loop_, bindings));
    lease_observer_->attach(leases_.get());
  }
  return {};
}

Result<void> Engine::Impl::add_definition(const std::shared_ptr<const Definition>& definition) {
  HOLDFAST_CHECK(check_timezones(*definition));
  HOLDFAST_CHECK(loop_->register_definition(definition));
  const std::scoped_lock lock(mutex_);
  for (const Step& step : definition->steps()) {
    if (!step.queue.empty()) {
      queues_.insert(step.queue);
    }
    if (step.spec.compensate.has_value() && !step.spec.compensate->queue.empty()) {
      queues_.insert(step.spec.compensate->queue);
    }
  }
  set_skills();
  return {};
}

Result<void> Engine::Impl::add_handler(std::string_view name, StepHandler handler) {
  HOLDFAST_CHECK(check_name("handler", name));
  if (handler == nullptr) {
    return Error{ErrorCode::invalid_argument, "the handler is empty"}.with("field", "handler");
  }
  const std::scoped_lock lock(mutex_);
  HandlerTable table = *handlers_;
  table[SharedText(name)] = [this,
                             shared = std::make_shared<const StepHandler>(std::move(handler))](
                                const Assignment& assignment, const std::stop_token& stop) {
    return call(*shared, assignment, stop);
  };
  handlers_ = std::make_shared<const HandlerTable>(std::move(table));
  set_skills();
  return {};
}

void Engine::Impl::stub_built_in(
    const std::function<StepHandler(std::string_view step)>& find_stub) {
  const std::scoped_lock lock(mutex_);
  HandlerTable table;
  for (const auto& [name, handler] : *handlers_) {
    table[name] = [this, find_stub, built_in = handler](const Assignment& assignment,
                                                        const std::stop_token& stop) {
      const StepHandler stub = find_stub(info_of(assignment).step);
      return stub ? call(stub, assignment, stop) : built_in(assignment, stop);
    };
  }
  handlers_ = std::make_shared<const HandlerTable>(std::move(table));
}

void Engine::Impl::set_skills() {
  Skills skills;
  if (!all_queues_) {
    std::set_difference(queues_.begin(), queues_.end(), bound_.begin(), bound_.end(),
                        std::back_inserter(skills.queues.emplace()));
  }
  for (const auto& [name, handler] : *handlers_) {
    skills.handlers.push_back(name);
  }
  skills_ = std::make_shared<const Skills>(std::move(skills));
}

Result<WorkerSkills> Engine::Impl::worker_skills() {
  const std::scoped_lock lock(mutex_);
  return WorkerSkills{handlers_, skills_};
}

AttemptOutcome Engine::Impl::call(const StepHandler& handler, const Assignment& assignment,
                                  const std::stop_token& stop) {
  StepContext context(
      info_of(assignment), stop,
      [&](std::string_view workflow, std::string_view key, std::string_view input,
          const ChildOptions& options) -> Result<StartedRun> {
        StartChild command;
        command.child_key = key;
        command.queue = options.queue;
        command.trigger = options.trigger;
        command.on_parent_close =
            options.cancel_with_parent ? ParentClose::cancel : ParentClose::detach;
        HOLDFAST_TRY(command.input, object_of("input", input));
        if (!options.metadata.empty()) {
          HOLDFAST_TRY(command.metadata, object_of("metadata", options.metadata));
        }
        return start_child(assignment, workflow, command);
      },
      StepExtras{.trace = traceparent_of(assignment.trace),
                 .previous_progress = std::string(assignment.progress.view()),
                 .progress = [slot = std::make_shared<ProgressSlot>(*loop_, assignment.claim_id)](
                                 std::string json) { slot->put(json); }});
  return outcome_of(handler(context, assignment.input.view()));
}

Result<StartedRun> Engine::Impl::start_child(const Assignment& parent, std::string_view workflow,
                                             const StartChild& requested) {
  StartChild command = requested;
  command.origin = Origin{parent.runnable_key, parent.step, parent.attempt_number};
  HOLDFAST_TRY(const Started started,
               loop_->execute<Started>([command, run = parent.run_id, name = std::string(workflow)](
                                           Turn& turn) mutable -> Result<Started> {
                 HOLDFAST_TRY(command.definition, current_definition(turn, name));
                 return holdfast::start_child(turn, run, command);
               }));
  return StartedRun{to_string(started.run_id), started.existed};
}

Result<void> Engine::Impl::work(std::size_t threads, const std::stop_token& stop) {
  if (threads == 0) {
    return Error{ErrorCode::invalid_argument, "threads must be at least 1"}.with("field",
                                                                                 "threads");
  }
  HOLDFAST_TRY(const WorkerSkills able, worker_skills());
  PoolOptions options;
  options.threads = threads;
  Result<void> worked =
      WorkerPool::create(*loop_, able.handlers, able.skills->queues, options)->run(stop);
  const std::scoped_lock lock(mutex_);
  return closed_ ? Result<void>() : worked;
}

Result<EngineStats> Engine::Impl::stats() {
  HOLDFAST_TRY(EngineStats stats,
               loop_->execute<EngineStats>([](Turn& turn) -> Result<EngineStats> {
                 EngineStats now;
                 now.live_runs = turn.state().runs().count();
                 now.attempts = turn.state().queues().attempt_count();
                 now.position = turn.state().position().value;
                 return now;
               }));
  const CoreStats core = loop_->stats();
  stats.commits = core.commits;
  stats.facts = core.facts;
  stats.conflicts = core.conflicts;
  stats.recovered = core.recovered;
  stats.claims = core.claims;
  return stats;
}

Result<void> Engine::Impl::check_open() {
  const std::scoped_lock lock(mutex_);
  return closed_ ? Result<void>(Error{ErrorCode::engine_stopped, "this engine was closed"})
                 : Result<void>();
}

void Engine::Impl::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  if (leases_ != nullptr) {
    lease_observer_->attach(nullptr);
    leases_->stop();
  }
  loop_->close();
}

}  // namespace holdfast
