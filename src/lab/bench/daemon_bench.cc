// The benchmark of a daemon: sends beside one-row inserts, the way of a message from a program to a
// program, and the rate at which an outbox empties after an outage.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "base/json_value.h"
#include "base/threads.h"
#include "delivery/broker/broker_store.h"
#include "lab/bench/bench_cases.h"
#include "lab/bench/bench_folder.h"
#include "lab/bench/bench_process.h"
#include "lab/bench/bench_run.h"
#include "lab/bench/bench_server.h"
#include "lab/bench/broker_sample.h"
#include "lab/bench/wire_protocols.h"
#include "net/http_client.h"
#include "storage/sqlite/sqlite_db.h"

namespace holdfast {

namespace {

constexpr std::array<std::size_t, 3> kCallers{1, 8, 64};
constexpr int kLookAgainMs = 2;
constexpr int kMostLooks = 300'000;

// A daemon process in a folder of its own, with the unix socket only.
class BenchDaemon {
 public:
  static Result<std::unique_ptr<BenchDaemon>> start(const std::string& program,
                                                    const std::string& home,
                                                    const std::string& broker_url) {
    if (::mkdir(home.c_str(), 0700) != 0) {
      return Error{ErrorCode::io_error, "cannot create " + home};
    }
    const auto write = [&](const std::string& name, const std::string& text) {
      std::ofstream(home + "/" + name) << text;
    };
    write("config.json", fmt::format(R"({{"brokers":["{}"],"workspace":"{}","tcp":"off",)"
                                     R"("initial_backoff_ms":50,"max_backoff_ms":200}})",
                                     broker_url, kBenchMesh));
    write("member.json", fmt::format(R"({{"name":"sender","pubkey":"{}","token":"{}"}})",
                                     BrokerSample::sender_key(), kBenchToken));
    std::unique_ptr<BenchDaemon> daemon(new BenchDaemon(home));
    HOLDFAST_TRY(daemon->process_,
                 BenchProcess::start({program, "daemon", "up", "--foreground", "--home", home}, {},
                                     home + "/log"));
    daemon->process_->end_with(SIGTERM);
    for (int i = 0; i < kMostLooks; ++i) {
      if (connect_to_socket(daemon->socket()).ok()) {
        net::Url url;
        url.kind = net::Url::Kind::unix_socket;
        url.path = daemon->socket();
        HOLDFAST_TRY(daemon->http_, net::HttpClient::create(std::move(url), {}));
        return daemon;
      }
      ::poll(nullptr, 0, kLookAgainMs);
    }
    return Error{ErrorCode::unavailable, "the daemon does not listen; its log is in " + home};
  }

  [[nodiscard]] std::string socket() const { return home_ + "/sock"; }

  Result<std::string> call(std::string_view method, std::string_view path,
                           std::string_view body = {}) {
    net::HttpCall call;
    call.method = method;
    call.target = path;
    if (method == "POST") {
      call.body = body;
      call.content_type = "application/json";
    }
    net::HttpOutcome outcome = http_->send(call);
    constexpr int kFirstRefused = 300;
    return outcome.kind == net::HttpOutcome::Kind::answered && outcome.status < kFirstRefused
               ? Result<std::string>(std::move(outcome.body))
               : Error{ErrorCode::unavailable,
                       fmt::format("{} {}: {} {}", method, path, outcome.status, outcome.body)};
  }

  // Until `condition` holds of the health.
  template <typename Condition>
  Result<void> wait_until(const Condition& condition) {
    for (int i = 0; i < kMostLooks; ++i) {
      HOLDFAST_TRY(const std::string body, call("GET", "/v1/health"));
      HOLDFAST_TRY(const Json health, Json::parse(body));
      if (condition(health)) {
        return {};
      }
      ::poll(nullptr, 0, kLookAgainMs);
    }
    return Error{ErrorCode::unavailable, "the daemon does not reach the state in time"};
  }

  net::HttpClient& http() { return *http_; }

 private:
  explicit BenchDaemon(std::string home) : home_(std::move(home)) {}

  std::string home_;
  std::unique_ptr<BenchProcess> process_;
  std::unique_ptr<net::HttpClient> http_;
};

bool is_empty(const Json& health) {
  return health.integer("queue_depth") == 0 && health.integer("inflight") == 0;
}

struct DaemonRun {
  const BenchmarkOptions& options;
  BenchContext& context;
  BenchFolder folder;

