// A process that performs random operations on runs while other processes do the same, and records
// each call and its answer.
//
// usage: history_client URL HISTORY_FILE run|attempt FIRST_NS SEED THREADS
//   run      start, approve, reject, signal, cancel and inspect, through the library
//   attempt  start, claim, heartbeat, complete, fail and inspect, through the engine's loop
//
// The objects are numbered by time: all clients work on the same few of them. Runs until it is
// killed or receives SIGTERM. Exit code 3 when the engine stopped.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "apps/embed/engine_impl.h"
#include "holdfast/holdfast.h"
#include "tests/faults/attempt_model.h"
#include "tests/faults/run_model.h"
#include "tests/support/worker_process.h"

namespace holdfast {
namespace {

// A new object at each interval; this many are in use at once.
constexpr std::int64_t kNewObjectNs = 40'000'000;
constexpr std::uint64_t kObjects = 3;
// Answers from memory are so fast that without a pause there would be hardly anything else.
constexpr std::uint64_t kPauseUs = 2'000;

struct Site {
  std::string url;
  HistoryFile history;
  std::int64_t first_ns;
  std::uint64_t seed;
  std::atomic<bool> ended = false;
  std::mutex mutex = {};
  std::condition_variable changed = {};

  void end() {
    const std::scoped_lock lock(mutex);
    ended = true;
    changed.notify_all();
  }
  void wait_for_end(std::chrono::microseconds at_most) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, at_most, [this] { return ended.load(); });
  }
};

// What all clients have in common.
class Client {
 public:
  Client(Site& site, std::uint64_t number)
      : site_(site),
        random_(site.seed * 100 + number),
        name_(std::to_string(site.seed) + "." + std::to_string(number)) {}
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void work() {
    while (!site_.ended) {
      act(next_object());
      site_.wait_for_end(std::chrono::microseconds(below(kPauseUs)));
    }
  }

 protected:
  virtual void act(std::uint64_t object) = 0;

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  Random& random() { return random_; }
  // Calls, and records the call and its answer. When the store failed the outcome is unknown, and
  // this process exits.
  template <typename T, typename Function, typename Detail>
  std::optional<T> record(HistoryOp op, Function call, Detail detail) {
    const std::string who = name_ + "." + std::to_string(++calls_);
    site_.history.call(who, op);
    Result<T> result = call();
    if (!result.ok()) {
      const ErrorInfo& info = error_info(result.error().code());
      if (info.exit_code == error_info(ErrorCode::io_error).exit_code) {
        give_up(result.error());
      }
      site_.history.answer(who, std::string(info.name), "-");
      return std::nullopt;
    }
    const auto [word, what] = detail(result.value());
    site_.history.answer(who, word, what);
    return std::move(result).value();
  }

 private:
  std::uint64_t next_object() {
    const std::int64_t since = clock_ns(CLOCK_MONOTONIC) - site_.first_ns;
    return static_cast<std::uint64_t>(since / kNewObjectNs) + below(kObjects);
  }

  Site& site_;
  SeededRandom random_;
  std::string name_;
  std::uint64_t calls_ = 0;
};

using Words = std::pair<std::string, std::string>;

class RunClient final : public Client {
 public:
  RunClient(Site& site, std::uint64_t number, Engine& engine)
      : Client(site, number), engine_(engine) {}

