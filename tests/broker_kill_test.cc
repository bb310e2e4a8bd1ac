// kill -9 at every point of the accept transaction, on both stores. A child process sends messages
// and is killed; the next broker must find each message whole or not at all, and a retry must get
// what the child answered.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <sstream>

#include "base/owned_fd.h"
#include "delivery/broker/orphan_check.h"
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_kill_test {
namespace {

constexpr int kMessages = 8;
constexpr int kTimes = 2;
constexpr int kPoints = static_cast<int>(FaultPoint::after_commit) + 1;

class BrokerKill : public BrokerFixture {
 protected:
  static std::string id_of(int round, int message) {
    return "m-" + std::to_string(round) + "-" + std::to_string(message);
  }

  MessageRequest message_of(int round, int message) const {
    const std::vector<Destination> all{{DestinationKind::topic, "alerts"},
                                       {DestinationKind::dm, ben_.pubkey},
                                       {DestinationKind::topic, "empty"},
                                       {DestinationKind::queue, "jobs"}};
    return request(id_of(round, message), "hello", all[static_cast<std::size_t>(message) % 4],
                   {"ben", "cat"});
  }

  // Never returns: sends the messages of a round and dies at the n-th time a point is reached.
  [[noreturn]] void send_and_die(int round, int point, int times, int answers) {
    int reached = 0;
    BrokerStoreOptions options;
    options.fault = [&](FaultPoint at) -> Result<void> {
      if (static_cast<int>(at) == point && ++reached == times) {
        kill(getpid(), SIGKILL);
      }
      return {};
    };
    auto store = open_store(options);
    SeededRandom random(1000 + static_cast<std::uint64_t>(round));  // other ids than the parent's
    Broker broker(*store, *limiter_, clock_, random);
    for (int i = 0; i < kMessages; ++i) {
      const auto reply = broker.accept("token-ann", message_of(round, i));
      const std::string line =
          reply.ok() ? id_of(round, i) + " " + reply.value().broker_message_id + "\n" : "";
      if (write_all(answers, line)) {
        continue;
      }
      break;
    }
    _exit(0);
  }

  static bool write_all(int fd, const std::string& text) {
    return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

  // The answers that the child gave before it died: client id to broker id.
  std::map<std::string, std::string> run_child(int round, int point, int times) {
    int ends[2];
    HOLDFAST_ASSERT(pipe(ends) == 0);
    OwnedFd reading(ends[0]);
    OwnedFd writing(ends[1]);
    broker_.reset();
    store_.reset();
    const pid_t child = fork();
    HOLDFAST_ASSERT(child >= 0);
    if (child == 0) {
      send_and_die(round, point, times, writing.get());
    }
    writing.close();
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(reading.get(), buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    int status = 0;
    HOLDFAST_ASSERT(waitpid(child, &status, 0) == child);
    killed_ += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0;
    std::map<std::string, std::string> answers;
    std::istringstream lines(text);
    for (std::string id, broker_id; lines >> id >> broker_id;) {
      answers.emplace(id, broker_id);
    }
    return answers;
  }

  // After the death of a child: what was answered stands, the rest is accepted now.
  void check_round(int round, const std::map<std::string, std::string>& answers) {
    open();
    for (int i = 0; i < kMessages; ++i) {
      const auto reply = must(send(message_of(round, i)));
      const auto answered = answers.find(id_of(round, i));
      if (answered != answers.end()) {
        EXPECT_TRUE(reply.duplicate) << id_of(round, i);
        EXPECT_EQ(reply.broker_message_id, answered->second);
      }
    }
    EXPECT_EQ(count("topic_message") + count("message_queue"), kMessages * (round + 1));
    EXPECT_EQ(count("message_history"), kMessages * (round + 1));
    EXPECT_EQ(must(check_orphans(*store_, clock_.now(), {})).total(), 0U);
  }

  int killed_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerKill,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

TEST_P(BrokerKill, TX_02_G_06_killed_at_every_point_each_message_is_whole_or_absent) {
  int round = 0;
  for (int point = 0; point < kPoints; ++point) {
    for (int times = 1; times <= kTimes; ++times) {
      check_round(round, run_child(round, point, times));
      ++round;
    }
  }
  EXPECT_GE(killed_, 18) << "of " << round << " children";
}

}  // namespace
}  // namespace holdfast::delivery::broker_kill_test
