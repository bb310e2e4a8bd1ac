// A broker as a service, and its peers: every one a process on loopback with the same load.
#include <fmt/format.h>

#include <deque>

#include "lab/bench/bench_run.h"
#include "lab/bench/bench_server.h"
#include "lab/bench/broker_run.h"
#include "lab/bench/broker_sample.h"
#include "lab/bench/wire_protocols.h"
#include "lab/bench/wire_queues.h"

namespace holdfast {

namespace {

constexpr std::array<std::size_t, 2> kWireClients{1, 64};
constexpr int kWireRounds = 7;
constexpr int kQuickWireRounds = 2;
constexpr std::uint64_t kQuickRequests = 80;

std::string clients_text(std::size_t clients) {
  return clients == 1 ? "sequential" : fmt::format("{}_clients", clients);
}

// A service under load: the connections, and what was measured so far.
struct Subject {
  std::string name;
  std::unique_ptr<WireLoad> load;
  std::uint64_t requests;  // in a round
  std::uint64_t first_number = 0;
  std::vector<double> rates = {};
  std::vector<double> latencies_us = {};

  Result<void> measure() {
    HOLDFAST_TRY(WireSlice slice, load->run(requests, first_number));
    first_number += requests;
    rates.push_back(slice.per_second);
    latencies_us.insert(latencies_us.end(), slice.latencies_us.begin(), slice.latencies_us.end());
    return {};
  }
  Result<void> warm_up() {
    HOLDFAST_CHECK(measure());
    rates.clear();
    latencies_us.clear();
    return {};
  }
};

// In turns, because the speed of machines drifts.
Result<void> measure_in_turns(const BrokerRun& run, std::deque<Subject>& subjects) {
  for (Subject& subject : subjects) {
    HOLDFAST_CHECK(subject.warm_up());
  }
  for (int round = 0; round < (run.quick() ? kQuickWireRounds : kWireRounds); ++round) {
    for (Subject& subject : subjects) {
      HOLDFAST_CHECK(subject.measure());
    }
  }
  return {};
}

// A broker process on a store of this name.
struct BrokerService {
  BrokerStoreKind kind;
  std::unique_ptr<BenchServer> server;

  // queued: messages that wait in the queue.
  static Result<BrokerService> start(BrokerRun& run, BrokerStoreKind kind, std::string_view name,
                                     std::size_t queued = 0) {
    {
      HOLDFAST_TRY(const auto store, run.open(kind, name));
      BrokerSample sample(run.context.clock, run.context.random);
      HOLDFAST_CHECK(sample.populate(*store));
      constexpr std::size_t kGroup = 500;
      for (std::size_t sent = 0; sent < queued; sent += kGroup) {
        for (const auto& outcome : store->accept(sample.group(kGroup, 0))) {
          HOLDFAST_CHECK(outcome);
        }
      }
    }
    HOLDFAST_TRY(const std::string url, run.url(kind, name));
    const std::string limits = fmt::format("memory:{}/{}-limits", run.folder.path(), name);
    HOLDFAST_TRY(auto server,
                 BenchServer::start(run.options.program, {"broker", "serve", "--store", url,
                                                          "--single", "--limiter", limits}));
    return BrokerService{kind, std::move(server)};
  }

