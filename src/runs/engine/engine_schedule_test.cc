// Paused schedules start nothing and do not make up for missed times, on every engine and after
// every kind of restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/core_fixture.h"
#include "tests/support/journal_audit.h"

namespace holdfast::engine_schedule_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// How the next core starts.
enum class Begin : std::uint8_t { with_checkpoint, without_checkpoint };

// Every five minutes. The clock starts at 22:13:20, so the first time is 100 seconds away.
class PausedSchedule : public CoreTest {
 protected:
  static constexpr std::int64_t kFirst = 100'000;
  static constexpr std::int64_t kEvery = 300'000;

  static std::shared_ptr<const Definition> every_five_minutes(const std::string& catch_up = "skip",
                                                              const std::string& version = "1") {
    return must(Definition::parse(R"({"workflow":"report","version":")" + version +
                                  R"(","steps":[{"name":"a"}],"triggers":[{"name":"often","cron":)"
                                  R"({"expression":"*/5 * * * *","timezone":"UTC","catch_up":")" +
                                  catch_up + R"("}}]})"));
  }
  TestCore& open_with(const std::shared_ptr<const Definition>& definition) {
    TestCore& core = open();
    EXPECT_EQ(settled(core, core.add(definition)), "ok");
    return core;
  }
  static std::string settled(TestCore& core, const std::shared_ptr<Answer<Done>>& answer) {
    core.settle();
    return answer->code();
  }
  template <typename Fact>
  static std::shared_ptr<Answer<Done>> submit(TestCore& core,
                                              const std::string& trigger = "often") {
    return core.execute<Done>([trigger](Turn& turn) -> Result<Done> {
      HOLDFAST_CHECK(turn.emit(Fact{{"report", SharedText(trigger), "ann", "maintenance"}}));
      return Done{};
    });
  }
  static void pause(TestCore& core) {
    EXPECT_EQ(settled(core, submit<SchedulePaused>(core)), "ok");
  }
  static void resume(TestCore& core) {
    EXPECT_EQ(settled(core, submit<ScheduleResumed>(core)), "ok");
  }
  void advance(TestCore& core, std::int64_t by_ms) {
    clock_.advance_ms(by_ms);
    core.settle();
  }
  TestCore& restart(Begin begin) {
    TestCore& last = *cores_.back();
    if (begin == Begin::with_checkpoint) {
      last.core.request_checkpoint();
      last.core.decide(clock_.now());
      // No checkpoint is made when nothing happened since the last one.
      if (const auto checkpoint = last.core.take_checkpoint()) {
        must(Core::save(*last.journal, *checkpoint));
        ++checkpoints_;
      }
      EXPECT_GT(checkpoints_, 0);
    } else {
      must(last.journal->delete_checkpoint(thread("engine:live")));
    }
    cores_.clear();
    TestCore& core = open();
    core.settle();
    return core;
  }

  // The scheduled time of each run, such as 22:15, in order.
  std::vector<std::string> windows() {
    std::vector<std::string> starts;
    const Audit all = audit(open_memory_journal(disk_)->log());
    for (const auto& [id, run] : all.runs) {
      const Json context = must(Json::parse(run->context().view()));
      starts.emplace_back(context.find("schedule")
                              ->find("intended_window")
                              ->find("start_at")
                              ->string()
                              .value()
                              .substr(11, 5));
    }
    std::sort(starts.begin(), starts.end());
    return starts;
  }
  std::size_t count(std::string_view kind) {
    const auto kinds = kinds_from(*open_memory_journal(disk_), Position{1});
    return static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), kind));
  }

  int checkpoints_ = 0;
};

TEST_F(PausedSchedule, starts_nothing_and_has_no_timer) {
  TestCore& core = open_with(every_five_minutes());
  advance(core, kFirst);
  EXPECT_THAT(windows(), ElementsAre("22:15"));
  pause(core);
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
  advance(core, 3 * kEvery);
  EXPECT_THAT(windows(), ElementsAre("22:15"));
  const auto& said = core.core.state().registry().schedules().at(schedule_name("report", "often"));
  EXPECT_TRUE(said.paused);
  EXPECT_EQ(said.actor.view(), "ann");
  EXPECT_EQ(said.at, after(kStart, kFirst));
}

