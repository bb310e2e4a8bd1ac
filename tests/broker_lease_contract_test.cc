// The contract of lease backends for the queues of a broker: a real broker process, on each store.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "apps/bridges/broker_lease_backend.h"
#include "base/encoding.h"
#include "base/random.h"
#include "delivery/broker/broker_directory.h"
#include "delivery/broker/broker_store.h"
#include "delivery/contract/message_id.h"
#include "holdfast/lease_backend_contract.h"
#include "tests/support/must.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/temp_dir.h"

namespace holdfast::broker_lease_contract_test {
namespace {

using delivery::QueueOrder;

constexpr const char* kToken = "token-of-the-runs";

enum class StoreKind { sqlite, postgres };

class BrokerUnderTest final : public LeaseBackendUnderTest {
 public:
  explicit BrokerUnderTest(StoreKind kind) : kind_(kind) {
    if (kind == StoreKind::postgres) {
      must(PostgresCluster::shared().start());
    }
    fill();
    start();
  }
  ~BrokerUnderTest() override { kill_9(); }

  Result<std::unique_ptr<LeaseBackend>> open(const LeaseBackendOptions& options) override {
    return bridges::broker_lease_backend(
        {"unix:" + socket(), "broker+unix://" + socket(), kToken, "", options})();
  }
  // Another store, with the same members and queues.
  void lose_everything() override {
    kill_9();
    ++life_;
    fill();
    start();
  }

 private:
  [[nodiscard]] std::string socket() const { return folder_.file("broker.sock"); }
  [[nodiscard]] std::string store_file() const {
    return folder_.file("broker-" + std::to_string(life_) + ".db");
  }
  [[nodiscard]] std::string store_url() const {
    return kind_ == StoreKind::sqlite ? "sqlite:" + store_file()
                                      : PostgresCluster::shared().url(schema());
  }
  [[nodiscard]] std::string schema() const {
    static int next = 0;
    if (number_ == 0) {
      number_ = ++next;
    }
    return "leases_" + std::to_string(number_) + "_" + std::to_string(life_);
  }

  std::string ulid() {
    std::array<std::byte, 10> entropy{};
    random_.fill(entropy);
    return ulids_.next(SystemClock().now(), entropy).text();
  }

  void fill() {
    const std::string url = store_url();
    const auto store =
        kind_ == StoreKind::sqlite
            ? must(delivery::open_sqlite_broker_store(store_file(), {}))
            : must(delivery::open_postgres_broker_store(
                  must(parse_postgres_url(std::string_view(url).substr(url.find("//") + 2))), {}));
    must(store->write([&](delivery::SqlSession& s) -> Result<void> {
      const TimeMs now = SystemClock().now();
      delivery::Workspace workspace;
      workspace.mesh_id = ulid();
      workspace.slug = "team";
      HOLDFAST_CHECK(create_workspace(s, workspace, now));
      HOLDFAST_CHECK(create_member(
          s, {ulid(), workspace.mesh_id, to_hex(sha256("key")), "runs", sha256(kToken)}, now));
      for (const std::string queue : {"reports", "other"}) {
        HOLDFAST_CHECK(create_queue(s, workspace.mesh_id, queue, now));
        HOLDFAST_CHECK(create_queue(s, workspace.mesh_id, queue + "-signals", now,
                                    {.order = QueueOrder::lanes}));
        HOLDFAST_CHECK(create_queue(s, workspace.mesh_id, queue + "-answers", now));
      }
      return {};
    }));
  }

  void start() {
    const std::string store = store_url();
    const std::string limits = "memory:" + folder_.file("limits");
    const std::string path = socket();
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int null = ::open("/dev/null", O_RDWR);
      dup2(null, STDOUT_FILENO);
      execl(HOLDFAST_PROGRAM, HOLDFAST_PROGRAM, "broker", "serve", "--store", store.c_str(),
            "--socket", path.c_str(), "--limiter", limits.c_str(), "--single", "--log-level",
            "error", nullptr);
      _exit(127);
    }
    const auto handle = must(open({}));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!handle->epoch("reports").ok()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the broker does not start";
      poll(nullptr, 0, 5);
    }
  }
  void kill_9() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
      child_ = 0;
    }
  }

  const StoreKind kind_;
  TempDir folder_;
  SystemRandom random_;
  delivery::UlidSequence ulids_;
  pid_t child_ = 0;
  int life_ = 0;
  mutable int number_ = 0;
};

[[maybe_unused]] const bool kSqlite = add_lease_backend_contract(
    "BrokerOnSqlite", [] { return std::make_unique<BrokerUnderTest>(StoreKind::sqlite); });
[[maybe_unused]] const bool kPostgres = add_lease_backend_contract(
    "BrokerOnPostgres", [] { return std::make_unique<BrokerUnderTest>(StoreKind::postgres); });

TEST(BrokerLeases, a_queue_that_does_not_exist_is_named) {
  BrokerUnderTest broker(StoreKind::sqlite);
  const auto backend = must(broker.open({}));
  const auto epoch = backend->epoch("missing");
  ASSERT_FALSE(epoch.ok());
  EXPECT_EQ(code_of(epoch), "not_found");
  EXPECT_NE(epoch.error().text().find("missing"), std::string::npos);
  EXPECT_EQ(epoch.error().text().find(kToken), std::string::npos);
}

TEST(BrokerLeases, a_broker_that_cannot_be_reached_is_unavailable) {
  const auto backend = must(bridges::broker_lease_backend(
      {"unix:/nonexistent/broker.sock", "broker+unix:///nonexistent/broker.sock", "t", "", {}})());
  EXPECT_EQ(code_of(backend->epoch("q")), "unavailable");
  EXPECT_EQ(code_of(backend->claim("q", "w", "c", "t", std::chrono::milliseconds(0))),
            "unavailable");
}

}  // namespace
}  // namespace holdfast::broker_lease_contract_test
