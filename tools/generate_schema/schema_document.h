// The operations of a listener as an OpenAPI 3.1 document: schema/openapi.json from
// runs/api/operations.h, schema/broker_openapi.json from delivery/api/broker_operations.h.
#pragma once

#include <string>
#include <vector>

#include "schema_types.h"

namespace holdfast::schema {

// One operation as docs/http-api.md shows it.
struct OperationRow {
  std::string tag;
  std::string target;      // POST /v1/runs?wait=
  std::string permission;  // or "none", "any"
  std::string text;        // summary and description
  std::string request;     // a schema; empty: no body
  std::string response;    // a schema; empty: no JSON
};

struct Document {
  std::string json;
  Members schemas;
  std::vector<OperationRow> rows;
};

// source: the root of the source tree.
Document make_document(const std::string& source);
Document make_broker_document(const std::string& source);
Document make_daemon_document(const std::string& source);

}  // namespace holdfast::schema
