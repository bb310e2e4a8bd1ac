#include "apps/cli/server_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/explanation_reader.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/run_watch.h"
#include "apps/cli/server_backend.h"
#include "apps/client/client_api.h"
#include "apps/client/operation_call.h"
#include "apps/terminal/show.h"
#include "base/json_slice.h"
#include "base/text.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

// After this time without an event, the explanation is queried.
constexpr milliseconds kQuiet{300};
constexpr milliseconds kLongQuiet{30'000};
constexpr milliseconds kLongQuietToBlock{2'000};
// How long to wait for a server that restarts.
constexpr milliseconds kPatience{60'000};
constexpr milliseconds kBetweenTries{500};

struct FactEvent {
  std::string thread;
  std::string kind;
  std::string data;
  EntryView entry = {};
  Position position = {};
};

std::string text_of(std::string_view slice) {
  return json_string_value(slice).value_or(std::string());
}

// An event of docs/http-api.md; without a kind when it is not a fact.
FactEvent fact_of(std::string_view json) {
  FactEvent fact;
  JsonSlicer slicer(json);
  while (const auto member = slicer.next()) {
    const std::uint64_t number = parse_decimal(member->value).value_or(0);
    if (member->name == "thread") {
      fact.thread = text_of(member->value);
    } else if (member->name == "kind") {
      fact.kind = text_of(member->value);
    } else if (member->name == "data") {
      fact.data = member->value;
    } else if (member->name == "position") {
      fact.position = Position{number};
    } else if (member->name == "seq") {
      fact.entry.seq = Revision{number};
    } else if (member->name == "at") {
      fact.entry.at = TimeMs{static_cast<std::int64_t>(number)};
    }
  }
  fact.entry.thread = fact.thread;
  fact.entry.kind = fact.kind;
  fact.entry.data = fact.data;
  return fact;
}

std::string member_text(const Json& json, std::string_view name) {
  const auto found = json.find(name);
  return std::string(found.has_value() ? found->string().value_or("") : "");
}

std::int64_t member_number(const Json& json, std::string_view name) {
  const auto found = json.find(name);
  return found.has_value() ? found->integer().value_or(0) : 0;
}

// The members of the snapshot that the outcome shows.
Result<RunView> view_of_snapshot(const std::string& snapshot) {
  HOLDFAST_TRY(const Json json, Json::parse(snapshot));
  RunView view;
  view.json = snapshot;
  while (view.json.ends_with('\n')) {
    view.json.pop_back();
  }
  view.run_id = member_text(json, "run_id");
  view.status = member_text(json, "status");
  const auto terminal = json.find("terminal");
  view.terminal = terminal.has_value() && terminal->boolean().value_or(false);
  view.started_at_ms = member_number(json, "started_at");
  view.ended_at_ms = member_number(json, "ended_at");
  std::string context;
  JsonSlicer slicer(view.json);
  while (const auto member = slicer.next()) {
    if (member->name == "result") {
      view.result = member->value;
    } else if (member->name == "error") {
      view.error = member->value;
    } else if (member->name == "context") {
      context = member->value;
    }
  }
  if (view.result.empty() && view.status == "completed") {
    view.result = context;
  }
  return view;
}

// The head of the journal of the server.
Result<std::int64_t> position_of(ServerBackend& backend) {
  HOLDFAST_TRY(const std::string body, backend.calls().get(client::path_of(operation::kGetServer)));
  HOLDFAST_TRY(const Json json, Json::parse(body));
  return member_number(json, "position");
}

// Follows one run of a server by its events.
class Following {
 public:
  // after: a position before the run.
  Following(ServerBackend& backend, const StartedRun& started, std::int64_t after,
            const RunOptions& options, Context& context)
      : backend_(backend),
        run_(started.run_id),
        after_(after),
        until_blocked_(options.until_blocked),
        quiet_(options.quiet || context.json()),
        context_(context),
        style_(backend.style()),
        events_(parse_run_id(started.run_id).value()) {
    style_.width = kLongLine;
    if (!quiet_) {
      print_line(context_, fmt::format("run {}{}", run_,
                                       started.existed ? " (started earlier, continuing)" : ""));
      context_.out.flush();
    }
  }

  // The definitions that the run may follow. Call it before run().
  void know(const Definitions& definitions) {
    const auto find = [definitions](const SharedText& fingerprint) {
      const auto found =
          std::find_if(definitions.begin(), definitions.end(),
                       [&](const auto& known) { return known->fingerprint() == fingerprint; });
      return found == definitions.end() ? nullptr : *found;
    };
    events_ = TimelineBuilder(parse_run_id(run_).value(), find);
  }

  Result<FollowEnd> run(const Interrupt& interrupt) {
    milliseconds lost{0};  // how long the server has been unreachable
    milliseconds silence = kQuiet;
    for (;;) {
      const std::string before = last_id_;
      HOLDFAST_TRY(const auto end, follow(silence, interrupt));
      if (ended_) {
        return FollowEnd::ended;
      }
      if (interrupt.came()) {
        return FollowEnd::interrupted;
      }
      if (end == ServerCalls::StreamEnd::broken) {
        HOLDFAST_CHECK(wait_for_server(lost, interrupt));
        continue;
      }
      const auto longest = until_blocked_ ? kLongQuietToBlock : kLongQuiet;
      silence = last_id_ == before ? std::min(silence * 2, longest) : kQuiet;
      const auto blocked = check_why();
      if (!blocked.ok()) {
        // The server may have ended the stream because it is shutting down.
        HOLDFAST_CHECK(client::Api::is_temporary(blocked.error()) ? wait_for_server(lost, interrupt)
                                                                  : Result<void>(blocked.error()));
        continue;
      }
      lost = milliseconds(0);
      if (blocked.value()) {
        return FollowEnd::blocked;
      }
    }
  }

  // The run as it is at the end.
  Result<RunView> view(const Interrupt& interrupt) const {
    milliseconds lost{0};
    for (;;) {
      const auto snapshot = backend_.json(ShowRequest{{run_}});
      if (snapshot.ok()) {
        return view_of_snapshot(snapshot.value());
      }
      if (interrupt.came() || !client::Api::is_temporary(snapshot.error())) {
        return snapshot.error();
      }
      HOLDFAST_CHECK(wait_for_server(lost, interrupt));
    }
  }

 private:
  Result<ServerCalls::StreamEnd> follow(milliseconds silence, const Interrupt& interrupt) {
    const std::string path =
        fmt::format("{}?after={}", client::path_of(operation::kStreamRunEvents, {run_}), after_);
    return backend_.calls().follow(
        {path, last_id_, silence},
        [&](const net::ServerEvent& event) {
          last_id_ = event.id;
          take(fact_of(event.data));
          return !ended_;
        },
        interrupt.token());
  }

  void take(const FactEvent& fact) {
    if (fact.kind.empty()) {
      return;
    }
    events_.add(fact.entry, fact.position);
    for (const TimelineEvent& event : events_.take_events()) {
      if (event.type == "run_started") {
        started_at_ = event.at;
      }
      ended_ = ended_ || event.type == "run_terminal";
      if (!quiet_ && !is_noise(event)) {
        context_.out << show_event(event, started_at_, style_);
      }
    }
    context_.out.flush();
  }

  // Prints what needs a decision, once; true when the command stops following the run.
  Result<bool> check_why() {
    if (quiet_ && !until_blocked_) {
      return false;
    }
    HOLDFAST_TRY(const std::string json, backend_.json(ExplainRequest{{run_}}));
    HOLDFAST_TRY(const Explanation why, read_explanation(json));
    if (const Cause* handler = waits_for_handler(why.causes);
        handler != nullptr && handler->summary != shown_cause_) {
      shown_cause_ = handler->summary;
      fmt::print(
          stderr,
          "holdfast: the run {}\n"
          "  if no worker of the server has the handler: holdfast worker --handlers FILE{}\n",
          harmless(handler->summary), style_.command_suffix);
    }
    if (!quiet_ && needs_intervention(why.causes) && why.summary != shown_cause_) {
      shown_cause_ = why.summary;
      for (const NextAction& next : why.next_actions) {
        if (!next.command.empty()) {
          print_line(context_, fmt::format("  {}: {}{}", harmless(next.summary),
                                           harmless(next.command), style_.command_suffix));
        }
      }
      context_.out.flush();
    }
    return until_blocked_ && waits_for_others(why.causes, why.now);
  }

  Result<void> wait_for_server(milliseconds& lost, const Interrupt& interrupt) const {
    if (lost >= kPatience) {
      return Error{ErrorCode::unavailable,
                   fmt::format("the server is unreachable; the run continues when the server is "
                               "back: holdfast explain {}{}",
                               run_, backend_.suffix())};
    }
    lost += kBetweenTries;
    client::pause_for(kBetweenTries, interrupt.token());
    return {};
  }

  ServerBackend& backend_;
  std::string run_;
  std::int64_t after_;
  bool until_blocked_;
  bool quiet_;
  Context& context_;
  Style style_;
  TimelineBuilder events_;
  TimeMs started_at_;
  std::string last_id_;
  std::string shown_cause_;
  bool ended_ = false;
};

}  // namespace

Result<void> run_on_server(const RunFile& file, const RunOptions& options,
                           const NamedServer& server, Context& context) {
  HOLDFAST_TRY(const auto backend, ServerBackend::open(server, context));
  for (const auto& definition : file.definitions) {
    HOLDFAST_CHECK(backend->register_workflow(*definition));
  }
  HOLDFAST_TRY(const std::int64_t before, position_of(*backend));
  HOLDFAST_TRY(const StartedRun started, backend->start(file.start));
  if (started.existed) {
    HOLDFAST_TRY(const std::string snapshot, backend->json(ShowRequest{{started.run_id}}));
    warn(other_definition_warning(snapshot, *file.definitions.front()));
  }
  Interrupt interrupt([&] {
    if (!context.json()) {
      fmt::print(stderr,
                 "\nthe run continues on the server; only this command stops following it\n");
    }
  });
  Following following(*backend, started, started.existed ? 0 : before, options, context);
  following.know(file.definitions);
  HOLDFAST_TRY(const FollowEnd end, following.run(interrupt));
  HOLDFAST_TRY(const RunView view, following.view(interrupt));
  report_outcome(end, view, {backend->style(), "the workers of the server continue it"}, context);
  return {};
}

}  // namespace holdfast::cli
