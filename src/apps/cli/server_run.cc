#include "apps/cli/server_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/interrupt.h"
#include "apps/cli/json_rows.h"
#include "apps/cli/run_watch.h"
#include "apps/cli/server_backend.h"
#include "apps/client/client_api.h"
#include "apps/client/client_views.h"
#include "apps/client/operation_call.h"
#include "apps/client/work_messages.h"
#include "apps/terminal/show.h"
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

// An event of docs/http-api.md; without a kind when it is not a fact.
struct FactEvent {
  std::string thread;
  std::string kind;
  Payload data;
  std::uint64_t position = 0;
  std::uint64_t seq = 0;
  TimeMs at;

  static void visit(auto& self, auto& v) {
    v.optional("thread", self.thread);
    v.optional("kind", self.kind);
    v.optional("data", self.data);
    v.optional("position", self.position);
    v.optional("seq", self.seq);
    v.optional("at", self.at);
  }
};

// Of an explanation, the members that following a run needs. What is not there is empty.
std::vector<NextAction> actions_of(const Json& json) {
  std::vector<NextAction> actions;
  for (const Json& item : rows_of(json, "next_actions")) {
    actions.push_back({std::string(item.text("action")), std::string(item.text("summary")),
                       std::string(item.text("command")), JsonRow(item).moment("at")});
  }
  return actions;
}

std::vector<Cause> causes_of(const Json& json) {
  std::vector<Cause> causes;
  for (const Json& item : rows_of(json, "causes")) {
    Cause& cause = causes.emplace_back();
    // A reason that only a newer server knows needs no decision.
    cause.reason = enum_from<Reason>(item.text("reason")).value_or(Reason::idle);
    cause.waits_for = item.text("waits_for");
    cause.step = item.text("step");
    cause.summary = item.text("summary");
    cause.until = JsonRow(item).moment("until");
    cause.next_actions = actions_of(item);
    cause.causes = causes_of(item);
  }
  return causes;
}

Result<Explanation> read_explanation(std::string_view text) {
  HOLDFAST_TRY(const Json json, Json::parse(text));
  Explanation why;
  why.summary = json.text("summary");
  why.next_actions = actions_of(json);
  why.causes = causes_of(json);
  const auto as_of = json.find("as_of");
  why.now = as_of.has_value() ? JsonRow(*as_of).moment("time").value_or(TimeMs{}) : TimeMs{};
  return why;
}

// The head of the journal of the server.
Result<std::uint64_t> position_of(ServerBackend& backend) {
  HOLDFAST_TRY(const std::string body, backend.calls().get(client::path_of(operation::kGetServer)));
  HOLDFAST_TRY(const auto server, client::read_response<ServerResponse>(body));
  return server.position;
}

// Follows one run of a server by its events.
class Following {
 public:
  // after: a position before the run. definitions: those that the run may follow.
  Following(ServerBackend& backend, const StartedRun& started, std::uint64_t after,
            const Definitions& definitions, const RunOptions& options, Context& context)
      : backend_(backend),
        run_(started.run_id),
        after_(after),
        until_blocked_(options.until_blocked),
        quiet_(options.quiet || context.json()),
        context_(context),
        style_(backend.style()),
        events_(parse_run_id(started.run_id).value(), [definitions](const SharedText& wanted) {
          const auto found =
              std::find_if(definitions.begin(), definitions.end(),
                           [&](const auto& known) { return known->fingerprint() == wanted; });
          return found == definitions.end() ? nullptr : *found;
        }) {
    style_.width = kLongLine;
    if (!quiet_) {
      print_line(context_, fmt::format("run {}{}", run_,
                                       started.existed ? " (started earlier, continuing)" : ""));
      context_.out.flush();
    }
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
      auto snapshot = backend_.json(ShowRequest{{run_}});
      if (snapshot.ok()) {
        snapshot.value().pop_back();  // the line break
        return client::read_snapshot(std::move(snapshot).value());
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
          const auto fact = from_json<FactEvent>(event.data);
          take(fact.ok() ? fact.value() : FactEvent{});
          return !ended_;
        },
        interrupt.token());
  }

  void take(const FactEvent& fact) {
    if (fact.kind.empty()) {
      return;
    }
    events_.add(
        EntryView{fact.thread, Revision{fact.seq}, fact.kind, fact.at, fact.data.view(), {}},
        Position{fact.position});
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
      print_commands(why.next_actions, style_, context_);
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
  std::uint64_t after_;
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
  HOLDFAST_TRY(const std::uint64_t before, position_of(*backend));
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
  Following following(*backend, started, started.existed ? 0 : before, file.definitions, options,
                      context);
  HOLDFAST_TRY(const FollowEnd end, following.run(interrupt));
  HOLDFAST_TRY(const RunView view, following.view(interrupt));
  report_outcome(end, view, {backend->style(), "the workers of the server continue it"}, context);
  return {};
}

}  // namespace holdfast::cli
