#include "apps/server/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "apps/server/server_problem.h"
#include "apps/server/service.h"
#include "apps/server/step_log.h"
#include "base/retry_pause.h"
#include "base/threads.h"
#include "runs/engine/worker_pool.h"
#include "runs/service/engine_handlers.h"
#include "runs/steps/credentials.h"
#include "storage/journal/open_journal.h"

namespace holdfast {

namespace {

constexpr std::size_t kMostReadersWait = 1000;

bool is_loopback(std::string_view address) {
  return address.starts_with("unix:") || address.starts_with("127.") ||
         address.starts_with("localhost:") || address.starts_with("[::1]:");
}

Result<void> check_exposure(const ServerOptions& options, const Tokens& tokens) {
  for (const std::string& address : options.http.listen) {
    if (!is_loopback(address) && tokens.empty()) {
      return Error{ErrorCode::permission_denied,
                   fmt::format("{}: other machines can reach this address and the store has no "
                               "tokens, so every caller could do everything. Create a token "
                               "first: holdfast token create --role admin --name NAME --store {}",
                               address, options.shown_store)}
          .with("address", address);
    }
  }
  return {};
}

std::string process_name() {
  std::array<char, 65> host{};
  const bool known = gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0';
  return fmt::format("{}-{}", known ? host.data() : "host", getpid());
}

// Callers may learn the kind of the store, not its location.
std::string kind_of(std::string_view url) {
  return url.starts_with("postgres") ? "postgres" : std::string(url.substr(0, url.find(':')));
}

// Forwards commits to metrics, step log and event feed.
class ServerObserver final : public CommitObserver {
 public:
  ServerObserver(Metrics& metrics, StepLog& step_log, ServerLog& log,
                 std::function<void(const Error&)> failed)
      : metrics_(metrics), step_log_(step_log), log_(log), failed_(std::move(failed)) {}

  void committed(const CommitReport& report) override {
    metrics_.committed(report);
    step_log_.add(report.lines);
  }
  void reached(Position position) override {
    if (EventFeed* events = events_.load()) {
      events->reached(position);
    }
  }
  void store_unavailable(const Error& why) override {
    log_.write(LogLevel::warning, "store unavailable; retrying", {{"why", why.text()}});
  }
  void store_returned(std::chrono::milliseconds away) override {
    log_.write(LogLevel::info, "store available again",
               {{"away_ms", std::to_string(away.count())}});
  }
  void stopped(const Error& why) override {
    if (failed_ != nullptr) {
      failed_(why);
    }
  }
  void set_events(EventFeed* events) { events_ = events; }

 private:
  Metrics& metrics_;
  StepLog& step_log_;
  ServerLog& log_;
  std::function<void(const Error&)> failed_;
  std::atomic<EventFeed*> events_ = nullptr;
};

// Executes http and exec steps in this process.
class LocalWorker {
 public:
  ~LocalWorker() { stop(); }
  LocalWorker() = default;
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  Result<void> start(Loop& loop, std::size_t threads) {
    auto handlers = std::make_shared<const HandlerTable>(built_in_handlers(environment_credential));
    PoolOptions options;
    options.threads = threads;
    pool_ = WorkerPool::create(loop, std::move(handlers), {}, options);
    std::promise<Result<void>> ready;
    std::future<Result<void>> started = ready.get_future();
    HOLDFAST_CHECK(
        thread_.start([this, ready = std::make_shared<decltype(ready)>(std::move(ready))] {
          bool running = false;
          const Result<void> worked = pool_->run(stop_.get_token(), [&] {
            running = true;
            ready->set_value({});
          });
          if (!running) {
            ready->set_value(worked);
          }
        }));
    return started.get();
  }

  // Claimed attempts are still executed.
  void stop() {
    stop_.request_stop();
    thread_.join();
  }

 private:
  std::stop_source stop_;
  std::shared_ptr<WorkerPool> pool_;
  ThreadGroup thread_;
};

// Serves requests until the store is available for the first time.
void serve_without_store(const net::ExchangePtr& exchange) {
  const std::string_view path = exchange->request().path;
  const Error unavailable(ErrorCode::unavailable, "the store is unavailable; nothing was done");
  net::Response response = problem_response(unavailable);
  if (path == "/healthz") {
    response = net::Response{};
    response.body = "{\"status\":\"ok\"}\n";
  } else if (path == "/readyz") {
    response.content_type = net::Response{}.content_type;
    response.body =
        "{\"ready\":false,\"reason\":\"the store has not been available yet (unavailable); the "
        "server keeps trying\"}\n";
  }
  exchange->reply(std::move(response));
}

class RunningServer final : public Server {
 public:
  RunningServer(const ServerOptions& options, Clock& clock, Random& random, ServerLog& log)
      : options_(options),
        clock_(clock),
        random_(random),
        log_(log),
        step_log_(log, clock),
        observer_(metrics_, step_log_, log, options.failed) {}
  ~RunningServer() override { stop(std::chrono::milliseconds(0)); }

