#include "lab/bench/peer_servers.h"

#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>

#include "base/read_file.h"
#include "lab/bench/bench_run.h"

namespace holdfast {

namespace {

namespace fs = std::filesystem;

constexpr double kStartSeconds = 60;

std::string log_tail(const std::string& log) {
  constexpr std::size_t kShown = 1000;
  const auto read = read_file(log, 1U << 24U);
  const std::string text = read.ok() ? read.value() : read.error().text();
  return text.substr(text.size() - std::min(text.size(), kShown));
}

// Until the service answers; it sends no event that could be waited for.
Result<void> wait_until(const PeerServer& server, const std::string& log,
                        const std::function<bool()>& ready) {
  const Stopwatch watch;
  while (!ready()) {
    if (!server.process->running() || watch.seconds() > kStartSeconds) {
      return Error{ErrorCode::unavailable, "a service did not start: " + log_tail(log)};
    }
    poll(nullptr, 0, 5);
  }
  return {};
}

// PostgreSQL refuses to run as root; its package has made an account.
Result<BenchAccount> postgres_account() {
  if (geteuid() != 0) {
    return BenchAccount{};
  }
  const passwd* const entry = getpwnam("postgres");
  if (entry == nullptr) {
    return Error{ErrorCode::not_found,
                 "PostgreSQL does not run as root, and there is no account postgres; run: apt-get "
                 "install postgresql"};
  }
  return BenchAccount{.user = entry->pw_uid, .group = entry->pw_gid};
}

std::vector<std::string> postgres_folders() {
  std::vector<std::string> folders;
  std::error_code ignored;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    folders.push_back(version.path() / "bin");
  }
  return folders;
}

// An empty folder that the account may use; those above it may be passed through.
Result<void> make_folder(const std::string& path, BenchAccount account) {
  if (mkdir(path.c_str(), 0700) != 0 ||
      (account.user != 0 && (chown(path.c_str(), account.user, account.group) != 0 ||
                             chmod(fs::path(path).parent_path().c_str(), 0711) != 0))) {
    return Error{ErrorCode::io_error, "cannot create " + path};
  }
  return {};
}

}  // namespace

Result<PeerServer> start_postgres(const std::string& folder) {
  HOLDFAST_TRY(const std::string initdb, find_program("initdb", postgres_folders(), "postgresql"));
  HOLDFAST_TRY(const BenchAccount account, postgres_account());
  const std::string data = folder + "/postgres";
  const std::string log = folder + "/postgres.log";
  HOLDFAST_CHECK(make_folder(data, account));
  HOLDFAST_TRY(const auto made,
               BenchProcess::start({initdb, "-D", data + "/data", "-U", "postgres", "-A", "trust",
                                    "-E", "UTF8", "--locale=C", "--no-sync"},
                                   account, log));
  if (made->wait() != 0) {
    return Error{ErrorCode::unavailable, "initdb failed: " + log_tail(log)};
  }
  PeerServer server;
  HOLDFAST_TRY(server.port, free_loopback_port());
  HOLDFAST_TRY(
      server.process,
      BenchProcess::start({fs::path(initdb).parent_path() / "postgres", "-D", data + "/data", "-c",
                           "listen_addresses=127.0.0.1", "-c", fmt::format("port={}", server.port),
                           "-c", "unix_socket_directories=", "-c", "max_connections=200"},
                          account, log));
  server.process->end_with(SIGINT);  // ends sessions instead of waiting for them
  HOLDFAST_CHECK(wait_until(server, log, [&] {
    const auto state = read_file(data + "/data/postmaster.pid", 4096);
    return state.ok() && state.value().find("\nready") != std::string::npos;
  }));
  return server;
}

Result<PeerServer> start_redis(const std::string& folder) {
  HOLDFAST_TRY(const std::string program, find_program("redis-server", {}, "redis-server"));
  const std::string data = folder + "/redis";
  const std::string log = folder + "/redis.log";
  HOLDFAST_CHECK(make_folder(data, {}));
  PeerServer server;
  HOLDFAST_TRY(server.port, free_loopback_port());
  HOLDFAST_TRY(server.process,
               BenchProcess::start(
                   {program, "--bind", "127.0.0.1", "--port", std::to_string(server.port), "--dir",
                    data, "--save", "", "--appendonly", "yes", "--appendfsync", "always"},
                   {}, log));
  HOLDFAST_CHECK(wait_until(server, log, [&] {
    const auto answer = ask_peer(server.port, "PING\r\n", "\r\n");
    return answer.ok() && answer.value().starts_with("+PONG");
  }));
  return server;
}

Result<PeerServer> start_nats(const std::string& folder) {
  HOLDFAST_TRY(const std::string program, find_program("nats-server", {}, "nats-server"));
  const std::string log = folder + "/nats.log";
  PeerServer server;
  HOLDFAST_TRY(server.port, free_loopback_port());
  HOLDFAST_TRY(server.process,
               BenchProcess::start({program, "--jetstream", "--store_dir", folder + "/nats",
                                    "--addr", "127.0.0.1", "--port", std::to_string(server.port)},
                                   {}, log));
  HOLDFAST_CHECK(wait_until(server, log, [&] {
    const auto answer =
        ask_peer(server.port, "CONNECT {\"verbose\":false}\r\nPING\r\n", "PONG\r\n");
    return answer.ok();
  }));
  return server;
}

Result<std::string> ask_peer(std::uint16_t port, const std::string& request,
                             const std::string& end_of_answer) {
  HOLDFAST_TRY(const OwnedFd fd, connect_to_loopback(port));
  std::string answer;
  std::array<char, 4096> buffer{};
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return Error{ErrorCode::unavailable, "a service closed the connection"};
  }
  while (answer.find(end_of_answer) == std::string::npos) {
    pollfd wanted{.fd = fd.get(), .events = POLLIN, .revents = 0};
    if (poll(&wanted, 1, 10'000) <= 0) {
      return Error{ErrorCode::unavailable, "a service did not answer: " + answer};
    }
    const ssize_t count = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (count <= 0) {
      return Error{ErrorCode::unavailable, "a service closed the connection: " + answer};
    }
    answer.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return answer;
}

}  // namespace holdfast
