#include "apps/cli/run_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "apps/cli/cli_terminal.h"
#include "apps/cli/run_outcome.h"
#include "apps/terminal/live_progress.h"
#include "apps/terminal/show.h"
#include "runs/view/view_words.h"
#include "storage/journal/journal_history.h"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

// Elapsed times are redrawn without a change.
constexpr milliseconds kTick{500};
constexpr milliseconds kBetweenDraws{40};
constexpr milliseconds kLongWait{60'000};
constexpr milliseconds kUnavailablePause{500};
constexpr std::string_view kRunPrefix = "run:";
constexpr std::string_view kDispatchPrefix = "dispatch:";
// Commands accept the last characters of an id.
constexpr std::size_t kShownIdBytes = 12;

}  // namespace

bool is_noise(const TimelineEvent& event) {
  static const std::set<std::string, std::less<>> kNoise{
      "attempt_completed", "attempt_scheduled", "command_received", "event_wait_resolved",
      "lease_extended",    "run_queued",        "step_planned",     "timer_planned"};
  return kNoise.contains(event.type);
}

void print_commands(const std::vector<NextAction>& actions, const Style& style, Context& context) {
  for (const NextAction& next : actions) {
    if (!next.command.empty()) {
      print_line(context, fmt::format("  {}: {}{}", harmless(next.summary), harmless(next.command),
                                      style.command_suffix));
    }
  }
  context.out.flush();
}

Result<Position> before_run(Journal& journal, const RunId& run) {
  HOLDFAST_TRY(const Position head, journal.catch_up());
  HOLDFAST_TRY(const auto entries, journal.load(run_thread(run), {}, 1));
  return entries.empty() ? head : Position{entries.front().position.value - 1};
}

RunWatch::RunWatch(StoreReader& reader, const RunId& run, Position before, Context& context,
                   Style style, bool quiet)
    : reader_(reader),
      context_(context),
      style_(std::move(style)),
      quiet_(quiet),
      live_(!quiet && supports_redraw()),
      follower_(reader.journal(), run, before),
      screen_(context.out) {
  if (!live_) {
    style_.width = kLongLine;
  }
}

void RunWatch::announce(bool existed) {
  if (!quiet_) {
    print_line(context_, fmt::format("run {}{}", to_string(follower_.run().run_id()),
                                     existed ? " (started earlier, continuing)" : ""));
    context_.out.flush();
  }
}

Result<void> RunWatch::catch_up() {
  HOLDFAST_CHECK(follower_.catch_up());
  for (const TimelineEvent& event : follower_.take_events()) {
    // The live picture shows the progress of steps, but not their log lines.
    if (!quiet_ && (live_ ? event.type == "log_written" : !is_noise(event))) {
      screen_.print_above(show_event(event, run().started_at(), style_));
    }
  }
  context_.out.flush();
  return {};
}

Result<Explanation> RunWatch::explain() {
  const TimeMs now = context_.clock.now();
  return explain_run(follower_.source(now),
                     [&](const RunId& id) -> Result<std::optional<RunSource>> {
                       // Children are few, and read again each time.
                       auto stored = read_stored_run(reader_.journal(), id, follower_.position());
                       if (!stored.ok()) {
                         return std::optional<RunSource>();
                       }
                       const auto kept = children_.insert_or_assign(id, std::move(stored).value());
                       return std::optional(kept.first->second.source(follower_.position(), now));
                     });
}

void RunWatch::draw(const Explanation& why) {
  if (quiet_) {
    return;
  }
  if (live_) {
    const TimeMs now = context_.clock.now();
    const RunGraph graph = run_graph(follower_.source(now));
    const std::vector<TimelineBar> bars = follower_.bars(now);
    screen_.draw(live_lines({graph, bars, why}, style_, LiveScreen::height() - 1));
    return;
  }
  // Plain lines show only what needs a decision, and once.
  if (!needs_intervention(why.causes) || why.summary == shown_cause_) {
    return;
  }
  shown_cause_ = why.summary;
  print_commands(why.next_actions, style_, context_);
}

