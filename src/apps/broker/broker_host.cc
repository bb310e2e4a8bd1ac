#include "apps/broker/broker_host.h"

#include <fmt/format.h>

#include <utility>

#include "base/quote.h"
#include "delivery/broker/mapped_limiter.h"
#include "delivery/broker/redis_limiter.h"
#include "delivery/broker/sqlite_broker_file.h"
#include "storage/postgres/postgres_url.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMostWaiting = 1000;
// One message may wake the polls of all connections.
constexpr std::size_t kMostReceivers = 20'000;
constexpr std::size_t kMostPollsOfMember = 16;
constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kMemory = "memory";

// What follows the scheme of a PostgreSQL URL; empty: it is not one.
std::string_view postgres_rest(std::string_view url) {
  for (const std::string_view scheme : {"postgres://", "postgresql://"}) {
    if (url.starts_with(scheme)) {
      return url.substr(scheme.size());
    }
  }
  return {};
}

bool is_redis(std::string_view limiter) { return limiter.starts_with("redis"); }

// Beside the file of the store, or in the current directory.
Result<std::string> limiter_file(const BrokerHostOptions& options) {
  const std::string_view limiter = options.limiter;
  if (limiter != kMemory && !limiter.starts_with("memory:")) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("unknown limiter {}; use memory, memory:PATH or redis://HOST", quote(limiter))}
        .with("field", "limiter");
  }
  if (!postgres_rest(options.store).empty() && options.brokers == BrokerCount::several) {
    return Error{ErrorCode::invalid_argument,
                 "the limiter memory counts for one broker, and several may use a PostgreSQL "
                 "database: use --limiter redis://HOST, or --single if this is the only one"}
        .with("field", "limiter");
  }
  if (limiter != kMemory) {
    return std::string(limiter.substr(kMemory.size() + 1));
  }
  return options.store.starts_with(kSqlite) ? options.store.substr(kSqlite.size()) + "-limits"
                                            : std::string("broker-limits");
}

// What would create a file comes after the store is open.
Result<std::unique_ptr<RateLimiter>> open_limiter(const BrokerHostOptions& options) {
  if (is_redis(options.limiter)) {
    HOLDFAST_TRY(auto limiter, RedisLimiter::open(options.limiter));
    return std::unique_ptr<RateLimiter>(std::move(limiter));
  }
  HOLDFAST_TRY(const std::string file, limiter_file(options));
  HOLDFAST_TRY(auto limiter, MappedLimiter::open(file));
  return std::unique_ptr<RateLimiter>(std::move(limiter));
}

