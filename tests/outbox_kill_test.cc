// kill -9 at every point of the outbox. A child process sends, transmits and requeues, and is
// killed; the next process must find every message that was answered, no row inflight, and each
// requeue whole or not at all.
//
// HOLDFAST_LONG=1: 5,000 kills.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "base/owned_fd.h"
#include "tests/support/outbox_fixture.h"

namespace holdfast::delivery::outbox_kill_test {
namespace {

constexpr int kMessages = 4;
constexpr int kLongRepeats = 228;  // of at least 22 kills
constexpr int kPoints = static_cast<int>(OutboxFault::after_commit) + 1;

class OutboxKill : public OutboxFixture {
 protected:
  static std::string id_of(int round, int message) {
    return "m-" + std::to_string(round) + "-" + std::to_string(message);
  }
  // Every message has a lane of its own.
  static Outgoing message_of(int round, int message) {
    return outgoing(id_of(round, message), "text " + std::to_string(message),
                    "queue:" + id_of(round, message));
  }

  static void report(int answers, const std::string& line) {
    const std::string text = line + "\n";
    if (::write(answers, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      _exit(1);
    }
  }

  // Never returns: a message accepted by the broker, one refused, one without an answer and one
  // that is being sent; the first three are then requeued as far as possible.
  [[noreturn]] void work_and_die(int round, int point, int times, int answers) {
    int reached = 0;
    OutboxStoreOptions options;
    options.fault = [&](OutboxFault at) -> Result<void> {
      if (static_cast<int>(at) == point && ++reached == times) {
        kill(getpid(), SIGKILL);
      }
      return {};
    };
    SeededRandom random(1000 + static_cast<std::uint64_t>(round));  // other ids than the parent's
    auto outbox = must(Outbox::open(path(), limits_, options, clock_, random));
    for (int i = 0; i < kMessages; ++i) {
      const SendReply sent = must(outbox->send(message_of(round, i)));
      report(answers, "sent " + sent.client_message_id);
      const Claim claimed = must(outbox->claim(*sent.lane, terms()));
      const std::array<Completion, 3> outcomes{answered(201), answered(400),
                                               without_answer(classify_no_answer())};
      if (i < 3) {
        must(outbox->complete(*claimed.entry, outcomes.at(static_cast<std::size_t>(i))));
        report(answers, "completed " + sent.client_message_id);
      }
    }
    for (int i = 1; i < 3; ++i) {
      const RequeueReply reply =
          must(outbox->requeue(id_of(round, i), {.verdict = BrokerVerdict::absent}));
      report(answers, "requeued " + reply.new_entry->client_message_id);
    }
    _exit(0);
  }

  // What the child reported before it died: the id, and the last word about it.
  std::map<std::string, std::string> run_child(int round, int point, int times) {
    int ends[2];
    HOLDFAST_ASSERT(pipe(ends) == 0);
    OwnedFd reading(ends[0]);
    OwnedFd writing(ends[1]);
    outbox_.reset();
    const pid_t child = fork();
    HOLDFAST_ASSERT(child >= 0);
    if (child == 0) {
      work_and_die(round, point, times, writing.get());
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
    std::map<std::string, std::string> words;
    std::istringstream lines(text);
    for (std::string word, id; lines >> word >> id;) {
      words[id] = word;
    }
    return words;
  }

  void check_round(int round, const std::map<std::string, std::string>& words) {
    open();
    known_.clear();
    for (int i = 0; i < kMessages; ++i) {
      if (outbox_->chain(id_of(round, i)).ok()) {
        known_.insert(id_of(round, i));
      }
    }
    for (const auto& [id, word] : words) {
      EXPECT_EQ(entry(id).client_message_id, id) << word;
      if (word == "completed") {
        EXPECT_NE(entry(id).status, OutboxState::inflight) << id;
      }
    }
    for (int i = 0; i < kMessages; ++i) {
      // The retry of a caller that may have had no answer.
      const std::string id = id_of(round, i);
      const SendAnswer retry = answer(message_of(round, i));
      EXPECT_EQ(retry.result == SendResult::queued_new, !known_.contains(id)) << id;
      check_chain(id);
    }
    EXPECT_EQ(must(outbox_->counts()).rows.at(static_cast<std::size_t>(OutboxState::inflight)), 0U);
  }

  // A retired row has its successor, and the other way round.
  void check_chain(const std::string& id) {
    const std::vector<OutboxEntry> chain = must(outbox_->chain(id));
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const bool last = i + 1 == chain.size();
      EXPECT_EQ(chain[i].superseded_by, last ? "" : chain[i + 1].id);
      EXPECT_EQ(chain[i].supersedes, i == 0 ? "" : chain[i - 1].id);
      EXPECT_EQ(chain[i].status == OutboxState::aborted, !last) << id;
      EXPECT_EQ(chain[i].payload, chain[0].payload);
    }
  }

  int killed_ = 0;
  std::set<std::string> known_;  // that have a row after the death of the child
};

TEST_F(OutboxKill, IPC_26_CR_03_RQ_05_killed_at_every_point_nothing_answered_is_lost) {
  const int repeats = std::getenv("HOLDFAST_LONG") != nullptr ? kLongRepeats : 1;
  int round = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int point = 0; point < kPoints; ++point) {
      for (int times = 1; times <= 3; ++times, ++round) {
        const auto words = run_child(round, point, times);
        check_round(round, words);
      }
    }
  }
  EXPECT_GE(killed_, 22 * repeats) << "of " << round << " children";
  std::cout << killed_ << " kills\n";
}

}  // namespace
}  // namespace holdfast::delivery::outbox_kill_test
