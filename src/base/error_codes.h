// The one list of error codes. A code exists only if some caller reacts to it.
//
// X(name, number, HTTP status, exit code, what_next, line)
//   number     stable for ever, never reused
//   exit code  2 the request cannot be carried out as given, 3 damaged data, 4 conflict,
//              5 the store or the machine failed
//   what_next  what a caller may do: see WhatNext in base/error.h
// docs/errors/ has a page for each code.
#pragma once

#define HOLDFAST_ERROR_CODES(X)                                                                \
  X(invalid_argument, 1, 400, 2, permanent, "an argument is not valid")                        \
  X(invalid_url, 2, 400, 2, permanent, "the store URL is not valid")                           \
  X(not_found, 3, 404, 2, permanent, "what was named does not exist")                          \
  X(permission_denied, 4, 403, 2, permanent, "the system does not permit this")                \
  X(not_a_journal, 5, 422, 2, permanent, "the store holds something else than a journal")      \
  X(newer_format, 6, 422, 2, permanent, "the journal was written by a newer version")          \
  X(already_exists, 7, 409, 2, permanent, "the target holds data already")                     \
  X(read_only, 8, 403, 2, permanent, "the journal was opened for reading only")                \
  X(unsafe_store, 9, 422, 2, permanent, "the store acknowledges writes that are not on disk")  \
  X(conflict, 20, 409, 4, refresh, "another writer was first; nothing was written")            \
  X(busy, 21, 503, 5, retry, "the store is locked by others; nothing was written")             \
  X(unavailable, 22, 503, 5, retry, "the store cannot be reached")                             \
  X(io_error, 23, 500, 5, in_doubt, "the store failed while reading or writing")               \
  X(disk_full, 24, 507, 5, in_doubt, "there is no space left for the store")                   \
  X(log_stopped, 25, 503, 5, refresh, "the log stopped after an earlier failure")              \
  X(corrupt_log, 40, 500, 3, permanent, "stored batches are damaged")                          \
  X(invalid_journal_entry, 41, 500, 3, permanent, "a stored entry cannot be decoded")          \
  X(invalid_journal_thread, 42, 500, 3, permanent, "a stored thread does not fit together")    \
  X(corrupt_segment, 43, 500, 3, permanent, "a sealed segment is damaged")                     \
  X(empty_entries, 60, 400, 2, permanent, "an append must hold at least one entry")            \
  X(missing_fields, 61, 400, 2, permanent, "an entry lacks required fields")                   \
  X(invalid_thread, 62, 400, 2, permanent, "a thread name is not valid")                       \
  X(invalid_json, 63, 400, 2, permanent, "a text is not valid JSON")                           \
  X(too_large, 64, 413, 2, permanent, "an entry or commit is larger than the limit")           \
  X(unfinished_copy, 80, 409, 2, permanent, "the journal is the target of an unfinished copy") \
  X(diverged, 81, 409, 4, permanent, "the two journals have different histories")              \
  X(invalid_export, 82, 422, 2, permanent, "the file is not a complete journal export")
