#include "lab/broker_sim/broker_sim_process.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/json_value.h"
#include "delivery/broker/broker.h"
#include "delivery/broker/mapped_limiter.h"
#include "delivery/broker/queues.h"
#include "delivery/broker/retention.h"
#include "holdfast/assert.h"

namespace holdfast::broker_sim {

namespace {

using delivery::FaultPoint;
using sim::kMs;
using sim::kSecond;

constexpr std::array<const char*, 19> kPointNames{
    "dedupe_read",      "budget_consumed",     "claimed",           "destination_checked",
    "message_inserted", "deliveries_inserted", "history_inserted",  "mentions_inserted",
    "before_commit",    "after_commit",        "replied",           "rows_swept",
    "message_pruned",   "deliveries_claimed",  "deliveries_pushed", "deliveries_acked",
    "queue_read",       "queue_written",       "queue_committed"};

std::string name_of(FaultPoint point) { return kPointNames.at(static_cast<std::size_t>(point)); }

template <typename T>
T must_have(Result<T> result) {
  HOLDFAST_ASSERT(result.ok());
  return std::move(result).value();
}

// In memory where the system has such a file system: every transaction is synced.
std::string new_folder() {
  const std::filesystem::path fast = "/dev/shm";
  std::error_code none;
  const auto root =
      std::filesystem::is_directory(fast, none) ? fast : std::filesystem::temp_directory_path();
  std::string pattern = (root / "holdfast-sim-XXXXXX").string();
  HOLDFAST_ASSERT(mkdtemp(pattern.data()) != nullptr);
  return pattern;
}

OracleAnswer answer_of(const net::Response& response) {
  OracleAnswer answer;
  answer.status = response.status;
  answer.available = true;
  const auto json = Json::parse(response.body);
  if (!json.ok()) {
    return answer;
  }
  answer.error = json.value().text("error");
  if (response.status < 300) {
    answer.broker_message_id = json.value().text("broker_message_id");
    answer.history_id = json.value().text("history_id");
    answer.first_seen_at = json.value().integer("first_seen_at").value_or(0);
    answer.fanout = static_cast<std::uint64_t>(json.value().integer("fanout_count").value_or(0));
    const auto available = json.value().find("history_available");
    answer.available = available.has_value() && available->boolean().value_or(false);
    const auto duplicate = json.value().find("duplicate");
    const bool repeated = duplicate.has_value() && duplicate->boolean().value_or(false);
    answer.status = repeated == (response.status == 200) ? response.status : 0;
  } else if (response.status == 409) {
    answer.prefix = json.value().text("broker_fingerprint_prefix");
  }
  return answer;
}

}  // namespace

struct BrokerMachine::Request {
  std::size_t process;
  SimMessage message;
  OracleRequest judged;
  OnAnswer on_answer;
  net::Response response;
  std::vector<delivery::AcceptRow> rows;  // that wait for a transaction
  std::vector<Result<delivery::AcceptOutcome>> outcomes;
  std::unique_ptr<SimTask> task;
  std::uint64_t number = 0;
  bool crashed = false;  // the process dies at the point where it is
};

// What a broker sees of the database.
class BrokerMachine::Store final : public delivery::BrokerStore {
 public:
  Store(BrokerMachine& machine, std::size_t process)
      : BrokerStore(
            [&machine, process](FaultPoint point) { return machine.reached(process, point); }),
        machine_(machine) {}

  std::vector<Result<delivery::AcceptOutcome>> accept(
      std::span<const delivery::AcceptRow> group) override {
    Request& request = *machine_.current_;
    request.rows.assign(group.begin(), group.end());
    request.task->park();
    return std::move(request.outcomes);
  }
  Result<void> write(const Work& work) override { return machine_.database_->write(work); }
  Result<void> deliver(const Work& work) override { return machine_.database_->deliver(work); }
  Result<void> read(const Work& work) override { return machine_.database_->read(work); }
  Result<void> scan(const Work& work) override { return machine_.database_->scan(work); }

 private:
  BrokerMachine& machine_;
};

class BrokerMachine::Limiter final : public delivery::RateLimiter {
 public:
  Limiter(BrokerMachine& machine, const std::string& path)
      : machine_(machine), real_(must_have(delivery::MappedLimiter::open(path, 4096))) {}

