#include "tests/support/store_contract.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <csignal>
#include <thread>

#include "storage/log/hash_chain.h"
#include "storage/log/user_store.h"
#include "tests/support/test_log.h"

namespace holdfast {
namespace {

struct Registered {
  std::string name;
  LogLifetime lifetime;
  std::function<std::unique_ptr<ContractSubject>()> make;
};

std::vector<Registered>& registered() {
  static std::vector<Registered> all;
  return all;
}

std::vector<Registered> durable() {
  std::vector<Registered> found;
  for (const Registered& one : registered()) {
    if (one.lifetime == LogLifetime::durable) {
      found.push_back(one);
    }
  }
  return found;
}

std::string name_of(const testing::TestParamInfo<Registered>& info) { return info.param.name; }

// A log provided by a host application.
class UserSubject final : public ContractSubject {
 public:
  explicit UserSubject(std::unique_ptr<LogUnderTest> log) : log_(std::move(log)) {}

  Result<std::unique_ptr<Store>> open_or_create() override {
    HOLDFAST_TRY(auto handle, log_->open());
    return adapt_log_store(std::move(handle));
  }

 private:
  std::unique_ptr<LogUnderTest> log_;
};

bool long_run() { return std::getenv("HOLDFAST_LONG") != nullptr; }

void append_some(Log& log, int count) {
  for (int i = 0; i < count; ++i) {
    const Position at = log.head().position;
    must(log.append(at, "[" + std::to_string(at.value + 1) + "]"));
  }
}

class LogContract : public testing::TestWithParam<Registered> {
 protected:
  std::unique_ptr<Log> open() { return must(Log::open(must(subject_->open_or_create()))); }

