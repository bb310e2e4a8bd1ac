// The operations on the broker itself: health, metrics, its document, jobs.
#include "apps/broker/broker_call.h"
#include "apps/broker/broker_document.h"
#include "apps/broker/broker_jobs.h"
#include "delivery/api/broker_views.h"
#include "delivery/broker/broker_listing.h"

namespace holdfast::delivery {

namespace {

constexpr int kNotReady = 503;

}  // namespace

// The process answers; whether it can accept messages is the matter of get_readiness.
Result<BrokerReply> get_health(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  return reply_with(BrokerHealth{"ok"});
}

Result<BrokerReply> get_readiness(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  const auto read = call.service.store.read([](SqlSession& session) -> Result<void> {
    HOLDFAST_CHECK(session.query("SELECT count(*) FROM @.mesh", {}));
    return {};
  });
  // Callers learn that the store does not answer, not where it is.
  return read.ok() ? reply_with(BrokerReadiness{true, ""})
                   : reply_with(
                         BrokerReadiness{
                             false, "the store does not answer (" +
                                        std::string(error_info(read.error().code()).name) + ")"},
                         kNotReady);
}

Result<BrokerReply> get_openapi(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  return BrokerReply{200, std::string(kBrokerDocument)};
}

Result<BrokerReply> get_metrics(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  const auto depth =
      call.scan<DeliveryDepth>([](SqlSession& session, DeliveryDepth& counted) -> Result<void> {
        HOLDFAST_TRY(counted, count_deliveries(session));
        return {};
      });
  BrokerService& service = call.service;
  return BrokerReply{
      200,
      service.metrics.text({service.broker, service.deliveries, service.queues, service.polls,
                            service.queue_polls, service.push, service.webhooks, service.listener},
                           depth, service.clock.now()),
      "text/plain; version=0.0.4"};
}

Result<BrokerReply> run_sweep(BrokerCall& call) {
  HOLDFAST_CHECK(read_body<JobRequest>(call));
  HOLDFAST_TRY(const Swept swept, sweep(call.service));
  return reply_with(SweepResponse{swept.dedupe_rows, swept.messages});
}

Result<BrokerReply> run_orphan_check(BrokerCall& call) {
  HOLDFAST_CHECK(read_body<JobRequest>(call));
  HOLDFAST_TRY(const OrphanReport report, check_store(call.service));
  return reply_with(view_of(report));
}

}  // namespace holdfast::delivery
