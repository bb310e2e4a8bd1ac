// The services that a broker is compared with: processes of their own on loopback, with their data
// in a folder of the benchmark, as durable as the broker. They end with their object.
//
// not_found names the package of a service that is not installed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lab/bench/bench_process.h"

namespace holdfast {

struct PeerServer {
  std::uint16_t port = 0;
  std::unique_ptr<BenchProcess> process = {};
};

// A cluster with the user and database "postgres" and no passwords; settings are the defaults, so a
// commit waits for its fsync. Data: FOLDER/postgres.
Result<PeerServer> start_postgres(const std::string& folder);
// Every command waits for the fsync of its file: appendfsync always.
Result<PeerServer> start_redis(const std::string& folder);
// With JetStream, in files. It acknowledges before fsync.
Result<PeerServer> start_nats(const std::string& folder);

// One request and its answer over TCP, for setting a service up.
Result<std::string> ask_peer(std::uint16_t port, const std::string& request,
                             const std::string& end_of_answer);

}  // namespace holdfast