// Limits redraws: the run may be large and its steps short.
Result<void> RunWatch::wait() {
  std::this_thread::sleep_for(kBetweenDraws);
  return reader_.journal().log().wait_for_change(follower_.position(), live_ ? kTick : kLongWait);
}

void RunWatch::interrupt() { reader_.journal().log().interrupt_waits(); }

Result<void> RunWatch::finish() {
  HOLDFAST_CHECK(catch_up());
  if (live_) {
    HOLDFAST_TRY(const Explanation why, explain());
    draw(why);
  }
  return {};
}

Result<void> WorkWatch::begin() {
  HOLDFAST_TRY(position_, reader_.journal().catch_up());
  definitions_ = definitions_of(reader_.journal());
  return {};
}

void WorkWatch::stop() {
  stopped_ = true;
  interrupt();
}

void WorkWatch::follow() {
  while (!quiet_) {
    const bool last = stopped_;
    const Result<void> printed = print_new();
    const bool unavailable = !printed.ok() && printed.error().code() == ErrorCode::unavailable;
    if (last || (!printed.ok() && !unavailable)) {
      return;  // the worker reports errors of the store
    }
    if (unavailable || !reader_.journal().log().wait_for_change(position_, kLongWait).ok()) {
      std::this_thread::sleep_for(kUnavailablePause);
    }
  }
}

Result<void> WorkWatch::print_new() {
  HOLDFAST_TRY(const Position head, reader_.journal().catch_up());
  History history(reader_.journal().log(), position_.next());
  while (position_ < head) {
    HOLDFAST_TRY(const auto batches, history.next());
    HOLDFAST_ASSERT(!batches.empty());
    for (const Batch& batch : batches) {
      BodyScanner scanner(batch.position, batch.body);
      for (;;) {
        HOLDFAST_TRY(const auto entry, scanner.next());
        if (!entry.has_value()) {
          break;
        }
        print_entry(*entry, batch.position);
      }
      position_ = batch.position;
    }
  }
  context_.out.flush();
  return {};
}

// The definition of a run that started earlier is at the beginning of its thread.
TimelineBuilder& WorkWatch::builder_of(const RunId& run, Position position) {
  constexpr std::size_t kReceiptAndStart = 2;
  const auto [found, is_new] = runs_.try_emplace(run, run, definitions_);
  if (is_new) {
    const auto begun = reader_.journal().load(run_thread(run), Revision{}, kReceiptAndStart);
    for (const Entry& entry : begun.ok() ? begun.value() : std::vector<Entry>()) {
      if (entry.position < position) {
        found->second.add(entry, entry.position);
      }
    }
    found->second.take_events();
  }
  return found->second;
}

void WorkWatch::print_entry(const EntryView& entry, Position position) {
  RunId run;
  if (entry.thread.starts_with(kRunPrefix)) {
    const auto id = parse_run_id(entry.thread.substr(kRunPrefix.size()));
    run = id.ok() ? id.value() : RunId{};
  } else if (entry.thread.starts_with(kDispatchPrefix)) {
    const auto fact = dispatch_fact(entry.kind, entry.data);
    if (fact.ok()) {
      run = std::visit(
          [](const auto& known) {
            if constexpr (requires { known.run_id; }) {
              return known.run_id;
            } else {
              return RunId();
            }
          },
          fact.value());
      if (const auto* scheduled = std::get_if<AttemptScheduled>(&fact.value())) {
        missing_.report(
            {(scheduled->handler.empty() ? scheduled->step : scheduled->handler).str()});
      }
    }
  }
  if (run.empty()) {
    return;
  }
  TimelineBuilder& builder = builder_of(run, position);
  builder.add(entry, position);
  const std::string id = to_string(run);
  bool ended = false;
  for (const TimelineEvent& event : builder.take_events()) {
    ended = ended || event.type == "run_terminal";
    if (!is_noise(event)) {
      context_.out << fmt::format("{}  {}  {}\n", format_time(event.at),
                                  id.substr(id.size() - kShownIdBytes), harmless(event.summary));
    }
  }
  if (ended) {
    runs_.erase(run);
  }
}

}  // namespace holdfast::cli
