// The store as a whole: queues, workers, pending approvals, tokens, backups.
#include <algorithm>

#include "apps/server/queue_view.h"
#include "apps/server/server_call.h"
#include "apps/server/server_operations.h"
#include "runs/run/redact.h"
#include "storage/journal/journal_transfer.h"

namespace holdfast {

namespace {

Result<void> answer_queues(const CallPtr& call, const std::string& only) {
  HOLDFAST_CHECK(call->query.finish());
  submit_or_read<std::vector<QueueView>>(
      call,
      [only](Turn& turn) -> Result<std::vector<QueueView>> { return queue_views(turn, only); },
      [call, only](std::vector<QueueView> queues) {
        const TimeMs now = call->service.clock.now();
        if (call->service.leases != nullptr) {
          add_backends(queues, call->service.leases->health(), only);
        }
        const auto workers = call->service.workers.all(now);
        if (only.empty()) {
          return call->answer_json(queues_text(queues, workers, now));
        }
        if (queues.empty()) {
          return call->fail(
              Error{ErrorCode::not_found, "queue \"" + only + "\" does not exist"}.with("queue",
                                                                                        only));
        }
        call->answer_json(queue_text(queues.front(), workers, now));
      });
  return {};
}

// Streams a backup. A chunk is read when the previous one is sent, so a slow client occupies no
// thread.
class BackupStream : public std::enable_shared_from_this<BackupStream> {
 public:
  BackupStream(CallPtr call, JournalExport whole)
      : call_(std::move(call)), export_(std::move(whole)) {}

  void begin() {
    net::Response head;
    head.content_type = "application/jsonl";
    head.headers.push_back(
        {"Content-Disposition", "attachment; filename=\"holdfast-backup.jsonl\""});
    stream_ = call_->exchange->stream(std::move(head));
    send_next();
  }

 private:
  // An interrupted backup lacks its last line, so it cannot be mistaken for a complete one.
  void send_next() {
    const Result<void> taken = call_->service.readers.run([self = shared_from_this()] {
      auto chunk = self->export_.next();
      if (!chunk.ok()) {
        self->call_->service.log.write(LogLevel::error, "backup failed",
                                       {{"why", chunk.error().text()}});
      }
      if (!chunk.ok() || chunk.value().empty()) {
        self->end();
        return;
      }
      self->stream_->write(std::move(chunk).value(), [self](bool alive) {
        if (alive) {
          self->send_next();
        } else {
          self->end();
        }
      });
    });
    if (!taken.ok()) {
      end();
    }
  }

  void end() {
    call_->note(200);
    stream_->finish();
  }