  delivery::BudgetAnswer consume(const delivery::LimitedWorkspace& workspace, const Digest& marker,
                                 TimeMs now) override {
    OracleRequest& judged = machine_.current_->judged;
    if (machine_.limiter_down_) {
      machine_.world_.coverage.add("fault:limiter_down");
      machine_.world_.oracle.budget(judged, OracleBudget::unavailable);
      return {};
    }
    const auto answer = real_->consume(workspace, marker, now);
    using State = delivery::BudgetAnswer::State;
    machine_.world_.oracle.budget(judged, answer.state == State::admitted ? OracleBudget::admitted
                                          : answer.state == State::denied
                                              ? OracleBudget::denied
                                              : OracleBudget::unavailable);
    return answer;
  }
  void note_refused(const delivery::LimitedWorkspace& workspace, const Digest& marker,
                    TimeMs now) override {
    real_->note_refused(workspace, marker, now);
    machine_.world_.oracle.note_refused(machine_.current_->judged);
  }

 private:
  BrokerMachine& machine_;
  std::unique_ptr<delivery::MappedLimiter> real_;
};

struct BrokerMachine::Process {
  explicit Process(const sim::Schedule& schedule) : clock(schedule) {}

  bool up = false;
  bool commit_scheduled = false;
  std::uint64_t starts = 0;
  sim::SimClock clock;
  delivery::BrokerMetrics metrics = {};
  std::unique_ptr<Store> store = nullptr;
  std::unique_ptr<Limiter> limiter = nullptr;
  std::unique_ptr<SeededRandom> random = nullptr;  // of the queues
  std::unique_ptr<delivery::Queues> queues = nullptr;
  std::vector<std::shared_ptr<Request>> requests = {};  // in flight
};

BrokerMachine::BrokerMachine(BrokerWorld& world, std::uint32_t processes)
    : world_(world), folder_(new_folder()) {
  open_database();
  for (std::size_t i = 0; i < processes; ++i) {
    processes_.push_back(std::make_unique<Process>(world_.schedule));
    const auto skew = static_cast<std::int64_t>(world_.dice.below(50, "skew", i));
    processes_.back()->clock.set(skew, 0);
    start(i);
  }
}

BrokerMachine::~BrokerMachine() {
  processes_.clear();
  database_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool BrokerMachine::is_up(std::size_t process) const { return processes_[process]->up; }

std::int64_t BrokerMachine::now(std::size_t process) {
  const std::int64_t now = processes_[process]->clock.now().value;
  newest_time_ = std::max(newest_time_, now);
  return now;
}

void BrokerMachine::jump_clock(std::int64_t ms) {
  for (const auto& process : processes_) {
    process->clock.set(process->clock.offset_ms() + ms, 0);
  }
}

std::int64_t BrokerMachine::delay(const char* label, std::int64_t most_us) {
  return 1 + static_cast<std::int64_t>(
                 world_.dice.below(static_cast<std::uint64_t>(most_us), label, ++events_));
}

void BrokerMachine::open_database() {
  database_.reset();
  delivery::BrokerStoreOptions options;
  options.fault = [this](FaultPoint point) { return reached_in_transaction(point); };
  database_ = must_have(delivery::open_sqlite_broker_store(folder_ + "/broker.db", options));
}

void BrokerMachine::start(std::size_t index) {
  Process& process = *processes_[index];
  process.up = true;
  ++process.starts;
  process.store = std::make_unique<Store>(*this, index);
  process.random = std::make_unique<SeededRandom>(world_.dice.number("leases", ++events_));
  process.queues =
      std::make_unique<delivery::Queues>(*process.store, process.clock, *process.random);
  process.limiter = std::make_unique<Limiter>(*this, folder_ + "/limits");
}

void BrokerMachine::crash(std::size_t index) {
  Process& process = *processes_[index];
  if (!process.up) {
    return;
  }
  world_.log(fmt::format("process {} dies with {} requests", index, process.requests.size()));
  world_.coverage.add("fault:crash");
  process.up = false;
  process.commit_scheduled = false;
  process.requests.clear();
  process.queues.reset();
  process.store.reset();
  process.limiter.reset();
  open_database();
  check_tables();
  world_.schedule.after(delay("down", 2 * kSecond), [this, index] {
    world_.log(fmt::format("process {} starts", index));
    start(index);
  });
}

void BrokerMachine::send(std::size_t index, const SimMessage& message, OnAnswer on_answer) {
  Process& process = *processes_[index];
  HOLDFAST_ASSERT(process.up);
  auto request = std::make_shared<Request>();
  request->process = index;
  request->message = message;
  request->judged.message = &request->message;
  request->on_answer = std::move(on_answer);
  request->number = ++events_;
  process.requests.push_back(request);
  Request* const raw = request.get();
  request->task = std::make_unique<SimTask>([this, raw] {
    Process& mine = *processes_[raw->process];
    SeededRandom random(world_.dice.number("ids", raw->number));
    delivery::Broker broker(*mine.store, *mine.limiter, mine.clock, random);
    delivery::BrokerService service{.store = *mine.store,
                                    .clock = mine.clock,
                                    .random = random,
                                    .metrics = mine.metrics,
                                    .broker = &broker};
    net::Request http;
    http.method = "POST";
    http.path = "/v1/messages";
    if (!raw->message.token.empty()) {
      http.headers.push_back({"Authorization", "Bearer " + raw->message.token});
    }
    http.body = request_body(raw->message);
    raw->response = delivery::respond(service, http);
  });
  request->judged.now = now(index);
  world_.oracle.begin(request->judged);
  run(*request);
}

// Until it ends or waits; it is gone after that if it has ended.
void BrokerMachine::run(Request& request) {
  const std::size_t index = request.process;
  current_ = &request;
  request.task->run();
  current_ = nullptr;
  if (request.crashed) {
    crash(index);
  } else if (request.task->ended()) {
    finish(request);
  } else if (request.rows.empty()) {
    resume_later(request, delay("step", 20 * kMs));
  } else if (!processes_[index]->commit_scheduled) {
    processes_[index]->commit_scheduled = true;
    const std::uint64_t life = processes_[index]->starts;
    world_.schedule.after(delay("group", 30 * kMs), [this, index, life] {
      if (processes_[index]->up && processes_[index]->starts == life) {
        commit(index);
      }
    });
  }
}

void BrokerMachine::resume_later(Request& request, std::int64_t delay_us) {
  const auto& requests = processes_[request.process]->requests;
  const auto found = std::find_if(requests.begin(), requests.end(),
                                  [&](const auto& other) { return other.get() == &request; });
  HOLDFAST_ASSERT(found != requests.end());
  world_.schedule.after(delay_us, [this, weak = std::weak_ptr(*found)] {
    if (const auto waiting = weak.lock()) {
      run(*waiting);
    }
  });
}

void BrokerMachine::finish(Request& request) {
  const OracleAnswer answer = answer_of(request.response);
  world_.log(fmt::format("process {} answers {} with {} {}", request.process, request.message.id,
                         answer.status, answer.error));
  world_.coverage.add(fmt::format(
      "answer:{}", answer.error.empty() ? std::to_string(answer.status) : answer.error));
  world_.oracle.check_answer(request.judged, answer);
  if (answer.status == 429 && request.response.body.find("retry_after") == std::string::npos) {
    world_.oracle.fail("an answer 429 does not say when to try again");
  }
  const OnAnswer on_answer = std::move(request.on_answer);
  const net::Response response = std::move(request.response);
  auto& requests = processes_[request.process]->requests;
  std::erase_if(requests, [&](const auto& other) { return other.get() == &request; });
  on_answer(response);
}

// Those that wait, in their order; no key twice, as the locks of a broker make sure.
std::vector<BrokerMachine::Request*> BrokerMachine::next_group(std::size_t process) {
  const std::size_t most = 1 + world_.dice.below(8, "group size", ++events_);
  std::set<std::string> keys;
  std::vector<Request*> group;
  for (const auto& request : processes_[process]->requests) {
    const bool waits = !request->rows.empty() && request->outcomes.empty();
    if (waits && group.size() < most &&
        keys
            .insert(BrokerOracle::dedupe_key(
                request->rows[0].mesh_id, request->rows[0].sender_member_id, request->message.id))
            .second) {
      group.push_back(request.get());
    }
  }
  return group;
}

void BrokerMachine::commit(std::size_t index) {
  Process& process = *processes_[index];
  process.commit_scheduled = false;
  std::vector<Request*> group = next_group(index);
  if (group.empty()) {
    return;
  }
  std::vector<delivery::AcceptRow> rows;
  for (const Request* request : group) {
    rows.push_back(request->rows[0]);
  }
  world_.coverage.add(group.size() > 1 ? "group:several" : "group:one");
  committing_ = index;
  faulted_whole_ = answer_lost_ = committed_ = false;
  claimed_ = 0;
  group_size_ = group.size();
  failed_.clear();
  failing_.reset();
  std::vector<Result<delivery::AcceptOutcome>> outcomes;
  bool died = false;
  try {
    outcomes = database_->accept(rows);
  } catch (const ProcessDied&) {
    died = true;
  }
  world_.log(fmt::format("process {} commits {} messages{}", index, group.size(),
                         died ? " and dies" : ""));
  if (died) {
    for (std::size_t i = 0; committed_ && i < group.size(); ++i) {
      if (!failed_.contains(i)) {
        world_.oracle.transact(group[i]->judged, rows[i].broker_message_id, rows[i].history_id);
      }
    }
    return crash(index);
  }
  settle(group, outcomes);
  const bool more = std::any_of(process.requests.begin(), process.requests.end(), [](auto& one) {
    return !one->rows.empty() && one->outcomes.empty();
  });
  if (more) {
    process.commit_scheduled = true;
    world_.schedule.after(delay("group", 30 * kMs), [this, index, life = process.starts] {
      if (processes_[index]->up && processes_[index]->starts == life) {
        commit(index);
      }
    });
  }
}

void BrokerMachine::settle(std::vector<Request*>& group,
                           const std::vector<Result<delivery::AcceptOutcome>>& outcomes) {
  HOLDFAST_ASSERT(outcomes.size() == group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    Request& request = *group[i];
    const bool applied = !failed_.contains(i) && !faulted_whole_;
    if (applied) {
      world_.oracle.transact(request.judged, request.rows[0].broker_message_id,
                             request.rows[0].history_id);
    }
    request.judged.failed = !applied || answer_lost_;
    if (outcomes[i].ok() == request.judged.failed) {
      world_.oracle.fail(std::string("a store that ") +
                         (outcomes[i].ok() ? "failed reports success for "
                                           : "did not fail reports a failure of ") +
                         request.message.id);
    }
    request.outcomes.push_back(outcomes[i]);
    resume_later(request, delay("committed", 20 * kMs));
  }
}

// Called by the code under test: in the thread of a request, or in a job.
Result<void> BrokerMachine::reached(std::size_t index, FaultPoint point) {
  queue_committed_ = queue_committed_ || point == FaultPoint::queue_committed;
  const auto fault = std::find_if(armed_.begin(), armed_.end(), [&](const ArmedFault& armed) {
    return armed.process == index && armed.point == point;
  });
  if (fault != armed_.end()) {
    const bool crash = fault->crash;
    armed_.erase(fault);
    world_.coverage.add((crash ? "crash:" : "error:") + name_of(point));
    if (crash) {
      if (current_ != nullptr) {
        current_->crashed = true;
      }
      throw ProcessDied{};
    }
    if (current_ != nullptr) {
      current_->judged.failed = true;
    }
    return Error{ErrorCode::io_error, "a planted failure"};
  }
  if (current_ != nullptr) {
    current_->task->park();
  }
  return {};
}

Result<void> BrokerMachine::reached_in_transaction(FaultPoint point) {
  committed_ = committed_ || point == FaultPoint::after_commit;
  claimed_ += point == FaultPoint::claimed ? 1U : 0U;
  if (failing_ == std::pair(claimed_, point)) {
    failing_.reset();
    return Error{ErrorCode::io_error, "a planted failure"};
  }
  const auto fault = std::find_if(armed_.begin(), armed_.end(), [&](const ArmedFault& armed) {
    return armed.process == committing_ && armed.point == point;
  });
  if (fault == armed_.end()) {
    return {};
  }
  const bool crash = fault->crash;
  armed_.erase(fault);
  world_.coverage.add((crash ? "crash:" : "error:") + name_of(point));
  if (crash) {
    throw ProcessDied{};
  }
  if (point < FaultPoint::before_commit) {
    const bool once_more = failed_.empty() && group_size_ > 1;
    failed_.insert(claimed_ - 1);
    if (once_more) {
      failing_ = {claimed_, point};
      claimed_ = 0;
    }
  }
  faulted_whole_ = faulted_whole_ || point == FaultPoint::before_commit;
  answer_lost_ = point == FaultPoint::after_commit;
  return Error{ErrorCode::io_error, "a planted failure"};
}

net::Response BrokerMachine::call(std::size_t index, const std::string& token,
                                  const std::string& method, const std::string& path,
                                  const std::string& body) {
  Process& process = *processes_[index];
  HOLDFAST_ASSERT(process.up);
  SeededRandom random(world_.dice.number("call", ++events_));
  delivery::BrokerService service{.store = *process.store,
                                  .clock = process.clock,
                                  .random = random,
                                  .metrics = process.metrics,
                                  .admin_token_hash = sha256(std::string_view(kAdminToken)),
                                  .queues = process.queues.get()};
  net::Request http;
  http.method = method;
  const std::size_t question = path.find('?');
  http.path = path.substr(0, question);
  http.query = question == std::string::npos ? "" : path.substr(question + 1);
  http.headers.push_back({"Authorization", "Bearer " + token});
  http.body = body;
  static_cast<void>(now(index));
  return delivery::respond(service, http);
}

void BrokerMachine::consume(std::size_t index, const std::string& token, const std::string& path,
                            const std::string& body, const OnConsumed& apply) {
  queue_committed_ = false;
  try {
    const net::Response response = call(index, token, "POST", path, body);
    apply(queue_committed_, &response);
  } catch (const ProcessDied&) {
    apply(queue_committed_, nullptr);
    crash(index);
  }
}

void BrokerMachine::advance_queues(std::size_t index) {
  const std::int64_t at = now(index);
  const auto events = processes_[index]->queues->advance_all();
  HOLDFAST_ASSERT(events.ok());
  world_.oracle.advance_queues(at);
}

// A job that dies or fails must leave everything as it was.
template <typename Job>
void BrokerMachine::run_job(std::size_t index, const Job& job) {
  try {
    const Result<std::uint64_t> taken = job();
    if (!taken.ok()) {
      return check_tables();
    }
    if (taken.value() > 0) {
      world_.log(fmt::format("process {} removed {}", index, taken.value()));
    }
  } catch (const ProcessDied&) {
    crash(index);
  }
}

void BrokerMachine::sweep(std::size_t index, std::uint32_t limit) {
  const TimeMs at{now(index)};
  run_job(index, [&]() -> Result<std::uint64_t> {
    auto taken = delivery::sweep_dedupe(*processes_[index]->store, at, limit);
    if (taken.ok()) {
      world_.coverage.add("job:swept", taken.value());
      world_.oracle.swept(at.value, limit,
                          stored("SELECT mesh_id || '/' || sender_member_id || '/' || "
                                 "client_message_id FROM @.client_message_dedupe"),
                          taken.value());
    }
    return taken;
  });
}

void BrokerMachine::prune(std::size_t index, std::uint32_t limit) {
  const TimeMs at{now(index)};
  run_job(index, [&]() -> Result<std::uint64_t> {
    HOLDFAST_TRY(const delivery::Pruned pruned,
                 delivery::prune_messages(*processes_[index]->store, at, limit));
    world_.coverage.add("job:pruned", pruned.messages);
    world_.oracle.pruned(at.value, limit,
                         stored("SELECT broker_message_id FROM @.topic_message UNION ALL "
                                "SELECT broker_message_id FROM @.message_queue"),
                         pruned.messages);
    return pruned.messages;
  });
}

}  // namespace holdfast::broker_sim
