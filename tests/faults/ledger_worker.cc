// A process that starts runs, sends them events and executes their steps, and keeps a ledger of the
// replies it received.
//
// usage: ledger_worker URL LEDGER_FILE THREADS MODE COUNT CLOCK_FILE
//   start   starts COUNT runs, sends each its event, and works until SIGTERM
//   drain   sends events to all runs of the ledger and works until no run is live
//
// Lines of the ledger, each one write:
//   starting RUN   started RUN   signalled RUN       before the call; after its reply
//   claimed KEY CLAIM                                before the step is executed
//   completed KEY CLAIM                              after the reply that the result counts
//   refused KEY CLAIM CODE                           after the reply that it does not count
// CLOCK_FILE holds eight bytes: the current error of this process's clock in milliseconds; - for
// none. Exit code 3 when the store failed.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/faults/ledger_workflow.h"
#include "tests/support/worker_process.h"

namespace holdfast {
namespace {

// The system clock plus the error in the file.
class WrongClock final : public Clock {
 public:
  explicit WrongClock(const std::string& path) {
    if (path == "-") {
      return;
    }
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* shared = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (fd < 0 || shared == MAP_FAILED) {
      give_up("cannot read " + path);
    }
    offset_ms_ = static_cast<const std::atomic<std::int64_t>*>(shared);
  }
  TimeMs now() override {
    return TimeMs{right_.now().value + (offset_ms_ == nullptr ? 0 : offset_ms_->load())};
  }

 private:
  SystemClock right_;
  const std::atomic<std::int64_t>* offset_ms_ = nullptr;
};

class LedgerWorker {
 public:
  LedgerWorker(Loop& loop, const std::string& ledger)
      : loop_(loop), ledger_path_(ledger), ledger_(ledger) {}

  void start_runs(std::size_t count, const std::stop_token& stop) {
    for (std::size_t i = 0; i < count && !stop.stop_requested(); ++i) {
      const RunId id{make_uuid(loop_.clock().now(), loop_.random())};
      ledger_.add("starting " + to_string(id));
      StartRun command;
      command.run_id = id;
      command.definition = workflow_;
      must(loop_.execute<Started>(
          [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
      ledger_.add("started " + to_string(id));
      signal(id);
    }
  }
  // A worker that died between a start and its event has left a run that waits for the event.
  void signal_all() {
    std::ifstream file(ledger_path_);
    for (std::string word, id; file >> word; std::getline(file, id)) {
      if (word == "starting" && file >> id) {
        signal(must(parse_run_id(id)));
      }
    }
  }
  // Executes one attempt after the other and records each reply in the ledger.
  void work(const std::stop_token& stop) {
    const Skills skills{{{SharedText(kDefaultQueue)}}, {}};
    while (!stop.stop_requested()) {
      const Applicant applicant = loop_.new_applicant(skills);
      const auto given = must(loop_.execute<std::optional<Assignment>>(
          [&](Turn& turn) { return claim_next(turn, skills, applicant); }));
      if (given.has_value()) {
        execute(*given);
      } else {
        wait_a_little(stop);
      }
    }
  }
  // The same with a pool, which sends heartbeats and is notified of new work, but does not record
  // replies.
  Result<void> work_in_pool(std::size_t threads, const std::stop_token& stop) {
    auto handlers = std::make_shared<HandlerTable>();
    for (const char* step : kLedgerSteps) {
      (*handlers)[step] = [this](const Assignment& given, const std::stop_token&) {
        note_claim(given);
        return outcome_of(given);
      };
    }
    return WorkerPool::create(loop_, handlers, {{SharedText(kDefaultQueue)}}, {.threads = threads})
        ->run(stop);
  }
  [[nodiscard]] const std::shared_ptr<const Definition>& workflow() const { return workflow_; }

 private:
  void signal(const RunId& id) {
    SendEvent event;
    event.event = "go";
    event.payload = Payload::trusted(R"({"gone":true})");
    event.source.idempotency_key = "go";
    const auto sent = loop_.execute<Done>([id, event](Turn& turn) -> Result<Done> {
      HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(id));
      HOLDFAST_TRY(const RunFacts facts,
                   decide_receive_event(*run, event, EngineSurroundings(turn), turn.now()));
      HOLDFAST_CHECK(emit_with_attempts(turn, id, facts));
      return Done{};
    });
    if (sent.ok()) {
      ledger_.add("signalled " + to_string(id));
    } else if (sent.error().code() != ErrorCode::run_not_found) {
      give_up(sent.error());
    }
  }
  void note_claim(const Assignment& given) const {
    ledger_.add("claimed " + given.runnable_key.str() + " " + given.claim_id.str());
  }
  void execute(const Assignment& given) {
    note_claim(given);
    const AttemptOutcome outcome = outcome_of(given);
    const ClaimProof proof = proof_of(given);
    const auto reported =
        loop_.execute<Done>([&](Turn& turn) { return report_outcome(turn, proof, outcome); });
    const std::string line = given.runnable_key.str() + " " + given.claim_id.str();
    if (reported.ok() && std::holds_alternative<Completion>(outcome)) {
      ledger_.add("completed " + line);
    } else if (!reported.ok()) {
      const ErrorInfo& info = error_info(reported.error().code());
      if (info.exit_code == error_info(ErrorCode::io_error).exit_code) {
        give_up(reported.error());
      }
      ledger_.add("refused " + line + " " + std::string(info.name));
    }
  }
  static void wait_a_little(const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any changed;
    changed.wait_for(lock, stop, std::chrono::milliseconds(5), [] { return false; });
  }

  Loop& loop_;
  std::string ledger_path_;
  LineFile ledger_;
  std::shared_ptr<const Definition> workflow_ = must(Definition::parse(kLedgerWorkflow));
};

// The thread exits the process when the store has failed.
template <typename Work>
std::thread in_thread(Work work) {
  return std::thread([work] {
    if (const Result<void> ended = work(); !ended.ok()) {
      give_up(ended.error());
    }
  });
}

int run(const std::vector<std::string>& args) {
  const sigset_t term = live_with_parent();
  signal(SIGXFSZ, SIG_IGN);  // so that a file that cannot grow is a write error
  WrongClock clock(args[6]);
  SystemRandom random;
  const auto loop = open_busy_loop(args[1], clock, random);
  LedgerWorker worker(*loop, args[2]);
  loop->add_definition(worker.workflow());
  say("ready");

  const bool drains = args[4] == "drain";
  std::stop_source stop;
  std::vector<std::thread> threads;
  if (drains) {
    worker.signal_all();
  } else {
    threads.push_back(in_thread([&]() -> Result<void> {
      worker.start_runs(std::stoul(args[5]), stop.get_token());
      return {};
    }));
  }
  threads.push_back(in_thread([&]() -> Result<void> {
    worker.work(stop.get_token());
    return {};
  }));
  threads.push_back(
      in_thread([&] { return worker.work_in_pool(std::stoul(args[3]), stop.get_token()); }));
  wait_for_end(term, [&] {
    seal_a_little(*loop);
    return drains && live_runs(*loop) == 0;
  });
  stop.request_stop();
  for (std::thread& thread : threads) {
    thread.join();
  }
  loop->close();
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  return holdfast::run(
      holdfast::arguments(argc, argv, 7, "URL LEDGER_FILE THREADS MODE COUNT CLOCK_FILE"));
}
