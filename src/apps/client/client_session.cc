#include "apps/client/client_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "apps/client/client_views.h"
#include "apps/client/remote_worker.h"
#include "base/encoding.h"
#include "base/names.h"
#include "base/uuid.h"
#include "runs/api/public_requests.h"
#include "runs/facts/ids.h"
#include "runs/language/definition/definition.h"

namespace holdfast::client {

namespace {

using std::chrono::milliseconds;

std::string machine_name() {
  std::array<char, 65> host{};
  const bool known = gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0';
  return known ? host.data() : "host";
}

WorkerIdentity new_identity(const ClientOptions& options, Random& random) {
  constexpr std::size_t kSecretBytes = 32;
  constexpr std::size_t kMarkBytes = 6;
  std::array<std::byte, kSecretBytes> secret{};
  std::array<std::byte, kMarkBytes> mark{};
  random.fill(secret);
  random.fill(mark);
  WorkerIdentity identity;
  identity.name = options.name.empty() ? machine_name() : options.name;
  identity.version = options.version;
  identity.id = fmt::format("{}-{}-{}", identity.name, getpid(), to_base64url(mark));
  identity.secret = to_base64url(secret);
  return identity;
}

CredentialSource credentials_of(const ClientOptions& options) {
  if (options.credential) {
    return options.credential;
  }
  return [](std::string_view) -> std::optional<std::string> { return std::nullopt; };
}

}  // namespace

// Sends nothing.
Result<void> Session::prepare(std::string_view url) {
  for (const std::string& queue : options_.queues) {
    HOLDFAST_CHECK(check_name("queue", queue));
  }
  net::HttpOptions http;
  http.token = options_.token;
  http.tls_ca_file = options_.tls_ca_file;
  HOLDFAST_TRY(auto opened, net::HttpClient::create(url, http));
  api_ = std::make_unique<Api>(std::move(opened), random_, options_.patience);
  AttemptHandlers handlers;
  if (options_.built_in_steps) {
    handlers[SharedText(kExecHandler)] = exec_handler();
    handlers[SharedText(kHttpHandler)] = http_handler(credentials_of(options_));
  }
  handlers_ = std::make_shared<const AttemptHandlers>(std::move(handlers));
  return {};
}

Result<void> Session::open(std::string_view url) {
  HOLDFAST_CHECK(prepare(url));
  HOLDFAST_CHECK(call({"GET", path_of(operation::kGetServer)}));
  return {};
}

Result<void> Session::open_when_available(std::string_view url, const std::stop_token& stop,
                                          const Api::Waiting& waiting) {
  HOLDFAST_CHECK(prepare(url));
  ApiCall call;
  call.path = path_of(operation::kGetServer);
  HOLDFAST_CHECK(api_->call_when_available(call, stop, waiting));
  return {};
}

Result<void> Session::add_definition(const Definition& definition) {
  HOLDFAST_CHECK(
      call({"POST", path_of(operation::kRegisterWorkflow), std::string(definition.spec().view())}));
  return {};
}

Result<void> Session::add_handler(std::string_view name, AttemptHandler handler) {
  HOLDFAST_CHECK(check_name("handler", name));
  const std::scoped_lock lock(mutex_);
  AttemptHandlers table = *handlers_;
  table[SharedText(name)] = std::move(handler);
  handlers_ = std::make_shared<const AttemptHandlers>(std::move(table));
  return {};
}

Result<void> Session::work(std::size_t threads, const std::stop_token& stop) {
  if (threads == 0) {
    return Error{ErrorCode::invalid_argument, "a worker needs at least one thread"}.with("field",
                                                                                         "threads");
  }
  std::shared_ptr<const AttemptHandlers> handlers;
  {
    const std::scoped_lock lock(mutex_);
    handlers = handlers_;
  }
  if (handlers->empty()) {
    return Error{ErrorCode::unknown_handler, "no handler was registered"};
  }
  WorkPlan plan;
  plan.threads = threads;
  plan.patience = options_.patience;
  plan.queues = options_.queues;
  plan.observe = options_.observe;
  return RemoteWorker(*api_, new_identity(options_, random_), handlers, plan).run(stop);
}

Result<void> Session::check_run(std::string_view run_id) {
  if (run_id.empty()) {
    return Error{ErrorCode::invalid_argument, "the run id is empty"}.with("field", "run_id");
  }
  return {};
}

Result<DeadLetterDecision> Session::decide(DeadLetterAction action,
                                           const DeadLetterSelection& selection) {
  HOLDFAST_TRY(const DeadLetterBulkRequest request, dead_letter_bulk_request(action, selection));
  ApiCall bulk;
  bulk.method = operation::kBulkDeadLetters.method;
  bulk.path = path_of(operation::kBulkDeadLetters);
  HOLDFAST_TRY(bulk.body, request_json(request));
  bulk.repeatable = selection.dry_run || (!selection.run_id.empty() &&
                                          request.filter.reason == DeadLetterReason::exhausted);
  HOLDFAST_TRY(const std::string json, call(bulk));
  return read_dead_letter_decision(json);
}

std::string Session::new_id() { return to_string(make_uuid(clock_.now(), random_)); }

Result<RunView> Session::wait(std::string_view run_id, milliseconds timeout) {
  constexpr milliseconds kLongest{30'000};  // of one call
  constexpr milliseconds kMargin{15'000};
  const auto begin = std::chrono::steady_clock::now();
  HOLDFAST_CHECK(check_run(run_id));
  for (bool over = false; !over;) {
    const auto passed =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    const milliseconds left = std::max(timeout - passed, milliseconds(0));
    const milliseconds wait = std::min(left, kLongest);
    ApiCall waiting;
    waiting.path =
        target_of(OutcomeRequest{std::string(run_id), static_cast<std::uint64_t>(wait.count())});
    waiting.timeout = wait + kMargin;
    HOLDFAST_TRY(const std::string body, api_->call(waiting));
    HOLDFAST_TRY(const OutcomeResponse outcome, read_response<OutcomeResponse>(body));
    over = outcome.terminal || left <= kLongest;
  }
  HOLDFAST_TRY(std::string snapshot, get(ShowRequest{{std::string(run_id), ""}}));
  return read_snapshot(std::move(snapshot));
}

}  // namespace holdfast::client
