// The one list of error codes. A code exists only if some caller reacts to it.
//
// X(name, number, HTTP status, exit code, what_next, line)
//   number     stable for ever, never reused; retired: 110 (continuation_fenced),
//              124 (active_manual_step), 128 (event_wait_not_found)
//   exit code  2 the request cannot be carried out as given, 3 damaged data, 4 conflict,
//              5 the store or the machine failed
//   what_next  what a caller may do: see WhatNext in holdfast/error.h
// docs/errors/ has a page for each code.
#pragma once

#define HOLDFAST_ERROR_CODES(X)                                                                   \
  X(invalid_argument, 1, 400, 2, permanent, "an argument is not valid")                           \
  X(invalid_url, 2, 400, 2, permanent, "the store URL is not valid")                              \
  X(not_found, 3, 404, 2, permanent, "the named object does not exist")                           \
  X(permission_denied, 4, 403, 2, permanent, "the system does not permit this")                   \
  X(not_a_journal, 5, 422, 2, permanent, "the store holds data that is not a journal")            \
  X(newer_format, 6, 422, 2, permanent, "the journal was written by a newer version")             \
  X(already_exists, 7, 409, 2, permanent, "the target already holds data")                        \
  X(read_only, 8, 403, 2, permanent, "the journal was opened for reading only")                   \
  X(unsafe_store, 9, 422, 2, permanent, "the store acknowledges writes that are not on disk")     \
  X(conflict, 20, 409, 4, refresh, "another writer was first; nothing was written")               \
  X(busy, 21, 503, 5, retry, "another process has locked the store; nothing was written")         \
  X(unavailable, 22, 503, 5, retry, "the store cannot be reached")                                \
  X(io_error, 23, 500, 5, in_doubt, "the store failed while reading or writing")                  \
  X(disk_full, 24, 507, 5, in_doubt, "there is no space left for the store")                      \
  X(log_stopped, 25, 503, 5, refresh, "the log stopped after an earlier failure")                 \
  X(corrupt_log, 40, 500, 3, permanent, "stored batches are damaged")                             \
  X(invalid_journal_entry, 41, 500, 3, permanent, "a stored entry cannot be decoded")             \
  X(invalid_journal_thread, 42, 500, 3, permanent, "a stored thread is inconsistent")             \
  X(corrupt_segment, 43, 500, 3, permanent, "a sealed segment is damaged")                        \
  X(empty_entries, 60, 400, 2, permanent, "an append must contain at least one entry")            \
  X(missing_fields, 61, 400, 2, permanent, "an entry lacks required fields")                      \
  X(invalid_thread, 62, 400, 2, permanent, "a thread name is not valid")                          \
  X(invalid_json, 63, 400, 2, permanent, "a text is not valid JSON")                              \
  X(too_large, 64, 413, 2, permanent, "an entry or commit is larger than the limit")              \
  X(unknown_entry_type, 65, 400, 2, permanent, "no fact has that kind")                           \
  X(unfinished_copy, 80, 409, 2, permanent, "the journal is the target of an unfinished copy")    \
  X(diverged, 81, 409, 4, permanent, "the two journals have different histories")                 \
  X(invalid_export, 82, 422, 2, permanent, "the file is not a complete journal export")           \
  X(unknown_runnable_intent, 100, 404, 2, permanent, "no such attempt was scheduled")             \
  X(conflicting_runnable_intent, 101, 409, 4, permanent,                                          \
    "the attempt was scheduled with other parameters")                                            \
  X(attempt_not_visible, 102, 409, 4, retry, "the attempt may not be claimed yet")                \
  X(active_claim, 103, 409, 4, retry, "another worker holds the attempt")                         \
  X(terminal_attempt, 104, 409, 4, permanent, "the attempt has ended")                            \
  X(stale_claim, 105, 409, 4, permanent, "the claim is not the current one")                      \
  X(expired_claim, 106, 409, 4, permanent, "the lease of the claim has expired")                  \
  X(conflicting_completion, 107, 409, 4, permanent,                                               \
    "the attempt was completed with another result")                                              \
  X(result_not_completed, 108, 409, 4, permanent, "the attempt has no durable result to apply")   \
  X(terminal_run, 109, 409, 4, permanent, "the run has ended")                                    \
  X(conflicting_continuation, 111, 409, 4, permanent, "the run continues with another successor") \
  X(wrong_queue, 112, 400, 2, permanent, "the attempt belongs to another queue")                  \
  X(wrong_run, 113, 400, 2, permanent, "the attempt belongs to another run")                      \
  X(run_not_found, 120, 404, 2, permanent, "no such run")                                         \
  X(run_exists, 121, 409, 4, permanent, "a different run has this id")                            \
  X(invalid_transition, 122, 409, 4, permanent, "the state of the run does not allow this")       \
  X(stale_manual_resolution, 123, 409, 4, permanent, "the run is not waiting at this step")       \
  X(conflicting_child_run, 125, 409, 4, permanent,                                                \
    "the child run was started with other parameters")                                            \
  X(invalid_parent_context, 126, 409, 4, permanent, "the parent step is not the current one")     \
  X(idempotency_conflict, 127, 409, 4, permanent,                                                 \
    "the idempotency key was used for something else")                                            \
  X(invalid_graph_mutation, 129, 409, 4, permanent, "the graph change is not allowed")            \
  X(unsafe_continuation, 130, 409, 4, permanent,                                                  \
    "the run has work that a continuation would lose")                                            \
  X(unsafe_replay, 131, 409, 4, permanent, "a replay would repeat steps that cannot be undone")   \
  X(invalid_trigger, 132, 400, 2, permanent, "the workflow has no such trigger")                  \
  X(invalid_payload, 133, 400, 2, permanent, "the input does not satisfy its contract")           \
  X(invalid_definition, 140, 400, 2, permanent, "the workflow definition is not valid")           \
  X(unknown_workflow, 141, 404, 2, permanent, "no such workflow is registered")                   \
  X(unknown_handler, 142, 404, 2, permanent, "no handler is registered for the step")             \
  X(engine_stopped, 143, 503, 5, refresh, "the engine was stopped")                               \
  X(unauthenticated, 160, 401, 2, permanent, "the caller is not authenticated")                   \
  X(rate_limited, 161, 429, 5, retry, "the caller sends too many requests")
