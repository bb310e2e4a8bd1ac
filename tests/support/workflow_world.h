// An environment in which whole workflows run: a core on an in-memory disk, workers whose results
// depend only on the attempt, operators that decide, events that arrive, and a clock that moves
// only when nothing else can happen. The same world therefore always ends the same way, also when
// it is cut off after any commit and resumed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runs/engine/engine_core.h"
#include "runs/facts/activation.h"
#include "runs/language/data/canonical_json.h"
#include "tests/support/test_log.h"

namespace holdfast {

using WorldOutcome = std::variant<Completion, Failure>;

inline Completion says(std::string_view result, std::string_view opts = "") {
  Completion done;
  done.result = Payload::trusted(result);
  done.execution_opts = Payload::trusted(opts);
  return done;
}
inline Failure breaks(std::string_view code, bool retryable = true) {
  return Failure{Payload::trusted(R"({"code":")" + std::string(code) + R"("})"), retryable,
                 std::nullopt};
}

// The behaviour of workers, operators and event senders.
struct WorldScript {
  std::vector<std::string> definitions;  // the first one is started
  std::string input = "{}";
  std::function<WorldOutcome(const Assignment&)> handler = [](const Assignment&) {
    return says("{}");
  };
  // The decision at a pause or an approval; empty: none is ever made.
  std::function<std::optional<ManualAction>(const ManualState&)> decide =
      [](const ManualState& at) {
        return at.kind == BoundaryKind::pause    ? ManualAction::resumed
               : at.kind == BoundaryKind::parked ? ManualAction::retried
                                                 : ManualAction::approved;
      };
  // The event that arrives for a wait; empty: none ever does.
  std::function<std::optional<SharedText>(const EventWait&)> send = [](const EventWait& wait) {
    return wait.opened.event;
  };
  // Called after every commit.
  std::function<void(class WorkflowWorld&)> watch = nullptr;
  std::uint64_t max_steps = 20'000;
};

class WorkflowWorld {
 public:
  static constexpr TimeMs kBegin{1'700'000'000'000};

  explicit WorkflowWorld(const WorldScript& script,
                         std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>(),
                         TimeMs now = kBegin)
      : script_(script),
        disk_(std::move(disk)),
        clock_(now),
        journal_(open_memory_journal(disk_)),
        definitions_(*journal_),
        core_(*journal_, definitions_, {}) {
    must(core_.open());
    for (const std::string& text : script_.definitions) {
      const auto definition = must(Definition::parse(text));
      definitions_.add(definition);
      if (first_ == nullptr) {
        first_ = definition;
      }
    }
  }

  static RunId run_id() {
    RunId run;
    run.uuid.bytes.back() = std::byte{1};
    return run;
  }

  // The parts of play(). move() performs one action; it returns false when none is possible.
  bool move() {
    settle();
    if (work() || decide() || send()) {
      return true;
    }
    const auto next = core_.next_timer(clock_.now());
    if (!next.has_value()) {
      return false;
    }
    clock_.advance_ms(std::max<std::int64_t>(1, next->value - clock_.now().value));
    return true;
  }
  // Decides and writes everything that is possible now.
  void settle() {
    for (int turns = 0; core_.has_work(clock_.now()) || core_.can_write(); ++turns) {
      ASSERT_LT(turns, 10'000) << "the core never becomes idle";
      core_.decide(clock_.now());
      if (core_.can_write()) {
        const Core::Write what = core_.begin_write();
        core_.end_write(journal_->commit_at(what.expected_head, std::move(*what.commit)),
                        clock_.now());
        if (script_.watch) {
          script_.watch(*this);
        }
      }
      for (const auto& effect : core_.take_effects()) {
        effect();
      }
      core_.take_reports();
    }
  }
  // A worker executes the next visible attempt.
  bool work() {
    if (worker_ == nullptr) {
      given_.reset();
      worker_ = std::make_shared<ClaimRequest>();
      worker_->skills = skills_;
      const std::string name =
          "claim-" + std::to_string(clock_.now().value) + "-" + std::to_string(++claims_);
      worker_->applicants = {Applicant{{SharedText(name), sha256(name), "worker", {}}, name}};
      worker_->assigned = [this](std::vector<Result<Assignment>> results) {
        given_.emplace(std::move(results.front()));
      };
      core_.request_claim(worker_);
      settle();
    }
    if (!given_.has_value()) {
      return false;
    }
    const Assignment assignment = must(*std::exchange(given_, std::nullopt));
    worker_.reset();
    const WorldOutcome outcome = script_.handler(assignment);
    const ClaimProof proof = proof_of(assignment);
    const auto reported = execute<Done>([&](Turn& turn) -> Result<Done> {
      if (const auto* failure = std::get_if<Failure>(&outcome)) {
        HOLDFAST_CHECK(fail_attempt(turn, proof, *failure));
      } else {
        HOLDFAST_CHECK(complete_attempt(turn, proof, std::get<Completion>(outcome)));
      }
      return Done{};
    });
    EXPECT_EQ(code_of(reported), "ok");
    return true;
  }
  // Submits a decision about a run, with all that follows from it.
  template <typename Decide>
  void submit(const RunId& id, Decide decision) {
    must(execute<Done>([&](Turn& turn) -> Result<Done> {
      HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(id));
      HOLDFAST_TRY(const RunFacts facts, decision(*run, turn));
      HOLDFAST_CHECK(emit_with_attempts(turn, id, facts));
      return Done{};
    }));
  }