  [[nodiscard]] bool quick() const { return options.quick(); }
  void add(std::string name, double value, std::string_view unit,
           std::optional<double> limit = std::nullopt) const {
    context.report.add({std::move(name), value, std::string(unit), limit});
  }
  [[nodiscard]] std::string path(std::string_view name) const {
    return fmt::format("{}/{}", folder.path(), name);
  }
  // Messages to a topic in a lane of its own, each with the number that the load gives it.
  [[nodiscard]] static std::unique_ptr<WireProtocol> sends(std::string_view lane) {
    return http_sends(
        fmt::format(R"({{"to":"#fan-out-1","ordering_key":"{}","client_message_id":"{}-)", lane,
                    lane),
        fmt::format(R"(","message":"{}"}})", BrokerSample::payload()));
  }
  // A broker on a store of this name, which is made when it does not exist. port: 0 for any.
  Result<std::unique_ptr<BenchServer>> broker(std::string_view name, std::uint16_t port = 0) {
    const std::string url = fmt::format("sqlite:{}", path(name));
    {
      HOLDFAST_TRY(const auto store, delivery::open_broker_store(url));
      BrokerSample sample(context.clock, context.random);
      HOLDFAST_CHECK(sample.populate(*store));
    }
    return BenchServer::start(options.program, {"broker", "serve", "--store", url, "--listen",
                                                fmt::format("127.0.0.1:{}", port)});
  }
};

// The limit: rows of the same bytes, one statement each, in transactions of as many as there are
// callers.
class RawInserts {
 public:
  static Result<std::unique_ptr<RawInserts>> open(const std::string& path) {
    std::unique_ptr<RawInserts> raw(new RawInserts);
    HOLDFAST_TRY(raw->db_, SqliteDb::open(path, SqliteAccess::create, "", std::chrono::seconds(5)));
    HOLDFAST_CHECK(raw->db_->query_text("PRAGMA journal_mode = WAL"));
    HOLDFAST_CHECK(raw->db_->exec(
        "PRAGMA synchronous = FULL; CREATE TABLE sent(seq INTEGER PRIMARY KEY, id TEXT NOT NULL "
        "UNIQUE, client_message_id TEXT NOT NULL UNIQUE, fingerprint BLOB NOT NULL, payload BLOB "
        "NOT NULL, enqueued_at INTEGER NOT NULL, status TEXT NOT NULL) STRICT; "
        "CREATE INDEX sent_status ON sent(status, seq)"));
    HOLDFAST_TRY(auto insert, raw->db_->prepare("INSERT INTO sent(id, client_message_id, "
                                                "fingerprint, payload, enqueued_at, status) "
                                                "VALUES (?1, ?2, ?3, ?4, ?5, 'pending')"));
    raw->insert_.emplace(std::move(insert));
    return raw;
  }

  Result<double> run(std::uint64_t rows, std::size_t group) {
    const std::string payload = BrokerSample::payload();
    const std::string fingerprint(32, 'f');
    const Stopwatch watch;
    for (std::uint64_t done = 0; done < rows; done += group) {
      HOLDFAST_CHECK(db_->exec("BEGIN IMMEDIATE"));
      for (std::size_t i = 0; i < group; ++i) {
        const std::string id = fmt::format("01JD3ZK8Q6{:016}", ++number_);
        insert_->bind_text(1, id).bind_text(2, id).bind_blob(3, fingerprint);
        insert_->bind_blob(4, payload).bind(5, static_cast<std::int64_t>(number_));
        HOLDFAST_CHECK(insert_->run());
      }
      HOLDFAST_CHECK(db_->exec("COMMIT"));
      HOLDFAST_CHECK(db_->checkpoint_if_longer(1000));
    }
    return watch.rate(rows);
  }