  // While the store is unavailable the server listens and is not ready.
  Result<void> open() {
    for (const std::string& address : options_.http.listen) {
      HOLDFAST_CHECK(net::check_address(address));
    }
    HOLDFAST_CHECK(step_log_.started());
    const Result<void> opened = open_store();
    const bool later = !opened.ok() && opened.error().code() == ErrorCode::unavailable;
    if (!opened.ok() && !later) {
      return opened;
    }
    HOLDFAST_TRY(http_, net::HttpServer::start(options_.http, [this](net::ExchangePtr exchange) {
                   if (Service* service = ready_.load()) {
                     serve(*service, exchange);
                   } else {
                     serve_without_store(exchange);
                   }
                 }));
    if (later) {
      log_.write(LogLevel::warning, "store unavailable; retrying",
                 {{"why", opened.error().text()}});
      return opener_.start([this] { open_later(opener_stops_.get_token()); });
    }
    return begin();
  }

  [[nodiscard]] std::vector<std::string> urls() const override { return http_->urls(); }
  [[nodiscard]] bool has_tokens() const override {
    const Service* service = ready_.load();
    return service == nullptr || !service->loop.tokens()->empty();
  }

  bool stop(std::chrono::milliseconds grace) override {
    if (std::exchange(stopped_, true)) {
      return true;
    }
    bool in_time = true;
    opener_stops_.request_stop();
    opener_.join();
    if (service_ != nullptr) {
      service_->draining = true;
      service_->polls.end_all();
      service_->waiters.end_all();
      service_->events.stop();
    }
    if (http_ != nullptr) {
      in_time = http_->drain(grace);
    }
    worker_.reset();
    lease_observer_.attach(nullptr);
    if (service_ != nullptr && service_->leases != nullptr) {
      service_->leases->stop();
    }
    if (http_ != nullptr) {
      http_->stop();
    }
    if (service_ != nullptr) {
      service_->alarm.stop();
      service_->readers.stop();
    }
    if (loop_ != nullptr) {
      loop_->close();
    }
    observer_.set_events(nullptr);
    return in_time;
  }

 private:
  Result<void> open_store() {
    HOLDFAST_TRY(auto journal, open_journal(options_.store, OpenMode::create, clock_, random_));
    LoopOptions loop;
    const std::string owner = process_name();
    loop.owner = owner;
    HOLDFAST_TRY(loop.core.carried_queues, bound_queues(options_.backends));
    loop.observer =
        options_.backends.empty() ? static_cast<CommitObserver*>(&observer_) : &lease_observer_;
    HOLDFAST_TRY(loop_, Loop::open(std::move(journal), clock_, random_, loop));
    HOLDFAST_CHECK(check_exposure(options_, *loop_->tokens()));
    HOLDFAST_TRY(const JournalStat stat, loop_->journal().stat());
    service_ = std::unique_ptr<Service>(new Service{
        .loop = *loop_,
        .leases = nullptr,
        .clock = clock_,
        .random = random_,
        .log = log_,
        .metrics = metrics_,
        .authenticator = Authenticator(clock_, options_.max_rate),
        .auth_failures = AuthFailures(clock_, {.per_minute = options_.max_auth_failures}),
        .commands = RunCommands(clock_, random_, SharedText("server")),
        .alarm = {},
        .readers = Readers(options_.readers, kMostReadersWait),
        .workers = {},
        .polls = {},
        .waiters = {},
        .events = EventFeed(loop_->journal(), log_),
        .gauges = {},
        .version = options_.version,
        .store = kind_of(options_.store),
        .started_at = clock_.now(),
    });
    HOLDFAST_CHECK(service_->alarm.started());
    HOLDFAST_CHECK(service_->readers.started());
    HOLDFAST_CHECK(service_->events.started());
    service_->events.reached(stat.head);
    observer_.set_events(&service_->events);
    loop_->keep_watching();
    return {};
  }

  Result<void> begin() {
    service_->http = [this] { return http_->counters(); };
    if (!options_.backends.empty()) {
      HOLDFAST_TRY(service_->leases, LeaseAdapters::start(*loop_, options_.backends));
      lease_observer_.attach(service_->leases.get());
    }
    if (options_.worker_threads > 0) {
      worker_ = std::make_unique<LocalWorker>();
      HOLDFAST_CHECK(worker_->start(*loop_, options_.worker_threads));
    }
    ready_ = service_.get();
    return {};
  }

  void open_later(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    RetryPause pause(random_);
    for (;;) {
      std::unique_lock lock(mutex);
      stopped.wait_for(lock, stop, pause.next(), [] { return false; });
      if (stop.stop_requested()) {
        return;
      }
      Result<void> opened = open_store();
      if (opened.ok()) {
        opened = begin();
      }
      if (opened.ok()) {
        log_.write(LogLevel::info, "store available");
        return;
      }
      if (opened.error().code() != ErrorCode::unavailable) {
        observer_.stopped(opened.error());
        return;
      }
    }
  }

  const ServerOptions options_;
  Clock& clock_;
  Random& random_;
  ServerLog& log_;
  Metrics metrics_;
  StepLog step_log_;
  ServerObserver observer_;
  LeaseObserver lease_observer_{&observer_};
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Service> service_;
  std::atomic<Service*> ready_ = nullptr;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<LocalWorker> worker_;
  std::stop_source opener_stops_;
  ThreadGroup opener_;
  bool stopped_ = false;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Clock& clock,
                                              Random& random, ServerLog& log) {
  auto server = std::make_unique<RunningServer>(options, clock, random, log);
  HOLDFAST_CHECK(server->open());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace holdfast
