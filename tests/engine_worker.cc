// A process that works on one journal, for tests that kill it.
//
// usage: engine_worker URL SIDE_FILE THREADS MODE [ACK_FILE [COUNT]]
//   work    executes attempts until SIGTERM
//   start   the same, and starts runs; writes each id to ACK_FILE once the start is durable
//   only    starts COUNT runs, executes nothing, exits
//   drain   executes attempts until no run is live
//
// Every step appends "IDEMPOTENCY_KEY OWNER CLAIM" to SIDE_FILE before its result is reported, and
// prints a line. Exit code 0 after an orderly shutdown.
#include <thread>

#include "tests/support/worker_process.h"

namespace holdfast {
namespace {

// a, then b, c and d, then e when all three are completed, then f. Some first attempts at d fail.
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

AttemptOutcome execute(const Loop& loop, const LineFile& side, const Assignment& given) {
  const std::string line =
      given.runnable_key.str() + " " + loop.owner_id().str() + " " + given.claim_id.str();
  side.add(line);
  say(line);
  return outcome_of(given);
}

Started start_one(Loop& loop, const RunId& id, const std::shared_ptr<const Definition>& workflow) {
  StartRun command;
  command.run_id = id;
  command.definition = workflow;
  return must(loop.execute<Started>(
      [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
}

void start_runs(Loop& loop, const LineFile& acks, std::size_t count, const std::stop_token& stop) {
  const auto workflow = definition();
  for (std::size_t i = 0; i < count && !stop.stop_requested(); ++i) {
    const RunId id{make_uuid(loop.clock().now(), loop.random())};
    const bool existed = start_one(loop, id, workflow).existed;
    acks.add(to_string(id));
    // A repeated start returns the same run.
    if (existed || (i % 5 == 0 && !start_one(loop, id, workflow).existed)) {
      give_up("run " + to_string(id) + " was started twice");
    }
  }
}

int run(const std::vector<std::string>& args) {
  const sigset_t term = live_with_parent();
  const std::string& mode = args[4];
  SystemClock clock;
  SystemRandom random;
  const auto loop = open_busy_loop(args[1], clock, random);
  loop->add_definition(definition());
  const LineFile side(args[2]);
  say("ready");
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
  const auto pool = WorkerPool::create(*loop, handlers, {{SharedText(kDefaultQueue)}},
                                       {.threads = std::stoul(args[3])});
  std::thread starter;
  if (mode == "start") {
    starter = std::thread(
        [&] { start_runs(*loop, LineFile(args[5]), std::stoul(args[6]), stop.get_token()); });
  }
  std::thread worker([&] {
    if (const auto ended = pool->run(stop.get_token()); !ended.ok()) {
      give_up(ended.error());
    }
  });
  wait_for_end(term, [&] {
    seal_a_little(*loop);
    return mode == "drain" && live_runs(*loop) == 0;
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
  return holdfast::run(
      holdfast::arguments(argc, argv, 5, "URL SIDE_FILE THREADS MODE [ACK_FILE COUNT]"));
}
