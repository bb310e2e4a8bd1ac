// A process that executes many runs and reports its memory and the size of its store.
//
// usage: soak_worker STORE_FILE RUNS SAMPLES
// Prints a line "RUNS RSS_BYTES FILE_BYTES" SAMPLES times along the way, and "closed RUNS RSS_BYTES
// FILE_BYTES" when everything has ended and is sealed. Exit code 3 after a failure.
#include <sys/stat.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "tests/support/worker_process.h"

namespace holdfast {
namespace {

std::uint64_t rss_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t file_bytes(const std::string& path) {
  std::uint64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    struct stat found {};
    if (stat((path + suffix).c_str(), &found) == 0) {
      bytes += static_cast<std::uint64_t>(found.st_size);
    }
  }
  return bytes;
}

// The maximum number of live runs.
class Window {
 public:
  static constexpr std::size_t kLive = 200;
  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return live_ < kLive; });
    ++live_;
  }
  void leave() {
    const std::scoped_lock lock(mutex_);
    --live_;
    ++ended_;
    changed_.notify_all();
  }
  void wait_for_ended(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t live_ = 0;
  std::size_t ended_ = 0;
};

std::shared_ptr<const Definition> definition() {
  return must(Definition::parse(R"({"workflow":"soak","version":"1","steps":[{"name":"a"},)"
                                R"({"name":"b","after":["a"]},{"name":"c","after":["b"]}]})"));
}

void start_runs(Loop& loop, Window& window, std::size_t runs) {
  const auto workflow = definition();
  for (std::size_t i = 0; i < runs; ++i) {
    window.enter();
    StartRun command;
    command.run_id = RunId{make_uuid(loop.clock().now(), loop.random())};
    command.definition = workflow;
    command.input = Payload::trusted(R"({"order":)" + std::to_string(i) + R"(,"items":[1,2,3]})");
    loop.submit<Started>(
        [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); },
        [](Result<Started> started) { must(std::move(started)); });
  }
}

void print_sample(const std::string& path, const char* prefix, std::size_t runs) {
  std::printf("%s%zu %llu %llu\n", prefix, runs, static_cast<unsigned long long>(rss_bytes()),
              static_cast<unsigned long long>(file_bytes(path)));
  std::fflush(stdout);
}

int run(const std::string& path, std::size_t runs, std::size_t samples) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  SystemClock clock;
  SystemRandom random;
  LoopOptions options;
  // Sealing and checkpoints happen often, whatever the number of runs.
  options.seal_every_bytes = runs * 20;
  options.core.checkpoint_every = runs;
  auto loop = must(Loop::open(must(open_journal("sqlite:" + path, OpenMode::create, clock, random)),
                              clock, random, options));
  loop->add_definition(definition());
  Window window;
  auto handlers = std::make_shared<HandlerTable>();
  for (const char* step : {"a", "b", "c"}) {
    (*handlers)[step] = [&window](const Assignment& given, const std::stop_token&) {
      if (given.step == SharedText("c")) {
        window.leave();
      }
      Completion done;
      done.result = Payload::trusted(R"({")" + given.step.str() + R"(":"done"})");
      return AttemptOutcome(done);
    };
  }
  std::stop_source stop;
  const auto pool =
      WorkerPool::create(*loop, handlers, {{SharedText(kDefaultQueue)}}, {.threads = 2});
  std::thread worker([&] {
    if (const auto ended = pool->run(stop.get_token()); !ended.ok()) {
      give_up(ended.error());
    }
  });
  std::thread starter([&] { start_runs(*loop, window, runs); });
  for (std::size_t i = 1; i <= samples; ++i) {
    window.wait_for_ended(i * runs / samples);
    print_sample(path, "", i * runs / samples);
  }
  starter.join();
  stop.request_stop();
  worker.join();
  const std::size_t live = live_runs(*loop);
  if (live != 0) {
    give_up(std::to_string(live) + " runs have not ended");
  }
  loop->close();
  must(loop->journal().seal({.below = std::nullopt, .step_bytes = 1U << 20U}));
  const std::uint64_t rss = rss_bytes();
  loop.reset();  // closing the store moves the contents of the WAL into the file
  std::printf("closed %zu %llu %llu\n", runs, static_cast<unsigned long long>(rss),
              static_cast<unsigned long long>(file_bytes(path)));
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: soak_worker STORE_FILE RUNS SAMPLES\n");
    return 2;
  }
  return holdfast::run(argv[1], std::stoul(argv[2]), std::stoul(argv[3]));
}