 private:
  void act(std::uint64_t object) override {
    const bool by_key = object % 2 == 0;
    const std::string key = "object-" + std::to_string(object);
    const RunId id =
        by_key ? derive_run_id({"start", "shared", key}) : derive_run_id({"mine", key});
    const std::string run = to_string(id);
    const std::string actor = "a" + std::to_string(below(100));
    switch (below(10)) {
      case 0:
      case 1:
        return start(key, run, by_key);
      case 2:
      case 3:
        return signal(run);
      case 4:
        return command({"approve", run, actor},
                       [&] { return engine_.approve(run, {.step = "gate", .actor = actor}); });
      case 5:
        if (below(4) == 0) {
          return command({"reject", run, actor},
                         [&] { return engine_.reject(run, {.step = "gate", .actor = actor}); });
        }
        return command({"approve", run, actor},
                       [&] { return engine_.approve(run, {.step = "gate", .actor = actor}); });
      case 6:
        if (below(4) == 0) {
          return command({"cancel", run}, [&] { return engine_.cancel(run); });
        }
        break;
      default:
        break;
    }
    inspect(run);
  }
  void start(const std::string& key, const std::string& run, bool by_key) {
    const std::string input = below(8) == 0 ? R"({"n":2})" : R"({"n":1})";
    StartOptions options;
    (by_key ? options.idempotency_key : options.run_id) = by_key ? key : run;
    record<StartedRun>(
        {"start", run, input, by_key ? "key" : "id"},
        [&] { return engine_.start("shared", input, options); },
        [](const StartedRun& started) {
          return Words{"ok", started.existed ? "existed" : "new"};
        });
  }
  void signal(const std::string& run) {
    const std::string event = "e" + std::to_string(below(5));
    const std::string payload = "p" + std::to_string(below(8) == 0 ? 9 : event.back() - '0');
    command({"signal", run, event, payload}, [&] {
      return engine_.signal(run, "news", R"({"p":")" + payload + R"("})",
                            {.idempotency_key = event});
    });
  }
  template <typename Function>
  void command(const HistoryOp& op, Function call) {
    record<Done>(
        op,
        [&]() -> Result<Done> {
          HOLDFAST_CHECK(call());
          return Done{};
        },
        [](const Done&) {
          return Words{"ok", "-"};
        });
  }
  void inspect(const std::string& run) {
    record<RunView>(
        {"read", run}, [&] { return engine_.inspect(run); },
        [](const RunView& view) {
          return Words{"ok", (view.terminal ? view.status : "live") + "," +
                                 after(view.context, R"("actor":")") + "," +
                                 after(view.context, R"("p":")")};
        });
  }
  static std::string after(const std::string& text, const std::string& mark) {
    const std::size_t at = text.find(mark);
    const std::size_t from = at + mark.size();
    return at == std::string::npos ? "-" : text.substr(from, text.find('"', from) - from);
  }

  Engine& engine_;
};

class AttemptClient final : public Client {
 public:
  AttemptClient(Site& site, std::uint64_t number, Loop& loop,
                std::shared_ptr<const Definition> definition)
      : Client(site, number), loop_(loop), definition_(std::move(definition)) {
    skills_.queues = {SharedText(kDefaultQueue)};
  }

 private:
  struct Object {
    RunId id;
    SharedText key;
    std::string name;
  };

  void act(std::uint64_t number) override {
    // Often the object of its last claim.
    const RunId id = last_.has_value() && below(5) == 0
                         ? *last_
                         : derive_run_id({"claimed", std::to_string(number)});
    const Object object{id, runnable_key(id, "s", 1), to_string(id)};
    const ClaimProof proof = some_proof(object);
    const std::string claim = proof.claim_id.str();
    const auto done = [](const Done&) { return Words{"ok", "-"}; };
    switch (below(10)) {
      case 0:
        return start(object);
      case 1:
      case 2:
        return claim_this(object);
      case 3:
        return claim_any();
      case 4:
        record<TimeMs>(
            {"heartbeat", object.name, claim},
            [&] {
              return loop_.execute<TimeMs>([proof](Turn& turn) { return heartbeat(turn, proof); });
            },
            [](TimeMs until) {
              return Words{"ok", std::to_string(until.value)};
            });
        return;
      case 5: {
        Completion completion;
        const std::string result = below(4) == 0 ? R"({"r":2})" : R"({"r":1})";
        completion.result = Payload::trusted(result);
        record<Done>(
            {"complete", object.name, claim, result}, [&] { return report(proof, completion); },
            done);
        return;
      }
      case 6:
        if (below(3) == 0) {
          Failure failure;
          failure.error = Payload::trusted(R"({"code":"no"})");
          record<Done>(
              {"fail", object.name, claim}, [&] { return report(proof, failure); }, done);
          return;
        }
        break;
      default:
        break;
    }
    inspect(object);
  }