  const CallPtr call_;
  JournalExport export_;
  std::shared_ptr<net::Stream> stream_;
};

struct OpenWait {
  RunId run;
  SharedText step;
  TimeMs since;
};

constexpr std::size_t kMostApprovals = 1000;

// Read from the runs. Steps that were decided in the meantime are omitted.
Result<ApprovalsResponse> approvals_of(Service& service, const Caller& caller,
                                       const std::vector<OpenWait>& waits) {
  Journal& journal = service.loop.journal();
  ApprovalsResponse response;
  for (const OpenWait& wait : waits) {
    HOLDFAST_TRY(const auto entries, journal.load(run_thread(wait.run)));
    RunProjection run(wait.run);
    for (const Entry& entry : entries) {
      run.fold(entry);
    }
    const auto state = run.boundaries().find(wait.step);
    if (run.is_terminal() || !run.started().has_value() || state == run.boundaries().end() ||
        !caller.may_see(run.started()->workflow.view())) {
      continue;
    }
    Approval& approval = response.approvals.emplace_back();
    approval.run_id = to_string(wait.run);
    approval.workflow = run.started()->workflow.str();
    approval.step = wait.step.str();
    approval.kind = to_text(state->second.kind);
    approval.since = wait.since;
    approval.reason = state->second.reason.str();
    if (!state->second.metadata.empty()) {
      approval.details = redact(state->second.metadata);
    }
  }
  return response;
}

}  // namespace

Result<void> list_queues(const CallPtr& call) { return answer_queues(call, ""); }
Result<void> get_queue(const CallPtr& call) { return answer_queues(call, call->arguments.front()); }

Result<void> list_workers(const CallPtr& call) {
  HOLDFAST_CHECK(call->query.finish());
  submit_or_read<std::vector<LeaseView>>(
      call, [](Turn& turn) -> Result<std::vector<LeaseView>> { return lease_views(turn); },
      [call](const std::vector<LeaseView>& leases) {
        const TimeMs now = call->service.clock.now();
        call->answer_json(workers_text(call->service.workers.all(now), leases));
      });
  return {};
}

Result<void> list_approvals(const CallPtr& call) {
  HOLDFAST_CHECK(call->query.finish());
  submit_or_read<std::vector<OpenWait>>(
      call,
      [](Turn& turn) -> Result<std::vector<OpenWait>> {
        std::vector<OpenWait> waits;
        for (const auto& [step, since] : turn.state().runs().manual_waits()) {
          waits.push_back({step.first, step.second, since});
        }
        std::stable_sort(waits.begin(), waits.end(), [](const auto& left, const auto& right) {
          return left.since < right.since;
        });
        waits.resize(std::min(waits.size(), kMostApprovals));
        return waits;
      },
      [call](const std::vector<OpenWait>& waits) {
        read(call, [call, waits]() -> Result<void> {
          HOLDFAST_TRY(const auto response, approvals_of(call->service, call->caller, waits));
          call->answer_json(response_json(response));
          return {};
        });
      });
  return {};
}

Result<void> list_tokens(const CallPtr& call) {
  HOLDFAST_CHECK(call->query.finish());
  const auto tokens = call->service.loop.tokens();
  call->answer_json(to_json(*tokens, call->service.clock.now()).view());
  return {};
}

Result<void> create_token(const CallPtr& call) {
  HOLDFAST_TRY(const CreateTokenRequest body, read_body<CreateTokenRequest>(*call));
  CreateToken command;
  command.name = body.name;
  command.role = body.role;
  command.queues = body.queues;
  command.workflows = body.workflows;
  command.expires_at = body.expires_at;
  command.actor = call->caller.actor("");
  TokenParts::RandomBytes random;
  call->service.random.fill(random);
  const TokenParts parts(random);
  submit<Token>(
      call,
      [command, parts](Turn& turn) -> Result<Token> {
        HOLDFAST_TRY(const TokenCreated fact,
                     decide_create(turn.state().registry().tokens(), command, parts.id,
                                   parts.secret, turn.now()));
        HOLDFAST_CHECK(turn.emit(fact));
        return Token{fact, turn.now()};
      },
      [call, parts](const Token& token) {
        const Payload created(to_json(token, call->service.clock.now()));
        call->answer_json(response_json(CreateTokenResponse{
                              parts.id, bearer_text(parts.id, parts.secret), created}),
                          201);
      });
  return {};
}

Result<void> revoke_token(const CallPtr& call) {
  HOLDFAST_CHECK(call->query.finish());
  const std::string id = call->arguments.front();
  submit<Done>(
      call,
      [id, actor = call->caller.actor("")](Turn& turn) -> Result<Done> {
        HOLDFAST_TRY(const auto fact, decide_revoke(turn.state().registry().tokens(), id, actor));
        if (fact.has_value()) {
          HOLDFAST_CHECK(turn.emit(*fact));
        }
        return Done{};
      },
      [call](const Done&) {
        call->answer_json(response_json(RevokeTokenResponse{call->arguments.front()}));
      });
  return {};
}

Result<void> get_backup(const CallPtr& call) {
  HOLDFAST_CHECK(call->query.finish());
  read(call, [call]() -> Result<void> {
    HOLDFAST_TRY(JournalExport whole, JournalExport::begin(call->service.loop.journal().log()));
    std::make_shared<BackupStream>(call, std::move(whole))->begin();
    return {};
  });
  return {};
}

}  // namespace holdfast
