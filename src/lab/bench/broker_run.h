// What the cases of the broker benchmark share: a folder, and the services that they need, each
// started when it is first used.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "delivery/broker/broker_store.h"
#include "lab/bench/bench_folder.h"
#include "lab/bench/benchmarks.h"
#include "lab/bench/peer_servers.h"

namespace holdfast {

enum class BrokerStoreKind : std::uint8_t { sqlite, postgres };
inline constexpr std::array<BrokerStoreKind, 2> kBrokerStoreKinds{BrokerStoreKind::sqlite,
                                                                  BrokerStoreKind::postgres};

struct BrokerRun {
  const BenchmarkOptions& options;
  BenchContext& context;
  BenchFolder folder;
  PeerServer postgres = {};
  PeerServer redis = {};

  [[nodiscard]] bool quick() const { return options.quick(); }
  void note(std::string_view text) const {
    if (context.note) {
      context.note(text);
    }
  }
  void add(std::string name, double value, std::string_view unit,
           std::optional<double> limit = std::nullopt) const {
    context.report.add({std::move(name), value, std::string(unit), limit});
  }

  // sqlite:… or postgres://… of this name. Starts PostgreSQL if it is needed.
  Result<std::string> url(BrokerStoreKind kind, std::string_view name);
  Result<std::unique_ptr<delivery::BrokerStore>> open(BrokerStoreKind kind, std::string_view name);
  // Starts Redis if it is needed.
  Result<std::uint16_t> redis_port();
  // Another connection to the schema, whose commits are durable.
  Result<std::unique_ptr<PgConnection>> connect(std::string_view name);
};

std::string_view store_name(BrokerStoreKind kind);

// A store with the sample's workspace, members and topics.
Result<void> bench_accept_groups(BrokerRun& run);
Result<void> bench_wire_accepts(BrokerRun& run);
Result<void> bench_peers(BrokerRun& run);
Result<void> bench_queues(BrokerRun& run);
Result<void> bench_nats(BrokerRun& run);
Result<void> bench_duplicates(BrokerRun& run);
Result<void> bench_dedupe_lookups(BrokerRun& run);

}  // namespace holdfast
