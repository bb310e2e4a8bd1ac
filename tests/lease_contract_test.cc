// The contract of lease backends, for each of them.
#include <gtest/gtest.h>

#include "holdfast/lease_backend_contract.h"
#include "runs/lease_backends/memory_lease_backend.h"
#include "runs/lease_backends/redis_lease_backend.h"
#include "tests/support/redis_server.h"

namespace holdfast::lease_contract_test {
namespace {

class MemoryUnderTest final : public LeaseBackendUnderTest {
 public:
  Result<std::unique_ptr<LeaseBackend>> open(const LeaseBackendOptions& options) override {
    if (leases_ == nullptr) {
      leases_ = std::make_shared<MemoryLeases>(options);
    }
    return MemoryLeases::open(leases_);
  }
  void lose_everything() override { leases_->lose_everything(); }

 private:
  std::shared_ptr<MemoryLeases> leases_;
};

class RedisUnderTest final : public LeaseBackendUnderTest {
 public:
  Result<std::unique_ptr<LeaseBackend>> open(const LeaseBackendOptions& options) override {
    HOLDFAST_TRY(const RedisUrl url, parse_redis_url(server_.url()));
    return redis_lease_backend(url, RedisLeaseOptions{options});
  }
  void lose_everything() override {
    server_.kill();
    server_.start();
  }

 private:
  RedisServer server_;
};

[[maybe_unused]] const bool kMemory =
    add_lease_backend_contract("Memory", [] { return std::make_unique<MemoryUnderTest>(); });
[[maybe_unused]] const bool kRedis =
    add_lease_backend_contract("Redis", [] { return std::make_unique<RedisUnderTest>(); });

TEST(RedisLeases, a_server_that_cannot_be_reached_is_unavailable) {
  RedisServer server;
  const auto backend = must(must(open_lease_backend(server.url()))());
  must(backend->epoch("q"));
  server.kill();
  EXPECT_EQ(code_of(backend->epoch("q")), "unavailable");
  EXPECT_EQ(code_of(backend->claim("q", "w", "c", "t", std::chrono::milliseconds(0))),
            "unavailable");
  server.start();
  must(backend->epoch("q"));
}

TEST(RedisLeases, entries_of_other_programs_are_dropped) {
  RedisServer server;
  RedisClient client(must(parse_redis_url(server.url())));
  const auto backend = must(must(open_lease_backend(server.url() + "?prefix=shop"))());
  must(backend->epoch("q"));
  must(client.run({"XADD", "shop:{q}:signals", "*", "kind", "hello"}));
  must(client.run({"XADD", "shop:{q}:signals", "*", "kind", "claim", "id", "a"}));
  const auto signals = must(backend->receive("q", 10, std::chrono::milliseconds(100)));
  ASSERT_EQ(signals.size(), 1U);
  EXPECT_EQ(signals[0].item_id, "a");
  EXPECT_EQ(must(client.run({"XLEN", "shop:{q}:signals"})).integer, 1);
}

}  // namespace
}  // namespace holdfast::lease_contract_test
