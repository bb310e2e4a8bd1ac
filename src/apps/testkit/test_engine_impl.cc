#include "apps/testkit/test_engine_impl.h"

#include <fmt/format.h>

#include "base/uuid.h"
#include "storage/log/open_store.h"

namespace holdfast::testing {

namespace {

constexpr std::uint64_t kSeedStep = 0x9E3779B97F4A7C15U;

bool is_later(const std::optional<TimeMs>& time, TimeMs now) {
  return time.has_value() && *time > now;
}

}  // namespace

TestEngine::Impl::Impl(TestOptions options)
    : options_(std::move(options)), now_(time_ms(options_.start)), random_(options_.seed) {
  open();
}

Result<std::unique_ptr<Store>> TestEngine::Impl::open_handle() {
  const StoreOrigin origin = new_origin(make_uuid(now_, random_));
  return options_.store == "memory:" ? open_memory_store(disk_, OpenMode::create, origin)
                                     : open_store(options_.store, OpenMode::create, origin);
}

void TestEngine::Impl::open() {
  power_ = std::make_shared<Power>();
  auto store = open_handle();
  if (!store.ok()) {
    fail("TestOptions::store: " + store.error().text());
  }
  EngineOptions options;
  options.source = "test";
  options.all_queues = true;
  options.log = [this](const LogMessage& message) { logs_.push_back(message); };
  options.credential = options_.credential;
  options.clock = [this] { return time_of(now_); };
  EngineParts parts;
  parts.store = std::make_unique<CrashStore>(std::move(store).value(), power_);
  parts.seed = options_.seed + kSeedStep * ++incarnation_;
  parts.find_stub = [this](std::string_view step) -> StepHandler {
    if (!stubs_.contains(step)) {
      return nullptr;
    }
    return [this, name = std::string(step)](StepContext& context, std::string_view input) {
      return call(name, context, input);
    };
  };
  auto engine = EngineAccess::open(std::move(parts), options);
  if (!engine.ok()) {
    fail("cannot open the engine: " + engine.error().text());
  }
  engine_.emplace(std::move(engine).value());
  for (const auto& [name, handler] : handlers_) {
    register_with_engine(name);
  }
  for (const auto& [name, stub] : stubs_) {
    register_with_engine(name);
  }
}

Engine& TestEngine::Impl::live() {
  if (!engine_.has_value()) {
    fail("the engine has crashed; call restart() first");
  }
  return *engine_;
}

void TestEngine::Impl::register_with_engine(const std::string& name) {
  const Result<void> registered =
      live().register_handler(name, [this, name](StepContext& context, std::string_view input) {
        return call(name, context, input);
      });
  if (!registered.ok()) {
    fail("handler \"" + name + "\": " + registered.error().text());
  }
}

void TestEngine::Impl::handle(std::string_view name, StepHandler handler) {
  if (handler == nullptr) {
    fail(fmt::format("handler \"{}\" is an empty function", name));
  }
  handlers_.insert_or_assign(std::string(name), std::move(handler));
  register_with_engine(std::string(name));
}

Stub& TestEngine::Impl::stub(std::string_view name) {
  const auto [stub, added] = stubs_.try_emplace(std::string(name));
  if (added) {
    register_with_engine(stub->first);
  }
  return stub->second;
}

bool TestEngine::Impl::crash_at(const std::string& handler, const StepContext& context,
                                Crash when) {
  for (const std::string& name : {handler, context.step()}) {
    const auto plan = plans_.find(name);
    if (plan != plans_.end() && plan->second == when) {
      plans_.erase(plan);
      power_->cut();
      return true;
    }
  }
  return false;
}

StepResult TestEngine::Impl::call(const std::string& handler, StepContext& context,
                                  std::string_view input) {
  if (crash_at(handler, context, Crash::before)) {
    return StepResult::ok();  // is never stored
  }
  calls_.push_back({handler, context.info(), std::string(input), time_of(now_)});
  running_ = handler;
  try {
    StepResult result = execute_step(handler, context, input);
    running_.reset();
    crash_at(handler, context, Crash::after);
    return result;
  } catch (const TestFailure& failure) {
    running_.reset();
    failure_ = failure_.value_or(failure.what());
    throw;
  } catch (...) {
    running_.reset();
    crash_at(handler, context, Crash::after);
    throw;
  }
}

StepResult TestEngine::Impl::execute_step(const std::string& handler, StepContext& context,
                                          std::string_view input) {
  for (const std::string& name : {context.step(), handler}) {
    if (const auto stub = stubs_.find(name); stub != stubs_.end()) {
      return stub->second.call(context, input);
    }
  }
  const auto known = handlers_.find(handler);
  if (known == handlers_.end()) {
    fail(fmt::format("step \"{}\" needs a handler or a stub \"{}\": its stub was removed",
                     context.step(), handler));
  }
  const StepHandler called = known->second;  // it may register another one
  return called(context, input);
}

std::string TestEngine::Impl::start(std::string_view workflow, std::string_view input,
                                    StartOptions options) {
  if (options.run_id.empty() && options.idempotency_key.empty()) {
    options.run_id = new_key();
  }
  return must(fmt::format("cannot start workflow \"{}\"", workflow),
              [&](Engine& engine) { return engine.start(workflow, input, options); })
      .run_id;
}

std::string TestEngine::Impl::new_key() { return to_string(make_uuid(now_, random_)); }

std::vector<std::string> TestEngine::Impl::runs(std::string_view workflow) {
  std::vector<std::string> found;
  ListOptions options;
  options.workflow = workflow;
  options.order = ListOrder::oldest_first;
  options.limit = 1000;
  options.archived = true;
  do {
    const RunPage page =
        must("cannot list runs", [&](Engine& engine) { return engine.list(options); });
    for (const RunSummary& run : page.runs) {
      found.push_back(run.run_id);
    }
    options.cursor = page.next;
  } while (!options.cursor.empty());
  return found;
}

void TestEngine::Impl::count_step() {
  if (++steps_ > options_.max_steps) {
    fail(
        fmt::format("{} steps and timers have not led to an end: does a run repeat itself for "
                    "ever? Otherwise increase TestOptions::max_steps",
                    options_.max_steps));
  }
}

void TestEngine::Impl::check_no_handler(std::string_view what) const {
  if (running_.has_value()) {
    fail(fmt::format("{} cannot be called while handler \"{}\" is running", what, *running_));
  }
}

TimesAhead TestEngine::Impl::settle() {
  for (;;) {
    const TimesAhead ahead = EngineAccess::settle(live());
    if (!restart_after_crash()) {
      return ahead;
    }
  }
}

void TestEngine::Impl::drain() {
  for (;;) {
    const auto executed = live().execute_next();
    if (failure_.has_value()) {
      fail(*std::exchange(failure_, std::nullopt));
    }
    if (restart_after_crash()) {
      continue;
    }
    if (!executed.ok()) {
      fail("the engine has stopped: " + executed.error().text());
    }
    if (!executed.value().has_value()) {
      return;
    }
    count_step();
  }
}

void TestEngine::Impl::run_until(const std::function<bool()>& done) {
  check_no_handler("run_until_idle() or finish()");
  steps_ = 0;
  for (;;) {
    drain();
    if (done() || options_.skip == TimeSkip::manual) {
      return;
    }
    const TimesAhead ahead = settle();
    if (!is_later(ahead.work, now_)) {
      return;
    }
    walk_to(*ahead.work);
  }
}

void TestEngine::Impl::walk_to(TimeMs time) {
  for (;;) {
    const TimesAhead ahead = settle();
    TimeMs next = time;
    for (const auto& at : {ahead.work, ahead.schedule}) {
      if (is_later(at, now_) && *at < next) {
        next = *at;
      }
    }
    now_ = next;
    drain();
    if (next == time) {
      return;
    }
    count_step();
  }
}

void TestEngine::Impl::skip_to(TimeMs time) {
  check_no_handler("skip()");
  if (time < now_) {
    fail(fmt::format("the clock shows {} and cannot be set back to {}", format_time(now_),
                     format_time(time)));
  }
  steps_ = 0;
  drain();
  walk_to(time);
}

void TestEngine::Impl::crash() {
  check_no_handler("crash()");
  static_cast<void>(live());
  power_->cut();
  engine_.reset();
}

void TestEngine::Impl::restart() {
  check_no_handler("restart()");
  engine_.reset();
  open();
}

bool TestEngine::Impl::restart_after_crash() {
  if (power_->on()) {
    return false;
  }
  ++crashes_;
  engine_.reset();
  open();
  return true;
}

void TestEngine::Impl::plan_crash(std::string_view name, Crash when) {
  plans_.insert_or_assign(std::string(name), when);
}

void TestEngine::Impl::plan_crash_after_commits(std::uint64_t commits) {
  if (commits == 0) {
    fail("crash_after_commits() needs a number above 0; crash() crashes now");
  }
  static_cast<void>(live());
  power_->cut_after(commits);
}

std::vector<HandlerCall> TestEngine::Impl::calls(std::string_view name) const {
  std::vector<HandlerCall> found;
  for (const HandlerCall& call : calls_) {
    if (name.empty() || call.handler == name || call.step.step == name) {
      found.push_back(call);
    }
  }
  return found;
}

}  // namespace holdfast::testing