// Before anything is opened.
Result<void> check_limiter(const BrokerHostOptions& options) {
  if (is_redis(options.limiter)) {
    HOLDFAST_CHECK(RedisLimiter::open(options.limiter));
  } else {
    HOLDFAST_CHECK(limiter_file(options));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<BrokerStore>> open_broker_store(const std::string& url,
                                                       const FaultHook& fault) {
  BrokerStoreOptions options;
  options.fault = fault;
  if (const std::string_view rest = postgres_rest(url); !rest.empty()) {
    HOLDFAST_TRY(const PostgresUrl parsed, parse_postgres_url(rest));
    return open_postgres_broker_store(parsed, options);
  }
  if (url.starts_with(kSqlite) && url.size() > kSqlite.size()) {
    return open_sqlite_broker_store(url.substr(kSqlite.size()), options);
  }
  return Error{ErrorCode::invalid_url,
               "the store of a broker is sqlite:PATH or postgres://USER@HOST/DATABASE"};
}

Result<std::unique_ptr<BrokerStore>> open_broker_snapshot(const std::string& url) {
  return url.starts_with(kSqlite) && url.size() > kSqlite.size()
             ? open_sqlite_broker_snapshot(url.substr(kSqlite.size()))
             : open_broker_store(url);
}

BrokerHost::BrokerHost(const BrokerHostOptions& options, Clock& clock, Random& random,
                       ServerLog& log)
    : clock_(clock),
      random_(random),
      log_(log),
      receives_(std::make_unique<Readers>(options.delivery_threads, kMostReceivers)),
      reads_(std::make_unique<Readers>(options.read_threads, kMostWaiting)) {}

Result<std::unique_ptr<BrokerHost>> BrokerHost::start(const BrokerHostOptions& options,
                                                      Clock& clock, Random& random,
                                                      ServerLog& log) {
  std::unique_ptr<BrokerHost> host(new BrokerHost(options, clock, random, log));
  HOLDFAST_CHECK(host->open(options));
  return host;
}

Result<void> BrokerHost::open(const BrokerHostOptions& options) {
  HOLDFAST_CHECK(receives_->started());
  HOLDFAST_CHECK(reads_->started());
  HOLDFAST_CHECK(check_limiter(options));
  HOLDFAST_TRY(store_, open_broker_store(options.store, options.fault));
  if (const std::string_view rest = postgres_rest(options.store); !rest.empty()) {
    HOLDFAST_TRY(PostgresUrl url, parse_postgres_url(rest));
    HOLDFAST_TRY(link_, PostgresCommitLink::start(std::move(url), store_->commits()));
  }
  HOLDFAST_TRY(limiter_, open_limiter(options));
  broker_ = std::make_unique<Broker>(*store_, *limiter_, clock_, random_);
  deliveries_ = std::make_unique<Deliveries>(*store_, clock_, random_, options.deliveries);
  queues_ = std::make_unique<Queues>(*store_, clock_, random_);
  const auto serve = [this](const DeliveryPollPtr& poll) { serve_poll(poll); };
  polls_ =
      std::make_unique<DeliveryPolls>(*store_, clock_, find_member_news, kMostPollsOfMember, serve);
  queue_polls_ =
      std::make_unique<DeliveryPolls>(*store_, clock_, find_queue_news, kMostReceivers, serve);
  watcher_.emplace(store_->commits(), [this](CommitOrigin) {
    polls_->changed();
    queue_polls_->changed();
  });
  service_ = std::unique_ptr<BrokerService>(new BrokerService{
      .store = *store_,
      .clock = clock_,
      .random = random_,
      .metrics = metrics_,
      .broker = broker_.get(),
      .admin_token_hash =
          options.admin_token.empty() ? std::nullopt : std::optional(sha256(options.admin_token)),
      .dedupe = options.dedupe,
      .deliveries = deliveries_.get(),
      .queues = queues_.get(),
      .polls = polls_.get(),
      .queue_polls = queue_polls_.get()});
  push_ = std::make_unique<PushHub>(
      *service_, log_, options.push,
      [this](std::function<void()> work) { return receives_->run(std::move(work)); });
  service_->push = push_.get();
  push_watcher_.emplace(store_->commits(), [this](CommitOrigin) { push_->commits_changed(); });
  HOLDFAST_CHECK(push_->start());
  HOLDFAST_CHECK(start_webhooks(options));
  messages_ = std::make_unique<MessageLoop>(
      *service_, [this](std::vector<ServedRequest> served) { give_all(std::move(served)); });
  HOLDFAST_CHECK(messages_->start());
  HOLDFAST_CHECK(polls_->start());
  HOLDFAST_CHECK(queue_polls_->start());
  jobs_ = std::make_unique<BrokerJobs>(*service_, log_, options.jobs);
  return jobs_->start();
}

Result<void> BrokerHost::start_webhooks(const BrokerHostOptions& options) {
  WebhookOptions webhooks = options.webhooks;
  webhooks.several = link_ != nullptr;
  HOLDFAST_TRY(webhooks_, WebhookSender::create(*store_, clock_, random_, log_, webhooks));
  service_->webhooks = webhooks_.get();
  webhook_watcher_.emplace(store_->commits(),
                           [this](CommitOrigin) { webhooks_->commits_changed(); });
  return webhooks_->start();
}

// One line a second: when a store is full or away, every repeat of every message fails.
void BrokerHost::log_failure(const net::Request& request, const Served& served) {
  if (served.failure.empty()) {
    return;
  }
  std::uint64_t more = 0;
  {
    const std::lock_guard lock(failures_mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_failure_line_) {
      ++failures_not_logged_;
      return;
    }
    next_failure_line_ = now + std::chrono::seconds(1);
    more = std::exchange(failures_not_logged_, 0);
  }
  log_.write(LogLevel::warning, "a request failed",
             {{"method", request.method},
              {"path", request.path},
              {"status", std::to_string(served.response.status)},
              {"why", served.failure},
              {"others_before", std::to_string(more)}});
}

void BrokerHost::give_all(std::vector<ServedRequest> served) {
  std::vector<net::Reply> replies;
  replies.reserve(served.size());
  for (ServedRequest& one : served) {
    log_failure(one.exchange->request(), one.served);
    replies.push_back({std::move(one.exchange), std::move(one.served.response)});
  }
  net::reply_all(std::move(replies));
  for (std::size_t i = 0; i < served.size(); ++i) {
    static_cast<void>(store_->reach(FaultPoint::replied));
  }
}

void BrokerHost::serve(const net::ExchangePtr& exchange) {
  if (exchange->request().path == kPushPath) {
    push_->open(exchange);
  } else if (is_message(exchange->request())) {
    messages_->add(exchange);
  } else if (is_delivery(exchange->request())) {
    serve_poll(std::make_shared<DeliveryPoll>(DeliveryPoll{.exchange = exchange}));
  } else {
    serve_other(exchange);
  }
}

void BrokerHost::serve_other(const net::ExchangePtr& exchange) {
  const auto taken = reads_->run([this, exchange] {
    give_all({{exchange, serve_request(*service_, exchange->request())}});
  });
  if (!taken.ok()) {
    exchange->reply(busy_response());
  }
}

// One that has waited is served again from the beginning: its token may have been revoked.
void BrokerHost::serve_poll(const DeliveryPollPtr& poll) {
  const auto taken = receives_->run([this, poll] {
    const std::uint64_t seen = polls_->changes();
    const std::uint64_t seen_of_queues = queue_polls_->changes();
    Served served = serve_request(*service_, poll->exchange->request());
    if (served.wait.has_value()) {
      const bool of_queue = served.wait->what == DeliveryWait::For::queue;
      if (!poll->held) {
        poll->key = served.wait->key;
        poll->deadline = std::chrono::steady_clock::now() + served.wait->time;
      }
      if (served.wait->check_at.has_value()) {
        queue_polls_->check_at(*served.wait->check_at);
      }
      if (of_queue ? queue_polls_->hold(poll, seen_of_queues) : polls_->hold(poll, seen)) {
        return;
      }
    }
    log_failure(poll->exchange->request(), served);
    poll->exchange->reply(std::move(served.response));
  });
  if (!taken.ok()) {
    poll->exchange->reply(busy_response());
  }
}

void BrokerHost::release_polls() {
  if (polls_ != nullptr) {
    polls_->release();
  }
  if (queue_polls_ != nullptr) {
    queue_polls_->release();
  }
}

void BrokerHost::stop() {
  if (polls_ != nullptr) {
    polls_->stop();
  }
  if (queue_polls_ != nullptr) {
    queue_polls_->stop();
  }
  if (messages_ != nullptr) {
    messages_->stop();
  }
  receives_->stop();
  if (push_ != nullptr) {
    push_->stop();
  }
  reads_->stop();
  if (webhooks_ != nullptr) {
    webhooks_->stop();
  }
  if (jobs_ != nullptr) {
    jobs_->stop();
  }
}

}  // namespace holdfast::delivery
