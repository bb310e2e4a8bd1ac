// A process that works on one journal, for tests that kill it.
//
// usage: engine_worker URL SIDE_FILE THREADS MODE [ACK_FILE [COUNT]]
//   work    executes attempts until SIGTERM
//   start   the same, and starts runs: each id is written to ACK_FILE once its start is durable
//   only    starts COUNT runs, executes nothing, ends
//   drain   executes attempts until no run is live
//
// Every step appends "IDEMPOTENCY_KEY OWNER CLAIM" to SIDE_FILE before its result is reported,
// and says so on the standard output. Exit code 0 after an orderly end.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "engine/worker_pool.h"
#include "journal/open_journal.h"

namespace holdfast {
namespace {

constexpr int kFailed = 3;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "engine_worker: %s\n", why.c_str());
  std::_Exit(kFailed);
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    give_up(result.error().text());
  }
  return std::move(result).value();
}

// One line is one write call, so that a kill leaves whole lines.
class LineFile {
 public:
  explicit LineFile(const std::string& path)
      : fd_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ < 0) {
      give_up("cannot open " + path);
    }
  }
  void add(const std::string& line) const { write_line(fd_, line); }
  static void write_line(int fd, const std::string& line) {
    const std::string bytes = line + "\n";
    if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      give_up("cannot write a line");
    }
  }

 private:
  int fd_;
};

// a, then b, c and d, then e when all three are done, then f. Some attempts at d fail at first.
std::shared_ptr<const Definition> definition() {
  return must(Definition::parse(
      R"({"workflow":"crash","version":"1","steps":[)"
      R"({"name":"a","lease_ms":500},)"
      R"({"name":"b","lease_ms":500,"after":["a"]},)"
      R"({"name":"c","lease_ms":500,"after":["a"]},)"
      R"({"name":"d","lease_ms":500,"after":["a"],"retry":{"max_attempts":3,"delay_ms":5}},)"
      R"({"name":"e","lease_ms":500,"after":["b","c","d"]},)"
      R"({"name":"f","lease_ms":500,"after":["e"]}]})"));
}

bool fails_at_first(const Assignment& given) {
  return given.step == SharedText("d") && given.attempt_number == 1 &&
         std::to_integer<int>(given.run_id.uuid.bytes.back()) % 4 == 0;
}

HandlerOutcome execute(const Loop& loop, const LineFile& side, const Assignment& given) {
  const std::string line =
      given.idempotency_key.str() + " " + loop.owner_id().str() + " " + given.claim_id.str();
  side.add(line);
  LineFile::write_line(STDOUT_FILENO, line);
  if (fails_at_first(given)) {
    Failure failure;
    failure.error = Payload::trusted(R"({"code":"not_yet"})");
    return failure;
  }
  Completion done;
  done.result = Payload::trusted(R"({")" + given.step.str() + R"(":true})");
  return done;
}

Started start_one(Loop& loop, const RunId& id, const std::shared_ptr<const Definition>& workflow) {
  StartRun command;
  command.run_id = id;
  command.definition = workflow;
  return must(loop.ask<Started>(
      [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
}

void start_runs(Loop& loop, const LineFile& acks, std::size_t count, const std::stop_token& stop) {
  const auto workflow = definition();
  for (std::size_t i = 0; i < count && !stop.stop_requested(); ++i) {
    const RunId id{make_uuid(loop.clock().now(), loop.random())};
    const bool existed = start_one(loop, id, workflow).existed;
    acks.add(to_string(id));
    // Whoever asks again gets the same run.
    if (existed || (i % 5 == 0 && !start_one(loop, id, workflow).existed)) {
      give_up("run " + to_string(id) + " was started twice");
    }
  }
}

// Returns at SIGTERM, or when `done` says so; it is asked now and then.
template <typename Until>
void wait_for_end(const sigset_t& term, Until done) {
  const timespec now_and_then{0, 20'000'000};
  while (sigtimedwait(&term, nullptr, &now_and_then) != SIGTERM) {
    if (done()) {
      return;
    }
  }
}

int run(const std::vector<std::string>& args) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);

  const std::string& mode = args[4];
  SystemClock clock;
  SystemRandom random;
  // Small limits: checkpoints and loading again happen all the time; so does sealing, below.
  LoopOptions options;
  options.core.checkpoint_every = 300;
  options.core.max_cached_runnables = 100;
  auto loop = must(Loop::open(must(open_journal(args[1], OpenMode::create, clock, random)), clock,
                              random, options));
  loop->add_definition(definition());
  const LineFile side(args[2]);
  LineFile::write_line(STDOUT_FILENO, "ready");
  std::stop_source stop;
  if (mode == "only") {
    start_runs(*loop, LineFile(args[5]), std::stoul(args[6]), stop.get_token());
    loop->close();
    return 0;
  }

  auto handlers = std::make_shared<HandlerTable>();
  for (const char* step : {"a", "b", "c", "d", "e", "f"}) {
    (*handlers)[step] = [&](const Assignment& given, const std::stop_token&) {
      return execute(*loop, side, given);
    };
  }
  const auto pool = WorkerPool::create(*loop, handlers, {SharedText(kDefaultQueue)},
                                       {.threads = std::stoul(args[3])});
  std::thread starter;
  if (mode == "start") {
    starter = std::thread(
        [&] { start_runs(*loop, LineFile(args[5]), std::stoul(args[6]), stop.get_token()); });
  }
  std::thread worker([&] {
    if (const auto ended = pool->run(stop.get_token()); !ended.ok()) {
      give_up(ended.error().text());
    }
  });
  wait_for_end(term, [&] {
    // A conflict is another process that does the same.
    if (const auto sealed = loop->journal().seal({.below = std::nullopt, .step_bytes = 1U << 14U});
        !sealed.ok() && sealed.error().code() != ErrorCode::conflict) {
      give_up(sealed.error().text());
    }
    return mode == "drain" &&
           must(loop->ask<std::size_t>([](Turn& turn) { return turn.state().live_count(); })) == 0;
  });
  stop.request_stop();
  worker.join();
  if (starter.joinable()) {
    starter.join();
  }
  loop->close();
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv, argv + argc);
  if (args.size() < 5) {
    std::fprintf(stderr, "usage: engine_worker URL SIDE_FILE THREADS MODE [ACK_FILE COUNT]\n");
    return 2;
  }
  return holdfast::run(args);
}
