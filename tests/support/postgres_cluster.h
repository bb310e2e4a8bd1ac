// PostgresCluster: a private, real PostgreSQL server for tests, in a temporary directory, with
// fsync on, on a unix socket and on a free port of 127.0.0.1. It can be killed as by a power
// failure. Everything is removed with the object; the server dies with the thread that started it,
// for whatever reason that thread ended.
//
// Every role may connect without a password, except the role "locked" over TCP.
// The binaries are those in $HOLDFAST_TEST_POSTGRES_BIN, or the newest in /usr/lib/postgresql.
// As root the server runs as the user "postgres".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

class PostgresCluster {
 public:
  enum class Via { tcp, unix_socket };
  struct Options {
    std::string parent = "/tmp";        // the directory in which the cluster is created
    std::vector<std::string> initdb;    // further arguments
    std::vector<std::string> settings;  // "name=value"
  };

  static Result<std::unique_ptr<PostgresCluster>> create(const Options& options);
  // One for the whole test process, created at the first use. Throws std::runtime_error with the
  // reason if it cannot be created.
  static PostgresCluster& shared();

  ~PostgresCluster();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  // Returns when the server accepts connections. Does nothing if it is running already.
  Result<void> start();
  // SIGKILL to the server and all its processes, as in a power failure. Returns when they have
  // ended.
  void kill_9();
  // An orderly stop.
  void stop();
  Result<void> restart();
  // No file of the server can grow beyond this size after the next start; 0: no limit.
  void limit_file_bytes(std::uint64_t limit) { max_file_bytes_ = limit; }
  // The settings of the next start, in place of those in the options.
  void set_settings(std::vector<std::string> settings) { settings_ = std::move(settings); }
  [[nodiscard]] bool running();

  [[nodiscard]] std::string url(std::string_view schema, Via via = Via::tcp) const;
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  // What psql prints for the SQL: unaligned, rows only. io_error with the message of psql.
  Result<std::string> run_sql(const std::string& sql) const;

 private:
  PostgresCluster(const Options& options, std::string bin);
  Result<void> initialise(const Options& options);
  [[nodiscard]] Result<void> wait_until_ready();
  [[nodiscard]] std::string log_tail() const;

  std::string bin_;
  std::string parent_;
  std::string directory_;
  std::vector<std::string> settings_;
  std::uint64_t max_file_bytes_ = 0;
  int port_ = 0;
  pid_t server_ = -1;
};

}  // namespace holdfast