 private:
  RawInserts() = default;
  std::unique_ptr<SqliteDb> db_;
  std::optional<SqliteStatement> insert_;
  std::uint64_t number_ = 0;
};

// Without a broker: what is measured is the way into the outbox.
Result<void> bench_sends(DaemonRun& run) {
  HOLDFAST_TRY(const auto daemon,
               BenchDaemon::start(run.options.program, run.path("sends"), "http://127.0.0.1:9"));
  HOLDFAST_TRY(const auto raw, RawInserts::open(run.path("raw.db")));
  const int rounds = run.quick() ? 2 : 7;
  for (const std::size_t callers : kCallers) {
    const std::uint64_t requests = run.quick() ? 64 : (callers == 1 ? 400 : 4096);
    HOLDFAST_TRY(const auto load,
                 WireLoad::connect(daemon->socket(), DaemonRun::sends(fmt::format("s-{}", callers)),
                                   callers));
    std::vector<double> rates;
    std::vector<double> limits;
    std::vector<double> latencies;
    HOLDFAST_CHECK(load->run(requests, 0));
    HOLDFAST_CHECK(raw->run(requests, callers));
    for (int round = 1; round <= rounds; ++round) {
      HOLDFAST_TRY(const WireSlice slice,
                   load->run(requests, static_cast<std::uint64_t>(round) * requests));
      rates.push_back(slice.per_second);
      latencies.insert(latencies.end(), slice.latencies_us.begin(), slice.latencies_us.end());
      HOLDFAST_TRY(const double limit, raw->run(requests, callers));
      limits.push_back(limit);
    }
    const std::string name = fmt::format("send_{}_callers", callers);
    run.add(name, median(rates), "sends/s", median(limits));
    run.add(name + "_p50", quantile(latencies, 0.5), "us");
    run.add(name + "_p99", quantile(latencies, 0.99), "us");
  }
  return {};
}

// From the call of a program to the event of a program, through daemon, broker and daemon: one
// message after the other.
Result<void> bench_way(DaemonRun& run) {
  HOLDFAST_TRY(const auto broker, run.broker("way.db"));
  HOLDFAST_TRY(const auto daemon,
               BenchDaemon::start(run.options.program, run.path("way"), broker->url()));
  HOLDFAST_CHECK(daemon->wait_until([](const Json& health) {
    return health.text("receiving") == "websocket" && health.find("connected")->boolean() == true;
  }));
  const std::size_t messages = run.quick() ? 20 : 500;
  std::vector<double> latencies;
  Stopwatch sent;
  Result<void> failed;
  const auto send_next = [&]() -> bool {
    const std::string body = fmt::format(R"({{"to":"{}","message":"{}"}})",
                                         BrokerSample::sender_key(), BrokerSample::payload());
    sent = Stopwatch();
    const auto answer = daemon->call("POST", "/v1/send", body);
    if (!answer.ok()) {
      failed = answer.error();
    }
    return answer.ok();
  };
  const auto receive = [&](const net::ServerEvent& event) {
    if (event.event != "message") {
      return true;
    }
    latencies.push_back(sent.seconds() * 1e6);
    return latencies.size() < messages && send_next();
  };
  // The first message is sent before the stream begins, and read from the inbox.
  if (send_next()) {
    net::HttpCall call;
    call.target = "/v1/events?after=0";
    static_cast<void>(daemon->http().events(call, std::chrono::seconds(60), receive, {}));
  }
  HOLDFAST_CHECK(failed);
  if (latencies.size() < messages) {
    return Error{ErrorCode::unavailable, "a message did not arrive within a minute"};
  }
  latencies.erase(latencies.begin());
  run.add("way_p50", quantile(latencies, 0.5), "us");
  run.add("way_p99", quantile(latencies, 0.99), "us");
  return {};
}

// An outbox that filled while no broker could be reached. A lane has one message on its way at a
// time.
Result<void> drain_lanes(DaemonRun& run, std::size_t lanes, std::uint64_t messages) {
  const std::string name =
      lanes == 1 ? std::string("drain_one_lane") : fmt::format("drain_{}_lanes", lanes);
  HOLDFAST_TRY(const std::uint16_t port, free_loopback_port());
  HOLDFAST_TRY(const auto daemon, BenchDaemon::start(run.options.program, run.path(name),
                                                     fmt::format("http://127.0.0.1:{}", port)));
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    HOLDFAST_TRY(const auto load,
                 WireLoad::connect(daemon->socket(), DaemonRun::sends(fmt::format("d-{}", lane)),
                                   kCallers.back()));
    HOLDFAST_CHECK(load->run(messages / lanes, 0));
  }
  HOLDFAST_TRY(const auto broker, run.broker(name + ".db", port));
  HOLDFAST_CHECK(daemon->wait_until(
      [&](const Json& health) { return health.find("connected")->boolean() == true; }));
  const Stopwatch watch;
  HOLDFAST_CHECK(daemon->wait_until(is_empty));
  run.add(name, watch.rate(messages / lanes * lanes), "messages/s");
  return {};
}

Result<void> bench_drain(DaemonRun& run) {
  const std::uint64_t usual = run.quick() ? 64 : 100'000;
  const std::uint64_t messages = run.options.entries != 0 ? run.options.entries : usual;
  constexpr std::uint64_t kOneLane = 50;  // takes as long as many lanes with more messages
  HOLDFAST_CHECK(drain_lanes(run, 1, std::max<std::uint64_t>(messages / kOneLane, 16)));
  return drain_lanes(run, 16, messages);
}

constexpr std::array<BenchCase<DaemonRun>, 3> kDaemonCases{{
    {"send", "sends on the unix socket against one-row inserts", bench_sends},
    {"way", "messages from a program to a program", bench_way},
    {"drain", "an outbox that empties after an outage", bench_drain},
}};

}  // namespace

Result<std::string> run_daemon_bench(const BenchmarkOptions& options, BenchContext& context) {
  HOLDFAST_TRY(BenchFolder folder, BenchFolder::create());
  DaemonRun run{options, context, std::move(folder)};
  HOLDFAST_CHECK(run_cases(kDaemonCases, options.only, run));
  return std::string();
}

}  // namespace holdfast