  // Starts the run, if it was not started, and continues until nothing more can happen.
  void play() {
    start();
    for (std::uint64_t step = 0; move(); ++step) {
      ASSERT_LT(step, script_.max_steps) << "the world never becomes idle";
    }
  }

  [[nodiscard]] std::size_t commits() { return bodies_from(journal_->log(), Position{1}).size(); }
  // The disk after so many commits, without checkpoints.
  std::shared_ptr<MemoryDisk> cut_after(std::size_t commits) {
    auto cut = std::make_shared<MemoryDisk>();
    auto log = open_memory_log(cut);
    auto rows = disk_->rows;
    const auto store = must(open_memory_store(cut, OpenMode::write, new_origin(test_uuid(1))));
    for (const auto& [position, row] : rows) {
      if (position.value <= commits) {
        must(store->append(RowView{position, row.body, row.body_hash, row.chain}));
      }
    }
    return cut;
  }

  // Each run as a user sees it, without times.
  std::map<std::string, std::string> outcome() {
    std::map<std::string, std::string> runs;
    for (const RunId& id : run_ids()) {
      const auto run = load(id);
      std::string text = std::string(to_text(run->status())) + " " +
                         without_times(canonical_json(run->context().view()));
      if (run->is_terminal() && !run->terminal()->error.empty()) {
        text += " error " + canonical_json(run->terminal()->error.view());
      }
      std::set<std::string> steps;
      for (const PlannedRunnable* planned : run->runnables()) {
        if (!planned->plan.is_timer() && planned->applied && !planned->withdrawn) {
          steps.insert(planned->plan.step.str());
        }
      }
      for (const std::string& step : steps) {
        text += " " + step;
      }
      runs[to_string(id)] = text;
    }
    return runs;
  }

  std::unique_ptr<RunProjection> load(const RunId& id) {
    auto run = std::make_unique<RunProjection>(id);
    for (const Entry& entry : must(journal_->load(run_thread(id)))) {
      run->fold(entry);
    }
    return run;
  }
  std::vector<RunId> run_ids() {
    std::vector<RunId> ids;
    for (const Entry& entry : must(journal_->load(catalog_thread()))) {
      ids.push_back(must(from_json<RunCataloged>(entry.data)).run_id);
    }
    return ids;
  }
  Journal& journal() { return *journal_; }
  Core& core() { return core_; }
  ManualClock& clock() { return clock_; }

  // Executes a command and returns when it is durable.
  template <typename T>
  Result<T> execute(std::function<Result<T>(Turn&)> decide) {
    std::optional<Result<T>> answer;
    core_.post(std::make_shared<FunctionCommand<T>>(
        std::move(decide), [&](Result<T> result) { answer.emplace(std::move(result)); }));
    settle();
    return *std::move(answer);
  }

 private:
  static std::string without_times(std::string text) {
    for (const std::string_view name : {R"("decided_at":)", R"("received_at":)"}) {
      for (std::size_t at = text.find(name); at != std::string::npos;
           at = text.find(name, at + 1)) {
        std::size_t end = at + name.size();
        while (end < text.size() && text[end] != ',' && text[end] != '}') {
          ++end;
        }
        text.replace(at + name.size(), end - at - name.size(), "0");
      }
    }
    return text;
  }

  void start() {
    StartRun command;
    command.run_id = run_id();
    command.definition = first_;
    command.input = Payload::trusted(script_.input);
    must(execute<Started>([&](Turn& turn) -> Result<Started> {
      for (const std::string& text : script_.definitions) {
        HOLDFAST_CHECK(turn.emit_registration(*must(Definition::parse(text))));
      }
      return start_run(turn, command, IdOrigin::given);
    }));
  }

  bool decide() {
    for (const RunId& id : run_ids()) {
      const auto run = load(id);
      for (const auto& [step, state] : run->boundaries()) {
        if (state.kind == BoundaryKind::event_wait) {
          continue;
        }
        const auto action = script_.decide(state);
        if (!action.has_value()) {
          continue;
        }
        ResolveStep command;
        command.action = *action;
        command.step = step;
        command.source.actor = "ann";
        submit(id, [&](RunProjection& known, Turn& turn) {
          return decide_resolve(known, command, EngineSurroundings(turn), turn.now());
        });
        return true;
      }
    }
    return false;
  }

  bool send() {
    for (const RunId& id : run_ids()) {
      const auto run = load(id);
      for (const auto& [wait_id, wait] : run->waits()) {
        const auto event = wait.status == WaitStatus::waiting ? script_.send(wait) : std::nullopt;
        if (!event.has_value()) {
          continue;
        }
        SendEvent command;
        command.event = *event;
        command.correlation = wait.opened.correlation;
        command.payload = Payload::trusted(R"({"said":")" + event->str() + R"("})");
        // Another wait may have received the event meant for this one.
        command.source.idempotency_key = wait_id + "-" + std::to_string(run->receipts().size());
        submit(id, [&](RunProjection& known, Turn& turn) {
          return decide_receive_event(known, command, EngineSurroundings(turn), turn.now());
        });
        return true;
      }
    }
    return false;
  }

  WorldScript script_;
  std::shared_ptr<MemoryDisk> disk_;
  ManualClock clock_;
  std::unique_ptr<Journal> journal_;
  Definitions definitions_;
  Core core_;
  std::shared_ptr<const Definition> first_;
  std::shared_ptr<const Skills> skills_ =
      std::make_shared<const Skills>(Skills{{{SharedText(kDefaultQueue), SharedText("slow")}}, {}});
  ClaimRequestPtr worker_;
  std::optional<Result<Assignment>> given_;
  std::uint64_t claims_ = 0;
};

}  // namespace holdfast
