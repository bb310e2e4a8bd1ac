#include "holdfast/client.h"

#include "apps/client/client_session.h"
#include "apps/client/client_views.h"
#include "runs/api/public_requests.h"
#include "runs/api/workflow_builder.h"
#include "runs/language/definition/definition.h"
#include "runs/language/yaml/check_workflow.h"

namespace holdfast {

namespace {

Result<void> done(const Result<std::string>& answer) {
  return answer.ok() ? Result<void>() : Result<void>(answer.error());
}

// NAME=VALUE: strings without quotes, unless they would be read as another type.
Result<std::vector<std::string>> attribute_texts(const std::string& attributes) {
  HOLDFAST_TRY(const Json object, Json::parse(attributes.empty() ? "{}" : attributes));
  if (object.kind() != Json::Kind::object) {
    return Error{ErrorCode::invalid_argument, "the attributes are not a JSON object"}.with(
        "field", "attributes");
  }
  const JsonText compact = JsonText::parse(attributes.empty() ? "{}" : attributes).value();
  std::vector<std::string> texts;
  JsonSlicer slicer(compact.view());
  while (const auto member = slicer.next()) {
    const std::string name = json_string_value('"' + std::string(member->name) + '"').value_or("");
    const auto text = json_string_value(member->value);
    const bool plain = text.has_value() && !text->empty() && !Json::parse(*text).ok();
    texts.push_back(name + "=" + (plain ? *text : std::string(member->value)));
  }
  return texts;
}

}  // namespace

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&& other) noexcept = default;
Client& Client::operator=(Client&& other) noexcept = default;
Client::~Client() = default;

Result<Client::Impl*> Client::live() const {
  if (impl_ == nullptr) {
    return Error{ErrorCode::invalid_argument, "this client was moved from"};
  }
  return impl_.get();
}

Result<Client> Client::connect(std::string_view url, const ClientOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  HOLDFAST_CHECK(impl->open(url));
  return Client(std::move(impl));
}

Result<void> Client::register_workflow(const Workflow& workflow) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const auto definition, Definition::create(spec_of(workflow)));
  return impl->add_definition(*definition);
}

Result<void> Client::register_workflow(const WorkflowDefinition& workflow) {
  return register_workflow_json(workflow.json());
}

Result<void> Client::register_workflow_json(std::string_view spec) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const auto definition, Definition::parse(spec));
  return impl->add_definition(*definition);
}

Result<void> Client::register_workflow_yaml(std::string_view text, std::string_view name) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const auto definition, load_workflow(text, name));
  return impl->add_definition(*definition);
}

Result<void> Client::register_workflow_file(const std::string& path) {
  HOLDFAST_TRY(const std::string text, read_workflow_file(path));
  return register_workflow_yaml(text, path);
}

Result<void> Client::register_handler(std::string_view name, StepHandler handler) {
  HOLDFAST_TRY(Impl* const impl, live());
  if (handler == nullptr) {
    return Error{ErrorCode::invalid_argument, "the handler is empty"}.with("field", "handler");
  }
  return impl->add_handler(name, client::handler_of(std::move(handler)));
}

Result<StartedRun> Client::start(std::string_view workflow, std::string_view input,
                                 const StartOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  if (!options.run_id.empty() && !options.idempotency_key.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "run_id and idempotency_key exclude each other; give one of them"}
        .with("field", "idempotency_key");
  }
  HOLDFAST_TRY(StartRequest request, start_request(workflow, input, options));
  const bool fresh = options.run_id.empty() && options.idempotency_key.empty();
  if (fresh) {
    request.run_id = impl->new_id();
  }
  HOLDFAST_TRY(const std::string answer, impl->post(operation::kStartRun, request));
  HOLDFAST_TRY(StartedRun started, client::read_started(answer));
  // The id was made here, so a run that existed is the result of a repeated call.
  started.existed = started.existed && !fresh;
  return started;
}

Result<DeliveredRun> Client::deliver_cron(std::string_view workflow, std::string_view trigger,
                                          const DeliverOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(std::string body, request_json(deliver_request(options)));
  HOLDFAST_TRY(const std::string answer,
               impl->call({operation::kDeliverSchedule.method,
                           client::path_of(operation::kDeliverSchedule, {workflow, trigger}),
                           std::move(body)}));
  HOLDFAST_TRY(const DeliverResponse response, client::read_response<DeliverResponse>(answer));
  return delivered_run(response);
}

Result<std::vector<std::string>> Client::close_circuit_breaker(std::string_view workflow,
                                                               std::string_view step,
                                                               const CloseCircuitOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(
      const std::string answer,
      impl->post(operation::kCloseCircuit, close_circuit_request(workflow, step, options)));
  HOLDFAST_TRY(CloseCircuitResponse response, client::read_response<CloseCircuitResponse>(answer));
  return std::move(response.closed);
}

Result<void> Client::cancel(std::string_view run_id, const CancelOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  CancelRequest request = cancel_request(options);
  request.idempotency_key = impl->key_or_new(options.idempotency_key);
  return done(impl->command(operation::kCancelRun, run_id, request));
}

namespace {

template <typename Decision>
Result<void> resolve(client::Session& impl, const Decision& operation, std::string_view run_id,
                     const DecisionOptions& options) {
  HOLDFAST_TRY(DecisionRequest request, decision_request(options));
  request.idempotency_key = impl.key_or_new(options.idempotency_key);
  return done(impl.command(operation, run_id, request));
}

}  // namespace

Result<void> Client::resume(std::string_view run_id, const DecisionOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  return resolve(*impl, operation::kResumeRun, run_id, options);
}

