// A Redis server of a test, on a unix socket in a temporary folder, without persistence.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>

#include "storage/redis/redis_client.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast {

class RedisServer {
 public:
  RedisServer() { start(); }
  ~RedisServer() { kill(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  [[nodiscard]] std::string socket() const { return folder_.file("redis.sock"); }
  [[nodiscard]] std::string url() const { return "redis+unix://" + socket(); }

  void start() {
    const std::string path = socket();
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int null = open("/dev/null", O_RDWR);
      dup2(null, STDOUT_FILENO);
      execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path.c_str(), "--save",
             "", "--appendonly", "no", "--dir", folder_.path().c_str(), nullptr);
      _exit(127);
    }
    RedisClient client(must(parse_redis_url(url())));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!client.run({"PING"}).ok()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "redis-server does not start";
      poll(nullptr, 0, 5);
    }
  }
  // All data is lost.
  void kill() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
      child_ = 0;
    }
  }

 private:
  TempDir folder_;
  pid_t child_ = 0;
};

}  // namespace holdfast
