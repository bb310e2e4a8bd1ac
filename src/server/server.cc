#include "server/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "embed/built_in.h"
#include "embed/credentials.h"
#include "engine/worker_pool.h"
#include "journal/open_journal.h"
#include "server/service.h"

namespace holdfast {

namespace {

constexpr std::size_t kMostReadersWait = 1000;

bool is_loopback(std::string_view address) {
  return address.starts_with("unix:") || address.starts_with("127.") ||
         address.starts_with("localhost:") || address.starts_with("[::1]:");
}

Result<void> check_doors(const ServerOptions& options, const Tokens& tokens) {
  for (const std::string& address : options.http.listen) {
    if (!is_loopback(address) && tokens.empty()) {
      return Error{ErrorCode::permission_denied,
                   fmt::format("{} can be reached from other machines, and the store has no "
                               "tokens: everybody could do everything. Make one first: holdfast "
                               "token create --role admin --name NAME --store {}",
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

// Tells those who count and those who listen.
class Watcher final : public CommitObserver {
 public:
  Watcher(Metrics& metrics, std::function<void(const Error&)> failed)
      : metrics_(metrics), failed_(std::move(failed)) {}

  void committed(const CommitReport& report) override { metrics_.committed(report); }
  void reached(Position position) override {
    if (EventFeed* events = events_.load()) {
      events->reached(position);
    }
  }
  void stopped(const Error& why) override {
    if (failed_ != nullptr) {
      failed_(why);
    }
  }
  void tell(EventFeed* events) { events_ = events; }

 private:
  Metrics& metrics_;
  std::function<void(const Error&)> failed_;
  std::atomic<EventFeed*> events_ = nullptr;
};

// Carries out http and exec steps in this process.
class LocalWorker {
 public:
  LocalWorker(Loop& loop, std::size_t threads) {
    if (threads == 0) {
      return;
    }
    auto handlers = std::make_shared<const HandlerTable>(built_in_handlers(environment_credential));
    PoolOptions options;
    options.threads = threads;
    pool_ = WorkerPool::create(loop, std::move(handlers), {}, options);
    thread_ = std::thread([this] { static_cast<void>(pool_->run(stop_.get_token()).ok()); });
  }
  ~LocalWorker() { stop(); }
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  // What was claimed is still carried out.
  void stop() {
    stop_.request_stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  std::stop_source stop_;
  std::shared_ptr<WorkerPool> pool_;
  std::thread thread_;
};

class RunningServer final : public Server {
 public:
  RunningServer(Clock& clock, Random& random, ServerLog& log,
                std::function<void(const Error&)> failed)
      : clock_(clock), random_(random), log_(log), watcher_(metrics_, std::move(failed)) {}
  ~RunningServer() override { stop(std::chrono::milliseconds(0)); }

  Result<void> open(const ServerOptions& options) {
    HOLDFAST_TRY(auto journal, open_journal(options.store, OpenMode::create, clock_, random_));
    LoopOptions loop;
    const std::string owner = process_name();
    loop.owner = owner;
    loop.observer = &watcher_;
    HOLDFAST_TRY(loop_, Loop::open(std::move(journal), clock_, random_, loop));
    HOLDFAST_CHECK(check_doors(options, *loop_->tokens()));
    service_ = std::unique_ptr<Service>(new Service{
        .loop = *loop_,
        .clock = clock_,
        .random = random_,
        .log = log_,
        .metrics = metrics_,
        .door = DoorKeeper(clock_, options.max_rate),
        .questions = RunQuestions(clock_, random_, SharedText("server")),
        .alarm = {},
        .readers = Readers(options.readers, kMostReadersWait),
        .workers = {},
        .polls = {},
        .waiters = {},
        .events = EventFeed(loop_->journal(), log_),
        .version = options.version,
        .store = options.shown_store,
        .started_at = clock_.now(),
    });
    HOLDFAST_TRY(const JournalStat stat, loop_->journal().stat());
    service_->events.reached(stat.head);
    watcher_.tell(&service_->events);
    loop_->keep_watching();
    HOLDFAST_TRY(http_, net::HttpServer::start(options.http, [this](net::ExchangePtr exchange) {
                   serve(*service_, exchange);
                 }));
    service_->http = [this] { return http_->counters(); };
    worker_ = std::make_unique<LocalWorker>(*loop_, options.worker_threads);
    return {};
  }

  [[nodiscard]] std::vector<std::string> urls() const override { return http_->urls(); }
  [[nodiscard]] bool has_tokens() const override { return !loop_->tokens()->empty(); }

  bool stop(std::chrono::milliseconds grace) override {
    if (std::exchange(stopped_, true)) {
      return true;
    }
    bool in_time = true;
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
    watcher_.tell(nullptr);
    return in_time;
  }

 private:
  Clock& clock_;
  Random& random_;
  ServerLog& log_;
  Metrics metrics_;
  Watcher watcher_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<LocalWorker> worker_;
  bool stopped_ = false;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Clock& clock,
                                              Random& random, ServerLog& log) {
  auto server = std::make_unique<RunningServer>(clock, random, log, options.failed);
  HOLDFAST_CHECK(server->open(options));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace holdfast
