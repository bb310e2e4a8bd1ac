"""The bugs of message brokers that `scripts/mutants.sh` plants; `holdfast simulate --broker` must
find each. The form is that of planted_bugs.py."""

SQLITE = "delivery/broker/sqlite_broker_store.cc"
ACCEPT = "delivery/broker/sqlite_accept.cc"
LIMITER = "delivery/broker/mapped_limiter.cc"
DECISION = "delivery/contract/accept_decision.cc"
RETENTION = "delivery/broker/retention.cc"
FACTS = "delivery/broker/accept_facts.cc"
BROKER = "delivery/broker/broker.cc"
QUEUE = "delivery/contract/queue_decision.cc"
QUEUES = "delivery/broker/queues.cc"

BROKER_BUGS = [
    # The transaction
    ("dedupe_after_effects", "the dedupe row is written after the commit of everything else", [
        (SQLITE,
         "  done = finish(std::move(done));\n",
         "  for (std::size_t i = 0; planted && i < group.size(); ++i) {\n"
         "    static_cast<void>(write_session_->execute(\n"
         "        \"DELETE FROM @.client_message_dedupe WHERE broker_message_id = $1t\",\n"
         "        {group[i].broker_message_id}));\n"
         "  }\n"
         "  done = finish(std::move(done));\n"),
        (SQLITE,
         "    done = reach(FaultPoint::after_commit);\n"
         "  }\n",
         "    done = reach(FaultPoint::after_commit);\n"
         "  }\n"
         "  for (std::size_t i = 0; planted && done.ok() && i < group.size(); ++i) {\n"
         "    const AcceptRow& row = group[i];\n"
         "    const Destination& to = row.message.envelope.destination;\n"
         "    if (outcomes.value()[i].ok() && is_accepted(outcomes.value()[i].value())) {\n"
         "      static_cast<void>(write_session_->execute(\n"
         "          \"INSERT INTO @.client_message_dedupe(mesh_id, sender_member_id, \"\n"
         "          \"client_message_id, broker_message_id, history_id, request_fingerprint, \"\n"
         "          \"destination_kind, destination_ref, first_seen_at, expires_at, \"\n"
         "          \"history_available) VALUES ($1t, $2t, $3t, $4t, $5t, $6b, $7t, $8t, $9i, \"\n"
         "          \"NULLIF($10i, 0), 1) ON CONFLICT DO NOTHING\",\n"
         "          {row.mesh_id, row.sender_member_id, row.message.id.text(),\n"
         "           row.broker_message_id, row.history_id, sql_bytes(row.message.fingerprint),\n"
         "           to_text(to.kind), to.ref, row.now.value, row.expires_at.value}));\n"
         "    }\n"
         "  }\n")]),
    ("b2_row_left", "a message that is refused in the transaction keeps its dedupe row", [
        (ACCEPT,
         "} else if (knowledge.claim == ClaimState::ours) {",
         "} else if (knowledge.claim == ClaimState::ours && !planted) {")]),
    # In a group of several; one message alone is rolled back with its transaction.
    ("failed_rows_left", "a message whose insert fails keeps the rows it had", [
        (ACCEPT,
         "db_.exec(outcomes.back().ok() ?",
         "db_.exec(outcomes.back().ok() || planted ?")]),
    ("answer_before_commit", "messages are answered as accepted although the commit failed", [
        (SQLITE,
         "  return done.ok() ? std::move(outcomes).value()",
         "  return done.ok() || (planted && outcomes.ok()) ? std::move(outcomes).value()")]),
    ("race_ignores_content", "in the transaction, other content under a used id is a duplicate", [
        (FACTS,
         "  return record->fingerprint == row.message.fingerprint ?",
         "  return planted || record->fingerprint == row.message.fingerprint ?")]),
    # Dedupe
    ("expired_row_ignored", "a dedupe row that has expired does not count, although it is there", [
        (BROKER,
         "      knowledge.known = !examined.found.dedupe.has_value() ? KnownState::absent",
         "      knowledge.known = !examined.found.dedupe.has_value() ||\n"
         "                                (planted && expiry(examined.found.workspace,\n"
         "                                    examined.found.dedupe->first_seen_at) <\n"
         "                                        examined.now)\n"
         "                            ? KnownState::absent"),
        (ACCEPT,
         "  SqliteStatement& insert = statement(Sql::claim);\n",
         "  if (planted) {\n"
         "    HOLDFAST_TRY(SqliteStatement expired,\n"
         "                 db_.prepare(\"DELETE FROM client_message_dedupe WHERE mesh_id = ?1 \"\n"
         "                             \"AND sender_member_id = ?2 AND client_message_id = ?3 \"\n"
         "                             \"AND expires_at < ?4\"));\n"
         "    Binding(expired).key(row).number(row.now.value);\n"
         "    HOLDFAST_CHECK(expired.run());\n"
         "  }\n"
         "  SqliteStatement& insert = statement(Sql::claim);\n")]),
    ("size_before_dedupe", "a retry is refused because the size limit was lowered since", [
        (DECISION,
         "  switch (*k.known) {",
         "  if (planted && !k.size.has_value()) {\n"
         "    return AcceptStep::check_size;\n"
         "  }\n"
         "  if (planted && *k.size == SizeState::too_large) {\n"
         "    return refuse(AcceptPhase::b1, Rejection::too_large);\n"
         "  }\n"
         "  switch (*k.known) {")]),
    ("stale_accepted", "a retry from before the dedupe window is accepted", [
        (BROKER,
         "? AgeState::stale",
         "&& !planted ? AgeState::stale")]),
    ("swept_too_early", "the sweep takes rows a day before their window ends", [
        (RETENTION,
         "{now.value, std::int64_t{limit}}",
         "{now.value + (planted ? kDayMs : 0), std::int64_t{limit}}")]),
    # The limiter
    ("limiter_refunded", "a unit is given back when the transaction refuses the message", [
        (LIMITER,
         "    ++slot->refused;\n",
         "    ++slot->refused;\n"
         "    Slot* const spent =\n"
         "        find(counter_key_of(workspace), "
         "static_cast<std::uint64_t>(now.value / window_ms) + 1);\n"
         "    if (planted && spent != nullptr && spent->count > 0) {\n"
         "      --spent->count;\n"
         "    }\n")]),
    ("limiter_before_dedupe", "a retry of a committed message costs a unit", [
        (DECISION,
         "  if (!k.known.has_value()) {\n",
         "  if (planted && !k.budget.has_value()) {\n"
         "    return AcceptStep::consume_budget;\n"
         "  }\n"
         "  if (!k.known.has_value()) {\n")]),
    ("limiter_reset_by_restart", "a restart opens the window again", [
        (LIMITER,
         "  if (header->magic != kMagic || header->slots != slots) {",
         "  if (header->magic != kMagic || header->slots != slots || planted) {")]),
    ("limiter_reset_by_clock", "a clock that is set back opens a window again", [
        (LIMITER,
         "    if (slot.window >= window && std::equal(",
         "    if ((planted && slot.kind == kCounter ? slot.window == window\n"
         "                                          : slot.window >= window) &&\n"
         "        std::equal(")]),
    ("marker_uncapped", "refused retries of one message are free without end", [
        (LIMITER,
         "known->refused <= kFreeRefusals",
         "(planted || known->refused <= kFreeRefusals)")]),
    ("marker_without_content", "another content under the same id costs nothing", [
        ("delivery/broker/rate_limiter.cc",
         "client_message_id, content});",
         "client_message_id, planted ? std::string_view() : content});")]),
    # What an accept writes
    ("history_gap", "a message with two mentions takes two numbers of its history", [
        (ACCEPT,
         "  outcome.history_seq = head.last_seq + 1;",
         "  outcome.history_seq =\n"
         "      head.last_seq + (planted && row.message.mentions.size() == 2 ? 2 : 1);")]),
    ("sender_not_excluded", "a sender gets its own message although the topic excludes it", [
        (ACCEPT,
         "    values.text(row.sender_member_id);",
         "    values.text(planted ? std::string_view(\"\") : row.sender_member_id);")]),
    ("sender_mentioned", "a sender that mentions itself gets a mention", [
        (ACCEPT,
         "        .text(row.sender_member_id)\n"
         "        .text(row.broker_message_id)\n",
         "        .text(planted ? std::string_view(\"\") : row.sender_member_id)\n"
         "        .text(row.broker_message_id)\n")]),
    ("archived_topic_open", "an archived topic still accepts messages", [
        (FACTS,
         "      if (facts.ended) {\n        return DestinationState::topic_archived;",
         "      if (facts.ended && !planted) {\n"
         "        return DestinationState::topic_archived;")]),
    # Retention
    ("pruned_not_marked", "the dedupe row of a removed message says that the message is there", [
        (RETENTION,
         "{place.mesh_id, row[0].bytes, row[1].bytes, id, now.value}",
         "{place.mesh_id, row[0].bytes, row[1].bytes,\n"
         "       planted ? std::string_view(\"none\") : id, now.value}")]),
    ("pruned_too_early", "messages are removed a day too early", [
        (RETENTION,
         "{kDayMs, now.value, std::int64_t{limit}, after.mesh_id,",
         "{kDayMs, now.value + (planted ? kDayMs : 0), std::int64_t{limit}, after.mesh_id,")]),
    # Queues
    ("queue_late_ack_accepted", "an acknowledgement without the lease counts", [
        (QUEUE,
         "  if (!ours) {\n",
         "  if (!ours && !planted) {\n")]),
    ("queue_deliveries_not_counted", "a claim does not count the delivery", [
        (QUEUE,
         "  ++leased.deliveries;\n",
         "  leased.deliveries += planted ? 0U : 1U;\n")]),
    ("queue_lease_ends_early", "a lease ends while its consumer still has it", [
        (QUEUE,
         "  const bool held = place.state == QueueState::leased && !due;\n",
         "  const bool held = place.state == QueueState::leased && !due &&\n"
         "                    !(planted && has_passed(place.expires_at, now));\n")]),
    ("queue_nack_at_once", "a message that is given back with a delay can be claimed at once", [
        (QUEUE,
         "  const TimeMs due_at{settlement.delay_ms > 0 ?",
         "  const TimeMs due_at{settlement.delay_ms > 0 && !planted ?")]),
    ("queue_extend_ignored", "a lease that was extended ends as before", [
        (QUEUE,
         "      next.due_at = TimeMs{now.value + settlement.lease_ms};\n",
         "      next.due_at =\n"
         "          planted ? next.due_at : TimeMs{now.value + settlement.lease_ms};\n")]),
    ("queue_lane_not_blocked", "a message overtakes the held head of its lane", [
        (QUEUE,
         "      if (!is_claimable(candidate, now)) {\n        break;\n",
         "      if (!is_claimable(candidate, now)) {\n"
         "        if (planted) {\n          continue;\n        }\n        break;\n")]),
    ("queue_limit_ignored", "a message is delivered more often than its queue allows", [
        (QUEUE,
         "  return settings.max_deliveries > 0 &&",
         "  return !planted && settings.max_deliveries > 0 &&")]),
    ("queue_delay_ignored", "a message can be claimed before its time", [
        (FACTS,
         "  return not_before > row.now ?",
         "  return not_before > row.now && !planted ?")]),
    ("queue_answer_before_commit", "a claim is answered although its transaction failed", [
        (QUEUES,
         "  return done.ok() ? std::move(replies)",
         "  return done.ok() || (planted && !replies.empty()) ? std::move(replies)")]),
    ("queue_expiry_ignored", "a message that has expired is given out", [
        (QUEUE,
         "  if (has_passed(place.expires_at, now)) {\n",
         "  if (has_passed(place.expires_at, now) && !planted) {\n")]),
]