  void start(const Object& object) {
    StartRun command;
    command.run_id = object.id;
    command.definition = definition_;
    record<Started>(
        {"start", object.name},
        [&] {
          return loop_.execute<Started>(
              [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); });
        },
        [](const Started& started) {
          return Words{"ok", started.existed ? "existed" : "new"};
        });
  }
  void claim_this(const Object& object) {
    const Applicant applicant = loop_.new_applicant(skills_);
    const auto until = record<TimeMs>(
        {"claim", object.name, applicant.claimant.claim_id.str()},
        [&] {
          return loop_.execute<TimeMs>([&, key = object.key](Turn& turn) -> Result<TimeMs> {
            const SharedText queue(kDefaultQueue);
            HOLDFAST_TRY(const AttemptClaimed fact,
                         decide_claim(turn.state().queues().get(queue), key.view(),
                                      applicant.claimant, turn.now()));
            HOLDFAST_CHECK(turn.emit(queue, fact));
            return fact.lease_until;
          });
        },
        [](TimeMs lease) {
          return Words{"ok", std::to_string(lease.value)};
        });
    if (until.has_value()) {
      mine_[object.name] = {object.id, object.key, applicant.claimant.claim_id,
                            applicant.claimant.token_hash};
      last_ = object.id;
    }
  }
  void claim_any() {
    const Applicant applicant = loop_.new_applicant(skills_);
    using Given = std::optional<Assignment>;
    const auto given = record<Given>(
        {"claim_next", "any", applicant.claimant.claim_id.str()},
        [&] {
          return loop_.execute<Given>(
              [&](Turn& turn) { return claim_next(turn, skills_, applicant); });
        },
        [](const Given& assignment) {
          return assignment.has_value() ? Words{"ok:" + to_string(assignment->run_id),
                                                std::to_string(assignment->lease_until.value)}
                                        : Words{"nothing", "-"};
        });
    if (given.has_value() && given->has_value()) {
      mine_[to_string((*given)->run_id)] = proof_of(**given);
      last_ = (*given)->run_id;
    }
  }
  template <typename Outcome>
  Result<Done> report(const ClaimProof& proof, const Outcome& outcome) {
    return loop_.execute<Done>([proof, outcome](Turn& turn) {
      return report_outcome(turn, proof, AttemptOutcome(outcome));
    });
  }
  void inspect(const Object& object) {
    record<std::string>(
        {"read", object.name},
        [&] {
          return loop_.execute<std::string>([key = object.key](Turn& turn) -> Result<std::string> {
            const Attempt* attempt =
                turn.state().queues().get(SharedText(kDefaultQueue)).find(key.view());
            if (attempt == nullptr) {
              return std::string("none");
            }
            return std::string(to_text(attempt->status)) +
                   (attempt->claim ? "," + attempt->claim->claim_id.str() : "");
          });
        },
        [](const std::string& seen) {
          return Words{"ok", seen};
        });
  }
  // The newest claim of this thread on the object, or one that does not exist.
  ClaimProof some_proof(const Object& object) {
    const auto known = mine_.find(object.name);
    if (known != mine_.end()) {
      return known->second;
    }
    return {object.id, object.key, SharedText("none"), Digest{}};
  }

  Loop& loop_;
  std::shared_ptr<const Definition> definition_;
  Skills skills_;
  std::map<std::string, ClaimProof> mine_;
  std::optional<RunId> last_;
};

template <typename Make>
void work_with_threads(Site& site, std::uint64_t count, const sigset_t& term, Make make) {
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < count; ++i) {
    threads.emplace_back([&make, i] { make(i)->work(); });
  }
  say("ready");
  int signal = 0;
  sigwait(&term, &signal);
  site.end();
  for (std::thread& thread : threads) {
    thread.join();
  }
}

int run(const std::vector<std::string>& args) {
  const sigset_t term = live_with_parent();
  Site site{args[1], HistoryFile(args[2]), std::stoll(args[4]), std::stoull(args[5])};
  const std::uint64_t threads = std::stoull(args[6]);
  if (args[3] == "run") {
    Engine engine = must(Engine::open(site.url));
    if (const auto known = engine.register_workflow_json(kSharedWorkflow); !known.ok()) {
      give_up(known.error());
    }
    work_with_threads(site, threads, term, [&](std::uint64_t number) {
      return std::make_unique<RunClient>(site, number, engine);
    });
    return 0;
  }
  SystemClock clock;
  SystemRandom random;
  const auto loop = must(
      Loop::open(must(open_journal(site.url, OpenMode::create, clock, random)), clock, random, {}));
  const auto definition = must(Definition::parse(kClaimedWorkflow));
  loop->add_definition(definition);
  work_with_threads(site, threads, term, [&](std::uint64_t number) {
    return std::make_unique<AttemptClient>(site, number, *loop, definition);
  });
  loop->close();
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  return holdfast::run(
      holdfast::arguments(argc, argv, 7, "URL HISTORY_FILE MODE FIRST_NS SEED THREADS"));
}
