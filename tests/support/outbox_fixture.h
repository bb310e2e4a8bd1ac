// What the tests of an outbox share: an outbox in a folder of its own, messages, and a look at
// every byte of its rows.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/random.h"
#include "delivery/contract/max_age.h"
#include "delivery/contract/rejection.h"
#include "delivery/daemon/outbox.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast::delivery {

inline constexpr std::int64_t kOutboxStartMs = 1'700'000'000'000;
inline constexpr std::int64_t kWeekMs = 7 * kDayMs;

inline ClientMessageId client_id(const std::string& text) {
  return must(ClientMessageId::parse(text));
}

// To the topic alerts.
inline Outgoing outgoing(const std::string& id, const std::string& body = "hello",
                         const std::string& to = "#alerts") {
  Outgoing message;
  if (!id.empty()) {
    message.id = client_id(id);
  }
  message.mesh = "team";
  message.to_text = to;
  message.destination = must(parse_destination(to));
  message.body = body;
  return message;
}

inline Completion answered(int status, std::string_view error = "") {
  Completion completion;
  completion.effect = classify_answer(status, error);
  completion.http_status = status;
  if (completion.effect.row == RowOutcome::done) {
    completion.broker_message_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    completion.history_id = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
  } else {
    completion.error = "status " + std::to_string(status);
  }
  return completion;
}
inline Completion without_answer(AnswerEffect effect) {
  Completion completion;
  completion.effect = effect;
  completion.error = "no answer";
  return completion;
}

class OutboxFixture : public ::testing::Test {
 protected:
  void SetUp() override { open(); }

  // (Again) the outbox.
  void open(OutboxStoreOptions options = {}) {
    outbox_.reset();
    outbox_ = must(Outbox::open(path(), limits_, std::move(options), clock_, random_));
  }
  [[nodiscard]] std::string path() const { return folder_.file("outbox.db"); }

  SendAnswer answer(const Outgoing& message) { return must(outbox_->send(message)).answer; }
  Result<SendReply> send(const Outgoing& message) { return outbox_->send(message); }

  static std::string refusal_of(const Error& error) {
    const std::string_view name = error.field("error");
    return std::string(name.empty() ? error_info(error.code()).name : name);
  }

  [[nodiscard]] ClaimTerms terms() { return {clock_.now(), kWeekMs, 60'000}; }
  Claim claim(const Lane& lane = alerts()) { return must(outbox_->claim(lane, terms())); }
  static Lane alerts() {
    return {"team", DestinationKind::topic, "alerts", Priority::next, "", ""};
  }

  // Brings a new message into a state.
  void make(const std::string& id, OutboxState state, const std::string& body = "hello") {
    ASSERT_EQ(answer(outgoing(id, body)).result, SendResult::queued_new);
    if (state == OutboxState::pending) {
      return;
    }
    if (state == OutboxState::aborted) {
      must(outbox_->abort(id, "test", RequeueRequest::Force::no));
      return;
    }
    const Claim claimed = claim();
    ASSERT_TRUE(claimed.entry.has_value());
    ASSERT_EQ(claimed.entry->client_message_id, id);
    if (state != OutboxState::inflight) {
      EXPECT_EQ(
          must(outbox_->complete(*claimed.entry, answered(state == OutboxState::done ? 201 : 400))),
          Completed::applied);
    }
  }

  OutboxEntry entry(const std::string& id) {
    auto entries = must(outbox_->chain(id));
    for (OutboxEntry& each : entries) {
      if (each.id == id || each.client_message_id == id) {
        return each;
      }
    }
    ADD_FAILURE() << "no row " << id;
    return {};
  }

  // Every cell of every row.
  [[nodiscard]] std::string all_rows() const {
    auto db = must(SqliteDb::open(path(), SqliteAccess::read_only, "", std::chrono::seconds(5)));
    auto statement = must(db->prepare("SELECT * FROM outbox ORDER BY seq"));
    std::string text;
    while (must(statement.step())) {
      for (int column = 0; column < statement.columns(); ++column) {
        text += statement.is_null(column) ? "(null)" : std::string(statement.column_bytes(column));
        text += '|';
      }
      text += '\n';
    }
    return text;
  }
  [[nodiscard]] std::uint64_t rows() const {
    auto db = must(SqliteDb::open(path(), SqliteAccess::read_only, "", std::chrono::seconds(5)));
    return std::stoull(must(db->query_text("SELECT count(*) FROM outbox")));
  }

  TempDir folder_;
  ManualClock clock_{TimeMs{kOutboxStartMs}};
  SeededRandom random_{4};
  OutboxLimits limits_;
  std::unique_ptr<Outbox> outbox_;
};

}  // namespace holdfast::delivery