  // New messages, each with the number that the load gives it.
  [[nodiscard]] Result<Subject> accepts(const BrokerRun& run, std::size_t clients,
                                        std::size_t fan_out, std::uint64_t first_number) const {
    const BrokerSample::Request request = BrokerSample::request(fan_out);
    auto protocol = http_messages(kBenchToken, request.before, request.after);
    HOLDFAST_TRY(auto load, WireLoad::connect(server->port(), std::move(protocol), clients));
    const std::uint64_t requests = (clients == 1 ? 400U : 6000U) / (fan_out == 100 ? 5 : 1);
    return Subject{std::string(store_name(kind)), std::move(load),
                   run.quick() ? kQuickRequests : requests, first_number};
  }
};

Result<Subject> peer(const BrokerRun& run, std::string name, std::uint16_t port,
                     std::unique_ptr<WireProtocol> protocol, std::size_t clients) {
  HOLDFAST_TRY(auto load, WireLoad::connect(port, std::move(protocol), clients));
  return Subject{std::move(name), std::move(load),
                 run.quick() ? kQuickRequests : (clients == 1 ? 400U : 6000U)};
}

void report(const BrokerRun& run, const std::string& name, Subject& subject,
            const std::string& unit) {
  run.add(name, median(subject.rates), unit);
  run.add(name + "_p50", quantile(subject.latencies_us, 0.5), "us");
  run.add(name + "_p99", quantile(subject.latencies_us, 0.99), "us");
}

// The brokers first, then their peers: each broker beside each peer.
void report_beside(const BrokerRun& run, std::deque<Subject>& subjects, std::size_t brokers,
                   const std::string& clients) {
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    report(run, fmt::format("{}_{}", subjects[i].name, clients), subjects[i], "messages/s");
  }
  for (std::size_t i = 0; i < brokers; ++i) {
    for (std::size_t j = brokers; j < subjects.size(); ++j) {
      Subject& ours = subjects[i];
      Subject& theirs = subjects[j];
      const std::string name = fmt::format("{}_beside_{}_{}", ours.name, theirs.name, clients);
      run.add(name, median(ours.rates), "messages/s", median(theirs.rates));
      run.add(name + "_p99", quantile(ours.latencies_us, 0.99), "us",
              quantile(theirs.latencies_us, 0.99));
    }
  }
}

// Two brokers and the peers, with one client and with many.
Result<void> compare_with_peers(
    BrokerRun& run, std::string_view name,
    const std::function<Result<std::vector<Subject>>(std::size_t clients)>& peers) {
  std::vector<BrokerService> brokers;
  for (const BrokerStoreKind kind : kBrokerStoreKinds) {
    HOLDFAST_TRY(auto broker, BrokerService::start(run, kind, name));
    brokers.push_back(std::move(broker));
  }
  std::uint64_t first_number = 0;
  for (const std::size_t clients : kWireClients) {
    std::deque<Subject> subjects;
    for (const BrokerService& broker : brokers) {
      HOLDFAST_TRY(auto subject, broker.accepts(run, clients, 1, first_number));
      subjects.push_back(std::move(subject));
    }
    HOLDFAST_TRY(auto others, peers(clients));
    for (Subject& other : others) {
      subjects.push_back(std::move(other));
    }
    HOLDFAST_CHECK(measure_in_turns(run, subjects));
    first_number = subjects.front().first_number;
    report_beside(run, subjects, brokers.size(), clients_text(clients));
  }
  return {};
}

}  // namespace

Result<void> bench_wire_accepts(BrokerRun& run) {
  for (const BrokerStoreKind kind : kBrokerStoreKinds) {
    HOLDFAST_TRY(const BrokerService broker, BrokerService::start(run, kind, "http"));
    std::uint64_t first_number = 0;
    for (const std::size_t fan_out : kFanOuts) {
      for (const std::size_t clients : kWireClients) {
        std::deque<Subject> subjects;
        HOLDFAST_TRY(auto subject, broker.accepts(run, clients, fan_out, first_number));
        subjects.push_back(std::move(subject));
        HOLDFAST_CHECK(measure_in_turns(run, subjects));
        first_number = subjects.front().first_number;
        report(
            run,
            fmt::format("http_{}_fan_out_{}_{}", store_name(kind), fan_out, clients_text(clients)),
            subjects.front(), "accepts/s");
      }
    }
  }
  return {};
}

Result<void> bench_peers(BrokerRun& run) {
  HOLDFAST_TRY(const std::uint16_t redis, run.redis_port());
  HOLDFAST_TRY(const auto connection, run.connect("peer"));
  HOLDFAST_CHECK(connection->run(
      "CREATE TABLE public.bench_queue(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
      "state text NOT NULL DEFAULT 'ready', created_at timestamptz NOT NULL DEFAULT now(), "
      "body bytea NOT NULL)"));
  return compare_with_peers(
      run, "beside", [&](std::size_t clients) -> Result<std::vector<Subject>> {
        std::vector<Subject> peers;
        HOLDFAST_TRY(auto stream,
                     peer(run, "redis", redis, redis_stream(BrokerSample::payload()), clients));
        peers.push_back(std::move(stream));
        HOLDFAST_TRY(auto table, peer(run, "postgres_table", run.postgres.port,
                                      postgres_rows("postgres", "postgres", "public.bench_queue",
                                                    BrokerSample::payload()),
                                      clients));
        peers.push_back(std::move(table));
        return peers;
      });
}