Result<void> Client::approve(std::string_view run_id, const DecisionOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  return resolve(*impl, operation::kApproveRun, run_id, options);
}

Result<void> Client::reject(std::string_view run_id, const DecisionOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  return resolve(*impl, operation::kRejectRun, run_id, options);
}

Result<void> Client::retry(std::string_view run_id, const RetryStepOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(RetryRequest request, retry_request(options));
  request.idempotency_key = impl->key_or_new(options.idempotency_key);
  return done(impl->command(operation::kRetryRun, run_id, request));
}

Result<void> Client::discard(std::string_view run_id, const DiscardStepOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  DiscardRequest request = discard_request(options);
  request.idempotency_key = impl->key_or_new(options.idempotency_key);
  return done(impl->command(operation::kDiscardRun, run_id, request));
}

Result<void> Client::signal(std::string_view run_id, std::string_view event,
                            std::string_view payload, const SignalOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(SignalRequest request, signal_request(event, payload, options));
  request.idempotency_key = impl->key_or_new(options.idempotency_key);
  return done(impl->command(operation::kSignalRun, run_id, request));
}

Result<DeadLetterPage> Client::dead_letters(const DeadLetterQuery& query) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const DeadLettersRequest request, dead_letters_request(query));
  HOLDFAST_TRY(const std::string json, impl->get(request));
  return client::read_dead_letters_page(json);
}

Result<DeadLetterDecision> Client::redrive_dead_letters(const DeadLetterSelection& selection) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->decide(DeadLetterAction::redrive, selection);
}

Result<DeadLetterDecision> Client::discard_dead_letters(const DeadLetterSelection& selection) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->decide(DeadLetterAction::discard, selection);
}

Result<void> Client::mutate_graph(std::string_view run_id, const GraphMutation& mutation,
                                  const MutationOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const MutateRequest request, mutate_request(mutation, options));
  return done(impl->command(operation::kMutateGraph, run_id, request));
}

Result<void> Client::migrate(std::string_view run_id, const MigrateOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  return done(impl->command(operation::kMigrateRun, run_id, migrate_request(options)));
}

Result<StartedRun> Client::replay(std::string_view run_id, const ReplayOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(ReplayRequest request, replay_request(options));
  request.run_id = impl->key_or_new(options.run_id);
  HOLDFAST_TRY(const std::string answer, impl->command(operation::kReplayRun, run_id, request));
  HOLDFAST_TRY(StartedRun started, client::read_started(answer));
  started.existed = started.existed && !options.run_id.empty();
  return started;
}

Result<void> Client::set_search_attributes(std::string_view run_id, std::string_view changes,
                                           std::string_view idempotency_key) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(AttributesRequest request, attributes_request(changes, idempotency_key));
  request.idempotency_key = impl->key_or_new(idempotency_key);
  return done(impl->command(operation::kSetAttributes, run_id, request));
}

Result<void> Client::archive(std::string_view run_id, std::string_view reason) {
  HOLDFAST_TRY(Impl* const impl, live());
  return done(impl->command(operation::kArchiveRun, run_id, ArchiveRequest{std::string(reason)}));
}

Result<void> Client::unarchive(std::string_view run_id) {
  HOLDFAST_TRY(Impl* const impl, live());
  return done(impl->command(operation::kUnarchiveRun, run_id, UnarchiveRequest{}));
}

Result<void> Client::work(std::size_t threads, const std::stop_token& stop) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->work(threads, stop);
}

Result<RunView> Client::inspect(std::string_view run_id) {
  HOLDFAST_TRY(std::string json, snapshot_json(run_id));
  return client::read_snapshot(std::move(json));
}

Result<RunView> Client::wait(std::string_view run_id, std::chrono::milliseconds timeout) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->wait(run_id, timeout);
}

Result<RunExplanation> Client::explain(std::string_view run_id, std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(std::string json, impl->get(ExplainRequest{{std::string(run_id), std::string(at)}}));
  return client::read_explanation(std::move(json));
}

Result<std::string> Client::snapshot_json(std::string_view run_id, std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->get(ShowRequest{{std::string(run_id), std::string(at)}});
}

Result<std::string> Client::graph_json(std::string_view run_id, std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->get(GraphRequest{{std::string(run_id), std::string(at)}, true});
}

Result<std::string> Client::timeline_json(std::string_view run_id, std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->get(TimelineRequest{{std::string(run_id), std::string(at)}});
}

Result<std::string> Client::diff_json(std::string_view run_id, std::string_view from,
                                      std::string_view to) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->get(DiffRequest{std::string(run_id), std::string(from), std::string(to)});
}

Result<RunPage> Client::list(const ListOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  ListRequest request;
  request.workflow = options.workflow;
  request.statuses = options.statuses;
  if (options.started_from_ms != 0) {
    request.since = format_time(TimeMs{options.started_from_ms});
  }
  if (options.started_before_ms != 0) {
    request.until = format_time(TimeMs{options.started_before_ms});
  }
  HOLDFAST_TRY(request.attributes, attribute_texts(options.attributes));
  request.limit = options.limit;
  request.cursor = options.cursor;
  request.order = options.order == ListOrder::newest_first ? RunOrder::newest : RunOrder::oldest;
  request.archived = options.archived;
  request.at = options.at;
  HOLDFAST_TRY(std::string json, impl->get(request));
  return client::read_page(std::move(json));
}

Result<std::string> Client::status_json(std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->get(StatusRequest{{std::string(at)}});
}

Result<std::string> Client::doctor_json(std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->get(DoctorRequest{{std::string(at)}});
}

Result<std::string> Client::server_json() {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->call({"GET", client::path_of(operation::kGetServer)});
}

}  // namespace holdfast