  std::unique_ptr<ContractSubject> subject_ = GetParam().make();
};

TEST_P(LogContract, a_new_log_is_empty_and_starts_at_one) {
  const auto log = open();
  const StoreState state = must(log->refresh());
  EXPECT_EQ(state.start, Position{1});
  EXPECT_EQ(state.head, Position{0});
  EXPECT_EQ(state.head_chain, genesis_chain(state.log_id));
  EXPECT_TRUE(bodies_from(*log, Position{1}).empty());
}

TEST_P(LogContract, positions_are_dense_and_bodies_are_read_in_order) {
  const auto log = open();
  append_some(*log, 5);
  EXPECT_EQ(log->head().position, Position{5});
  EXPECT_EQ(bodies_from(*log, Position{1}),
            (std::vector<std::string>{"[1]", "[2]", "[3]", "[4]", "[5]"}));
}

TEST_P(LogContract, reads_begin_at_any_position) {
  const auto log = open();
  append_some(*log, 5);
  for (std::uint64_t from = 1; from <= 6; ++from) {
    EXPECT_EQ(bodies_from(*log, Position{from}).size(), 6 - from);
  }
  EXPECT_EQ(code_of(log->read(Position{8})), "not_found");
}

TEST_P(LogContract, a_reader_continues_with_later_batches) {
  const auto log = open();
  append_some(*log, 2);
  LogReader reader = must(log->read(Position{1}));
  EXPECT_EQ(must(reader.next()).size(), 2U);
  EXPECT_TRUE(must(reader.next()).empty());
  append_some(*log, 1);
  EXPECT_EQ(must(reader.next()).size(), 1U);
}

TEST_P(LogContract, reads_respect_their_limits) {
  const auto log = open();
  for (int i = 0; i < 10; ++i) {
    must(log->append(log->head().position, std::string(1000, 'x')));
  }
  LogReader reader = must(log->read(Position{1}));
  EXPECT_EQ(must(reader.next({.max_rows = 3})).size(), 3U);
  EXPECT_EQ(must(reader.next({.max_bytes = 1500})).size(), 2U);
  EXPECT_EQ(must(reader.next({.max_bytes = 1})).size(), 1U);
}

TEST_P(LogContract, appended_batches_are_read_after_reopening) {
  const LogHead before = [&] {
    const auto log = open();
    append_some(*log, 3);
    return log->head();
  }();
  const auto log = open();
  EXPECT_EQ(log->head().position, before.position);
  EXPECT_EQ(log->head().chain, before.chain);
  append_some(*log, 1);
  EXPECT_EQ(bodies_from(*log, Position{1}).size(), 4U);
}

TEST_P(LogContract, bodies_keep_every_byte) {
  const auto log = open();
  const std::string body = "[\"\\u0000 \xc3\xa4 \xf0\x9f\x90\x99 ' % \\\\ \"]";
  must(log->append(Position{0}, body));
  const std::string large = "[\"" + std::string(3U << 20U, 'y') + "\"]";
  must(log->append(Position{1}, large));
  EXPECT_EQ(bodies_from(*log, Position{1}), (std::vector<std::string>{body, large}));
}

TEST_P(LogContract, a_stale_append_is_a_conflict_and_writes_nothing) {
  const auto first = open();
  const auto second = open();
  append_some(*first, 1);
  EXPECT_EQ(code_of(second->append(Position{0}, "[\"late\"]")), "conflict");
  EXPECT_EQ(code_of(second->append(Position{5}, "[\"early\"]")), "conflict");
  must(second->refresh());
  EXPECT_EQ(bodies_from(*second, Position{1}), std::vector<std::string>{"[1]"});
  EXPECT_TRUE(second->append(Position{1}, "[2]").ok()) << "a conflict must not stop the log";
}

TEST_P(LogContract, a_writer_that_missed_a_trim_gets_a_conflict) {
  const auto sleeper = open();
  const auto other = open();
  append_some(*other, 5);
  must(other->trim(Position{5}));
  EXPECT_EQ(code_of(sleeper->append(Position{0}, "[\"late\"]")), "conflict");
  EXPECT_EQ(must(sleeper->refresh()).head, Position{5});
  EXPECT_EQ(bodies_from(*sleeper, Position{5}), std::vector<std::string>{"[5]"});
}

TEST_P(LogContract, trim_keeps_the_rest_and_its_chain) {
  const auto log = open();
  append_some(*log, 6);
  must(log->trim(Position{4}));
  EXPECT_EQ(must(log->refresh()).start, Position{4});
  const auto gone = log->read(Position{3});
  EXPECT_EQ(code_of(gone), "not_found");
  EXPECT_EQ(bodies_from(*open(), Position{4}), (std::vector<std::string>{"[4]", "[5]", "[6]"}));
  append_some(*log, 1);
  EXPECT_EQ(bodies_from(*log, Position{4}).size(), 4U);
}

TEST_P(LogContract, trim_never_removes_the_newest_batch) {
  const auto log = open();
  append_some(*log, 3);
  EXPECT_EQ(code_of(log->trim(Position{4})), "invalid_argument");
  must(log->trim(Position{3}));
  EXPECT_EQ(code_of(log->trim(Position{2})), "invalid_argument");
  EXPECT_EQ(bodies_from(*log, Position{3}), std::vector<std::string>{"[3]"});
}

TEST_P(LogContract, two_trims_from_the_same_start_conflict_and_the_loser_changes_nothing) {
  const auto log = open();
  append_some(*log, 6);
  SideUpdate first;
  first.puts.push_back({"a", "1"});
  first.trim = Trim{Position{1}, Position{3}, {}};
  must(log->update(first));
  SideUpdate second;
  second.puts.push_back({"a", "2"});
  second.deletes.emplace_back("a");
  second.trim = Trim{Position{1}, Position{5}, {}};
  EXPECT_EQ(code_of(log->update(second)), "conflict");
  EXPECT_EQ(must(log->refresh()).start, Position{3});
  EXPECT_EQ(must(log->get("a")), "1");
}

TEST_P(LogContract, the_side_store_puts_gets_and_deletes) {
  const auto log = open();
  SideUpdate update;
  update.puts = {{"k/1", "one"}, {"k/2", std::string("\0\xff", 2)}, {"k/3", ""}};
  must(log->update(update));
  EXPECT_EQ(must(log->get("k/1")), "one");
  EXPECT_EQ(must(log->get("k/2")), std::string("\0\xff", 2));
  EXPECT_EQ(must(log->get("k/3")), "");
  EXPECT_EQ(must(log->get("k/4")), std::nullopt);
  SideUpdate change;
  change.puts = {{"k/1", "uno"}};
  change.deletes = {"k/2", "k/9"};
  must(log->update(change));
  const std::vector<std::string> keys{"k/2", "k/1", "k/3"};
  EXPECT_EQ(must(log->get(keys)),
            (std::vector<std::optional<std::string>>{std::nullopt, "uno", ""}));
  EXPECT_EQ(must(open()->get("k/1")), "uno");
}

TEST_P(LogContract, the_side_store_scans_a_prefix_in_both_orders) {
  const auto log = open();
  SideUpdate update;
  for (const char* key : {"a/1", "b", "b/1", "b/2", "b/3", "b0", "c/1"}) {
    update.puts.push_back({key, key});
  }
  must(log->update(update));
  const auto keys = [&](const SideScan& scan) {
    std::string out;
    for (const SidePair& pair : must(log->scan(scan))) {
      EXPECT_EQ(pair.key, pair.value);
      out += pair.key + " ";
    }
    return out;
  };
  constexpr auto kDown = SideScan::Order::descending;
  EXPECT_EQ(keys({.prefix = "b/"}), "b/1 b/2 b/3 ");
  EXPECT_EQ(keys({.prefix = "b/", .order = kDown}), "b/3 b/2 b/1 ");
  EXPECT_EQ(keys({.prefix = "b/", .from = "b/2"}), "b/2 b/3 ");
  EXPECT_EQ(keys({.prefix = "b/", .from = "b/2", .order = kDown}), "b/2 b/1 ");
  EXPECT_EQ(keys({.prefix = "b/", .from = "a", .order = kDown}), "");
  EXPECT_EQ(keys({.prefix = "b/", .from = "c"}), "");
  EXPECT_EQ(keys({.prefix = "b/", .max_pairs = 2}), "b/1 b/2 ");
  EXPECT_EQ(keys({.prefix = "b/", .max_bytes = 1}), "b/1 ");
  EXPECT_EQ(keys({.prefix = ""}), "a/1 b b/1 b/2 b/3 b0 c/1 ");
  EXPECT_EQ(keys({.prefix = "zz"}), "");
}

TEST_P(LogContract, a_large_update_is_atomic) {
  const auto log = open();
  SideUpdate update;
  for (int i = 0; i < 5000; ++i) {
    update.puts.push_back({"n/" + std::to_string(i), std::string(2000, static_cast<char>(i))});
  }
  must(log->update(update));
  std::size_t found = 0;
  std::optional<std::string> next;
  for (;;) {
    const auto pairs = must(log->scan({.prefix = "n/", .from = next}));
    if (pairs.empty()) {
      break;
    }
    found += pairs.size();
    next = pairs.back().key + '\0';
  }
  EXPECT_EQ(found, 5000U);
}

TEST_P(LogContract, copied_batches_have_the_same_chain) {
  const auto log = open();
  std::vector<Batch> batches;
  Digest chain = log->head().chain;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    batches.push_back(Batch{Position{i}, "[" + std::to_string(i) + "]", {}});
    chain = next_chain(chain, Position{i}, sha256(batches.back().body));
  }
  const LogHead head = must(log->append_copies(Position{0}, batches));
  EXPECT_EQ(head.chain, chain);
  EXPECT_EQ(bodies_from(*open(), Position{1}).size(), 100U);
  EXPECT_EQ(code_of(log->append_copies(Position{7}, batches)), "conflict");
}

TEST_P(LogContract, waiting_ends_when_another_handle_appends) {
  const auto waiter = open();
  const auto writer = open();
  std::thread other([&] { append_some(*writer, 1); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (must(waiter->refresh()).head == Position{0} &&
         std::chrono::steady_clock::now() < deadline) {
    must(waiter->wait_for_change(Position{0}, std::chrono::seconds(30)));
  }
  other.join();
  EXPECT_EQ(waiter->head().position, Position{1});
  EXPECT_LT(std::chrono::steady_clock::now(), deadline);
  must(waiter->wait_for_change(Position{0}, std::chrono::seconds(30)));  // returns at once
  std::thread interrupted(
      [&] { must(waiter->wait_for_change(waiter->head().position, std::chrono::seconds(600))); });
  waiter->interrupt_waits();
  interrupted.join();
}

// Appends `count` batches "writer:i" in competition with other writers; counts the conflicts.
int append_contended(Log& log, int writer, int count) {
  int conflicts = 0;
  for (int i = 0; i < count;) {
    const std::string body = std::to_string(writer) + ":" + std::to_string(i);
    const Position head = log.head().position;
    std::this_thread::yield();  // lets the others be first sometimes
    auto written = log.append(head, body);
    if (written.ok()) {
      ++i;
    } else if (written.error().code() == ErrorCode::conflict) {
      ++conflicts;
      if (!log.refresh().ok()) {
        return -1;
      }
    } else {
      return -1;
    }
  }
  return conflicts;
}

TEST_P(LogContract, four_writers_give_one_total_order_without_loss_or_duplicates) {
  constexpr int kWriters = 4;
  constexpr int kEach = 500;
  open();  // created before the writers race
  int conflicts = 0;
  if (GetParam().lifetime == LogLifetime::durable) {
    std::vector<pid_t> children;
    for (int writer = 0; writer < kWriters; ++writer) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        auto log = Log::open(std::move(subject_->open_or_create()).value());
        const int lost = append_contended(*log.value(), writer, kEach);
        _exit(lost < 0 ? 1 : lost > 0 ? 2 : 0);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 1) << "a writer failed";
      conflicts += WEXITSTATUS(status) == 2 ? 1 : 0;
    }
  } else {
    std::vector<std::thread> threads;
    std::atomic<int> losers = 0;
    std::barrier together(kWriters);
    for (int writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([&, writer] {
        const auto log = open();
        together.arrive_and_wait();
        const int lost = append_contended(*log, writer, kEach);
        losers += lost > 0 ? 1 : 0;
        EXPECT_GE(lost, 0);
      });
    }
    for (std::thread& writer : threads) {
      writer.join();
    }
    conflicts = losers;
  }
  const auto bodies = bodies_from(*open(), Position{1});
  ASSERT_EQ(bodies.size(), static_cast<std::size_t>(kWriters * kEach));
  std::vector<int> next(kWriters, 0);
  for (const std::string& body : bodies) {
    const auto writer = static_cast<std::size_t>(body[0] - '0');
    EXPECT_EQ(body.substr(2), std::to_string(next[writer]++));
  }
  EXPECT_GT(conflicts, 0) << "the writers never competed, so the test proves nothing";
}

// The child appends and reports every acknowledged position; each body carries its own length, so a
// partial batch would be detected.
[[noreturn]] void append_until_killed(ContractSubject& subject, int report_to) {
  auto log = Log::open(std::move(subject.open_or_create()).value());
  SeededRandom random(static_cast<std::uint64_t>(getpid()));
  for (;;) {
    const std::size_t size = 10 + random.below(20'000);
    const std::string body = std::to_string(size) + ":" + std::string(size, 'x');
    auto written = log.value()->append(log.value()->head().position, body);
    if (!written.ok()) {
      _exit(1);
    }
    const std::uint64_t position = written.value().position.value;
    if (write(report_to, &position, sizeof(position)) != sizeof(position)) {
      _exit(1);
    }
  }
}

// Waits for some acknowledgements and a little longer, kills the child, and returns the last
// acknowledged position.
std::uint64_t kill_at_random_moment(pid_t child, int reports, SeededRandom& random) {
  std::uint64_t position = 0;
  for (std::uint64_t acks = 1 + random.below(20); acks > 0; --acks) {
    EXPECT_EQ(read(reports, &position, sizeof(position)), ssize_t{sizeof(position)});
  }
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::microseconds(random.below(2000));
  while (std::chrono::steady_clock::now() < until) {
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::uint64_t later = 0;
  while (read(reports, &later, sizeof(later)) == ssize_t{sizeof(later)}) {
    position = later;
  }
  return position;
}

// What the dead writer had sent to a server may still arrive, which is an ordinary conflict.
void append_after_dead_writer(Log& log) {
  for (int tries = 0; tries < 10; ++tries) {
    const auto written = log.append(log.head().position, "0:");
    if (written.ok()) {
      return;
    }
    ASSERT_EQ(code_of(written), "conflict");
    must(log.refresh());
  }
  FAIL() << "the dead writer keeps appending";
}

// For stores whose data outlives a process.
class DurableLogContract : public LogContract {};

TEST_P(DurableLogContract,
       a_killed_writer_loses_no_acknowledged_batch_and_leaves_no_partial_batch) {
  open();
  SeededRandom random(7);
  const int kills = long_run() ? 200 : 20;
  for (int i = 0; i < kills; ++i) {
    int reports[2];
    ASSERT_EQ(pipe(reports), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(reports[0]);
      append_until_killed(*subject_, reports[1]);
    }
    close(reports[1]);
    const std::uint64_t acknowledged = kill_at_random_moment(child, reports[0], random);
    close(reports[0]);
    const auto log = open();
    ASSERT_GE(log->head().position.value, acknowledged);
    for (const std::string& body : bodies_from(*log, must(log->refresh()).start)) {
      const std::size_t colon = body.find(':');
      ASSERT_EQ(body.size() - colon - 1, std::stoul(body.substr(0, colon)));
    }
    append_after_dead_writer(*log);
    must(log->trim(log->head().position));  // keeps the next rounds short
  }
}

INSTANTIATE_TEST_SUITE_P(All, LogContract, testing::ValuesIn(registered()), name_of);
INSTANTIATE_TEST_SUITE_P(All, DurableLogContract, testing::ValuesIn(durable()), name_of);
// A program may test only logs that live in one process.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DurableLogContract);

}  // namespace

bool add_store_contract(const std::string& name, LogLifetime lifetime,
                        std::function<std::unique_ptr<ContractSubject>()> make) {
  registered().push_back(Registered{name, lifetime, std::move(make)});
  return true;
}

bool add_log_contract(const std::string& name, LogLifetime lifetime,
                      std::function<std::unique_ptr<LogUnderTest>()> make) {
  return add_store_contract(
      name, lifetime, [make = std::move(make)] { return std::make_unique<UserSubject>(make()); });
}

}  // namespace holdfast