// Each request is a claim of one message or its acknowledgement, in turns: half of the requests are
// messages that were consumed.
Result<void> bench_queues(BrokerRun& run) {
  const std::size_t messages = run.quick() ? 1000 : 30'000;
  std::vector<BrokerService> brokers;
  for (const BrokerStoreKind kind : kBrokerStoreKinds) {
    HOLDFAST_TRY(auto broker, BrokerService::start(run, kind, "queue", messages));
    brokers.push_back(std::move(broker));
  }
  HOLDFAST_TRY(const std::uint16_t redis, run.redis_port());
  HOLDFAST_CHECK(ask_peer(
      redis,
      fmt::format("EVAL \"redis.call('XGROUP','CREATE','work','workers','0','MKSTREAM') "
                  "for i=1,{} do redis.call('XADD','work','*','body','{}') end return 'filled'\" "
                  "0\r\n",
                  messages, BrokerSample::payload()),
      "filled"));
  HOLDFAST_TRY(const auto connection, run.connect("queue_peer"));
  HOLDFAST_CHECK(connection->run(fmt::format(
      "CREATE TABLE public.bench_work(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
      "state text NOT NULL DEFAULT 'ready', lease_until timestamptz, body bytea NOT NULL); "
      "CREATE INDEX bench_work_ready ON public.bench_work(id) WHERE state = 'ready'; "
      "INSERT INTO public.bench_work(body) SELECT '{}'::bytea FROM generate_series(1, {}); "
      "ANALYZE public.bench_work",
      BrokerSample::payload(), messages)));
  for (const std::size_t clients : kWireClients) {
    std::deque<Subject> subjects;
    for (const BrokerService& broker : brokers) {
      HOLDFAST_TRY(auto ours, peer(run, fmt::format("queue_{}", store_name(broker.kind)),
                                   broker.server->port(),
                                   broker_consumers(kBenchToken, kBenchQueue, clients), clients));
      subjects.push_back(std::move(ours));
    }
    HOLDFAST_TRY(auto stream, peer(run, "queue_redis", redis, redis_consumers(clients), clients));
    subjects.push_back(std::move(stream));
    HOLDFAST_TRY(
        auto table,
        peer(run, "queue_postgres_table", run.postgres.port,
             postgres_consumers("postgres", "postgres", "public.bench_work", clients), clients));
    subjects.push_back(std::move(table));
    HOLDFAST_CHECK(measure_in_turns(run, subjects));
    for (Subject& subject : subjects) {
      for (double& rate : subject.rates) {
        rate /= 2;  // messages, not requests
      }
    }
    report_beside(run, subjects, brokers.size(), clients_text(clients));
  }
  return {};
}

// It acknowledges before fsync: it promises less than the broker.
Result<void> bench_nats(BrokerRun& run) {
  HOLDFAST_TRY(const PeerServer nats, start_nats(run.folder.path()));
  const std::string config = R"({"name":"BENCH","subjects":["bench"],"storage":"file",)"
                             R"("retention":"limits","max_msgs":-1,"num_replicas":1})";
  const std::string create = fmt::format(
      "CONNECT {{\"verbose\":false}}\r\nSUB _INBOX.setup 1\r\n"
      "PUB $JS.API.STREAM.CREATE.BENCH _INBOX.setup {}\r\n{}\r\n",
      config.size(), config);
  HOLDFAST_TRY(const std::string made, ask_peer(nats.port, create, "stream_create_response"));
  if (made.find("\"error\"") != std::string::npos) {
    return Error{ErrorCode::unavailable, "NATS did not create the stream: " + made};
  }
  return compare_with_peers(
      run, "beside_nats", [&](std::size_t clients) -> Result<std::vector<Subject>> {
        std::vector<Subject> peers;
        HOLDFAST_TRY(auto stream, peer(run, "nats_acknowledges_before_fsync", nats.port,
                                       nats_stream("bench", BrokerSample::payload()), clients));
        peers.push_back(std::move(stream));
        return peers;
      });
}

// The same messages again, against new ones.
Result<void> bench_duplicates(BrokerRun& run) {
  for (const BrokerStoreKind kind : kBrokerStoreKinds) {
    HOLDFAST_TRY(const BrokerService broker, BrokerService::start(run, kind, "duplicate"));
    std::uint64_t first_number = 0;
    for (const std::size_t clients : kWireClients) {
      std::deque<Subject> subjects;
      HOLDFAST_TRY(auto fresh, broker.accepts(run, clients, 1, first_number));
      HOLDFAST_TRY(auto again, broker.accepts(run, clients, 1, first_number));
      subjects.push_back(std::move(fresh));  // first: it is one round ahead
      subjects.push_back(std::move(again));
      HOLDFAST_CHECK(measure_in_turns(run, subjects));
      first_number = subjects.front().first_number;
      const std::string name =
          fmt::format("{}_duplicate_{}", store_name(kind), clients_text(clients));
      run.add(name, median(subjects[1].rates), "duplicates/s", median(subjects[0].rates));
      run.add(name + "_p99", quantile(subjects[1].latencies_us, 0.99), "us",
              quantile(subjects[0].latencies_us, 0.99));
    }
  }
  return {};
}

}  // namespace holdfast
