#include "lab/bench/bench_engine.h"

#include <malloc.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <numeric>

namespace holdfast {

namespace {

constexpr const char* kHandler = "nothing";

// Limits the number of unfinished runs, and waits for the last one.
class Gate {
 public:
  explicit Gate(std::size_t limit) : limit_(limit) {}

  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return inside_ < limit_ || failed_.has_value(); });
    ++inside_;
  }
  void leave(const std::optional<Error>& error) {
    const std::scoped_lock lock(mutex_);
    --inside_;
    if (error.has_value()) {
      failed_ = error;
    }
    changed_.notify_all();
  }
  // Releases all waiting threads.
  void fail(const Error& error) {
    const std::scoped_lock lock(mutex_);
    failed_ = error;
    changed_.notify_all();
  }
  Result<void> wait_until_empty() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return inside_ == 0; });
    return failed_.has_value() ? Result<void>(*failed_) : Result<void>();
  }

 private:
  std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t inside_ = 0;
  std::optional<Error> failed_;
};

// Set member by member: g++ 12 reports a Completion that is moved into the variant as
// uninitialised.
AttemptOutcome completed_with(const Payload& result) {
  AttemptOutcome outcome;
  std::get<Completion>(outcome).result = result;
  return outcome;
}

}  // namespace

BenchDefinition bench_definition(
    std::string_view workflow, std::size_t steps,
    const std::function<std::vector<std::size_t>(std::size_t step)>& after) {
  WorkflowSpec spec;
  spec.workflow = workflow;
  for (std::size_t i = 0; i < steps; ++i) {
    StepSpec step;
    step.name = "s" + std::to_string(i);
    step.handler = kHandler;
    for (const std::size_t before : after(i)) {
      step.after.emplace_back("s" + std::to_string(before));
    }
    spec.steps.push_back(std::move(step));
  }
  return Definition::create(spec);
}

BenchDefinition bench_diamond(std::string_view workflow, std::size_t width) {
  return bench_definition(workflow, width + 2, [width](std::size_t step) {
    std::vector<std::size_t> before(step == width + 1 ? width : std::min<std::size_t>(step, 1));
    std::iota(before.begin(), before.end(), step == width + 1 ? 1U : 0U);
    return before;
  });
}

BenchDefinition bench_chain(std::size_t steps, std::string_view workflow) {
  return bench_definition(workflow, steps, [](std::size_t step) {
    return step == 0 ? std::vector<std::size_t>() : std::vector<std::size_t>{step - 1};
  });
}

std::uint64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::uint64_t>(info.uordblks) + static_cast<std::uint64_t>(info.hblkhd);
}

namespace {

// A line of /proc/self/status, such as VmRSS: 1234 kB.
Result<std::uint64_t> memory_line(std::string_view name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::uint64_t kilobytes = 0;
    if (word == name && status >> kilobytes) {
      return kilobytes * 1024;
    }
  }
  return Error{ErrorCode::io_error, "/proc/self/status has no " + std::string(name)};
}

}  // namespace

Result<std::uint64_t> resident_bytes() {
  malloc_trim(0);
  return memory_line("VmRSS:");
}

Result<std::uint64_t> peak_bytes() { return memory_line("VmHWM:"); }

Result<void> reset_peak_bytes() {
  malloc_trim(0);
  std::ofstream reset("/proc/self/clear_refs");
  if (!(reset << "5" << std::flush)) {
    return Error{ErrorCode::io_error, "cannot reset the peak memory of the process"};
  }
  return {};
}

Result<std::unique_ptr<BenchEngine>> BenchEngine::open(std::unique_ptr<Journal> journal,
                                                       BenchContext& context,
                                                       const LoopOptions& options) {
  std::unique_ptr<BenchEngine> engine(new BenchEngine(context));
  HOLDFAST_TRY(engine->loop_,
               Loop::open(std::move(journal), context.clock, context.random, options));
  return engine;
}

StartRun BenchEngine::new_start(const std::shared_ptr<const Definition>& definition,
                                const Payload& input) {
  StartRun start;
  start.run_id = RunId{make_uuid(context_.clock.now(), context_.random)};
  start.definition = definition;
  start.input = input.empty()
                    ? Payload::trusted(R"({"order":"A-1042","amount":1999,"currency":"EUR"})")
                    : input;
  return start;
}