TEST_F(PausedSchedule, continues_with_the_next_time_when_it_is_resumed) {
  for (const char* catch_up : {"skip", "latest"}) {
    SCOPED_TRACE(catch_up);
    cores_.clear();
    disk_ = std::make_shared<MemoryDisk>();
    clock_ = ManualClock(kStart);
    TestCore& core = open_with(every_five_minutes(catch_up));
    pause(core);
    advance(core, kFirst + kEvery + 60'000);
    resume(core);
    EXPECT_THAT(windows(), IsEmpty()) << "22:15 and 22:20 are skipped";
    EXPECT_EQ(core.core.next_timer(clock_.now()), after(kStart, kFirst + 2 * kEvery));
    advance(core, kEvery - 60'000);
    EXPECT_THAT(windows(), ElementsAre("22:25"));
    advance(core, kEvery);
    EXPECT_THAT(windows(), ElementsAre("22:25", "22:30"));
  }
}

TEST_F(PausedSchedule, stays_paused_after_a_restart) {
  for (const Begin begin : {Begin::with_checkpoint, Begin::without_checkpoint}) {
    cores_.clear();
    disk_ = std::make_shared<MemoryDisk>();
    clock_ = ManualClock(kStart);
    pause(open_with(every_five_minutes("latest")));
    clock_.advance_ms(kFirst + kEvery + 60'000);
    TestCore& core = restart(begin);
    EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
    advance(core, 2 * kEvery);
    EXPECT_THAT(windows(), IsEmpty());
    resume(core);
    EXPECT_THAT(windows(), IsEmpty()) << "times that passed during the pause";
    advance(core, kEvery);
    EXPECT_THAT(windows(), ElementsAre("22:35"));
  }
}

TEST_F(PausedSchedule, that_was_resumed_catches_up_only_with_later_times) {
  for (const Begin begin : {Begin::with_checkpoint, Begin::without_checkpoint}) {
    cores_.clear();
    disk_ = std::make_shared<MemoryDisk>();
    clock_ = ManualClock(kStart);
    TestCore& first = open_with(every_five_minutes("latest"));
    pause(first);
    clock_.advance_ms(kFirst + kEvery + 60'000);
    resume(first);
    TestCore& soon = restart(begin);
    EXPECT_THAT(windows(), IsEmpty()) << "22:20 was before it was resumed";
    EXPECT_EQ(soon.core.next_timer(clock_.now()), after(kStart, kFirst + 2 * kEvery));
    clock_.advance_ms(2 * kEvery);
    restart(begin);
    EXPECT_THAT(windows(), ElementsAre("22:30")) << "the latest of the later times";
  }
}

TEST_F(PausedSchedule, is_written_once_however_often_it_is_requested) {
  TestCore& core = open_with(every_five_minutes());
  pause(core);
  const std::uint64_t commits = core.commits();
  clock_.advance_ms(1000);
  pause(core);
  EXPECT_EQ(core.commits(), commits);
  EXPECT_EQ(count("schedule_paused"), 1U);
  EXPECT_EQ(core.core.state().registry().schedules().at(schedule_name("report", "often")).at,
            kStart);
  resume(core);
  resume(core);
  EXPECT_EQ(count("schedule_resumed"), 1U);
  pause(core);
  EXPECT_EQ(count("schedule_paused"), 2U);
}

TEST_F(PausedSchedule, requested_twice_in_one_turn_is_written_once) {
  TestCore& core = open_with(every_five_minutes());
  const auto one = submit<SchedulePaused>(core);
  const auto two = submit<SchedulePaused>(core);
  core.settle();
  EXPECT_EQ(one->code(), "ok");
  EXPECT_EQ(two->code(), "ok");
  EXPECT_EQ(count("schedule_paused"), 1U);
}

TEST_F(PausedSchedule, a_resume_of_an_active_schedule_writes_nothing) {
  TestCore& core = open_with(every_five_minutes());
  resume(core);
  EXPECT_EQ(count("schedule_resumed"), 0U);
  advance(core, kFirst);
  EXPECT_THAT(windows(), ElementsAre("22:15"));
}

TEST_F(PausedSchedule, is_only_the_named_trigger) {
  TestCore& core = open_with(must(Definition::parse(
      R"({"workflow":"report","steps":[{"name":"a"}],"triggers":[)"
      R"({"name":"often","cron":{"expression":"*/5 * * * *","timezone":"UTC"}},)"
      R"({"name":"rare","cron":{"expression":"17 * * * *","timezone":"UTC"}}]})")));
  pause(core);
  advance(core, 2 * kEvery);
  EXPECT_THAT(windows(), ElementsAre("22:17"));
}

TEST_F(PausedSchedule, stays_paused_when_a_newer_version_is_registered) {
  TestCore& core = open_with(every_five_minutes());
  pause(core);
  EXPECT_EQ(settled(core, core.add(every_five_minutes("latest", "2"))), "ok");
  advance(core, 2 * kEvery);
  EXPECT_THAT(windows(), IsEmpty());
  resume(core);
  advance(core, kEvery);
  EXPECT_THAT(windows(), ElementsAre("22:25"));
}

TEST_F(PausedSchedule, is_paused_for_every_engine_of_the_journal) {
  TestCore& one = open_with(every_five_minutes());
  TestCore& other = open();
  other.settle();
  EXPECT_EQ(other.core.next_timer(clock_.now()), after(kStart, kFirst));
  pause(one);
  other.core.check_for_changes();
  other.settle();
  EXPECT_EQ(other.core.next_timer(clock_.now()), std::nullopt);
  resume(other);
  one.core.check_for_changes();
  one.settle();
  EXPECT_EQ(one.core.next_timer(clock_.now()), after(kStart, kFirst));
}

TEST_F(PausedSchedule, a_pause_lost_to_a_conflict_is_written_again_once) {
  TestCore& core = open_with(every_five_minutes());
  TestCore& other = open();
  core.hooks->before_append = [&]() -> Result<void> {
    Scribe(*other.journal, 7, one_).register_definition();
    return {};
  };
  pause(core);
  EXPECT_EQ(core.core.stats().conflicts, 1U);
  EXPECT_EQ(count("schedule_paused"), 1U);
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
}

TEST_F(PausedSchedule, that_another_engine_paused_first_is_paused_once) {
  TestCore& core = open_with(every_five_minutes());
  TestCore& other = open();
  other.settle();
  core.hooks->before_append = [&]() -> Result<void> {
    pause(other);
    return {};
  };
  pause(core);
  EXPECT_EQ(count("schedule_paused"), 1U);
  advance(core, kFirst);
  advance(other, 0);
  EXPECT_THAT(windows(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::engine_schedule_test