Result<double> BenchEngine::execute(const Load& load) {
  loop_->add_definition(load.definition);
  const std::size_t steps = load.attempts == 0 ? load.definition->steps().size() : load.attempts;
  Gate gate(load.at_once);
  std::atomic<std::uint64_t> executed = 0;
  std::mutex mutex;
  std::map<RunId, std::size_t> left;  // steps of each run that are not executed yet
  std::stop_source stop;
  auto handlers = std::make_shared<HandlerTable>();
  (*handlers)[kHandler] = [&](const Assignment& assignment,
                              const std::stop_token& /*stop*/) -> AttemptOutcome {
    {
      const std::scoped_lock lock(mutex);
      const auto run = left.find(assignment.run_id);
      if (run == left.end()) {
        return completed_with(Payload::trusted("{}"));  // of a run that an earlier case left behind
      }
      if (--run->second == 0) {
        left.erase(run);
        gate.leave(std::nullopt);
      }
    }
    const std::uint64_t count = ++executed;
    if (load.seen) {
      load.seen(count);
    }
    if (count == load.runs * steps) {
      stop.request_stop();
    }
    return completed_with(load.result ? load.result(count) : Payload::trusted("{}"));
  };
  const Stopwatch watch;
  ThreadGroup starter;
  HOLDFAST_CHECK(starter.start([&] {
    for (std::uint64_t i = 0; i < load.runs; ++i) {
      gate.enter();
      const StartRun start = new_start(load.definition, load.input);
      {
        const std::scoped_lock lock(mutex);
        left.emplace(start.run_id, steps);
      }
      loop_->submit<Started>(
          [start](Turn& turn) { return start_run(turn, start, IdOrigin::fresh); },
          [&](const Result<Started>& started) {
            if (!started.ok()) {
              gate.leave(started.error());
              stop.request_stop();
            }
          });
    }
  }));
  const auto pool = WorkerPool::create(*loop_, handlers, {{SharedText(kDefaultQueue)}},
                                       {.threads = load.threads});
  const Result<void> worked = pool->run(stop.get_token());
  const double seconds = watch.seconds();
  if (!worked.ok()) {
    gate.fail(worked.error());
  }
  starter.join();
  if (!worked.ok()) {
    // Pending starts refer to local variables; this command is answered after all of them.
    static_cast<void>(loop_->execute<Done>([](Turn&) { return Done{}; }).ok());
    return worked.error();
  }
  HOLDFAST_CHECK(gate.wait_until_empty());
  return seconds;
}

Result<void> BenchEngine::start_pending(const std::shared_ptr<const Definition>& definition,
                                        std::uint64_t runs, const Payload& input) {
  constexpr std::size_t kAtOnce = 256;
  loop_->add_definition(definition);
  Gate gate(kAtOnce);
  for (std::uint64_t i = 0; i < runs; ++i) {
    gate.enter();
    loop_->submit<Started>(
        [start = new_start(definition, input)](Turn& turn) {
          return start_run(turn, start, IdOrigin::fresh);
        },
        [&](const Result<Started>& started) {
          gate.leave(started.ok() ? std::nullopt : std::optional(started.error()));
        });
  }
  return gate.wait_until_empty();
}

Result<double> BenchEngine::execute_pending(std::uint64_t attempts, TimeMs begin,
                                            const Payload& result) {
  std::atomic<std::uint64_t> executed = 0;
  std::stop_source stop;
  auto handlers = std::make_shared<HandlerTable>();
  (*handlers)[kHandler] = [&](const Assignment& /*assignment*/,
                              const std::stop_token& /*stop*/) -> AttemptOutcome {
    if (++executed == attempts) {
      stop.request_stop();
    }
    return completed_with(result);
  };
  const auto pool =
      WorkerPool::create(*loop_, handlers, {{SharedText(kDefaultQueue)}}, {.threads = 1});
  HOLDFAST_CHECK(pool->run(stop.get_token()));
  return static_cast<double>(context_.clock.now().value - begin.value) / 1e3;
}

Result<double> BenchEngine::claim(std::size_t commits, std::size_t claims) {
  const Skills skills{{{SharedText(kDefaultQueue)}}, {SharedText(kHandler)}};
  double seconds = 0;
  for (std::size_t i = 0; i < commits; ++i) {
    std::vector<Applicant> applicants;
    for (std::size_t n = 0; n < claims; ++n) {
      applicants.push_back(loop_->new_applicant(skills));
    }
    const Stopwatch watch;
    HOLDFAST_TRY(const std::size_t got,
                 loop_->execute<std::size_t>([&](Turn& turn) -> Result<std::size_t> {
                   std::size_t count = 0;
                   for (const Applicant& applicant : applicants) {
                     HOLDFAST_TRY(const auto given, claim_next(turn, skills, applicant));
                     count += given.has_value() ? 1U : 0U;
                   }
                   return count;
                 }));
    seconds += watch.seconds();
    if (got != claims) {
      return Error{ErrorCode::not_found, "fewer attempts could be claimed than expected"};
    }
  }
  return seconds;
}

}  // namespace holdfast
