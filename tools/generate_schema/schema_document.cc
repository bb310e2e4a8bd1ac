#include "schema_document.h"

#include "delivery/api/broker_operations.h"
#include "delivery/api/daemon_operations.h"

namespace holdfast::schema {

namespace {

using Content = Operation::Content;
using Success = Operation::Success;

template <typename T>
struct IsVariant : std::false_type {};
template <typename... Types>
struct IsVariant<std::variant<Types...>> : std::true_type {};

bool in_path(std::string_view path, std::string_view name) {
  return path.find("{" + std::string(name) + "}") != std::string_view::npos;
}

std::string schema_name(std::string_view reference) {
  const std::string name = plain(member(reference, "$ref"));
  return name.substr(name.rfind('/') + 1);
}

// The query parameters among the members of a request.
class ParameterVisitor {
 public:
  ParameterVisitor(Schemas& schemas, std::string_view path) : schemas_(schemas), path_(path) {}

  template <typename T>
  void required(std::string_view name, const T& value) {
    if (IsText<T> && in_path(path_, name)) {
      return;
    }
    Members schema;
    if constexpr (std::same_as<T, bool>) {
      schema = {{"type", R"("string")"}, {"enum", R"(["0","1","true","false"])"}};
    } else {
      schema = schemas_.schema_of(value, Direction::request);
    }
    if constexpr (std::is_enum_v<T>) {
      set(schema, "default", quoted(to_text(value)));
    }
    found.emplace_back(name, std::move(schema));
  }
  template <typename T>
  void optional(std::string_view name, const T& value) {
    required(name, value);
  }

  std::vector<std::pair<std::string, Members>> found;

 private:
  Schemas& schemas_;
  std::string_view path_;
};

// The files with the texts of one document.
struct DocumentTexts {
  std::string head;
  std::string operations;
  std::string schemas;
  std::string shared;  // of schemas that another document has too; empty: none
  std::vector<std::string> views;
};

// The members of both files.
std::string joined_texts(const DocumentTexts& texts) {
  Members members = members_of(read_json(texts.schemas));
  if (!texts.shared.empty()) {
    for (auto& member : members_of(read_json(texts.shared))) {
      members.push_back(std::move(member));
    }
  }
  return object_of(members);
}

class DocumentWriter {
 public:
  explicit DocumentWriter(const DocumentTexts& texts)
      : head_(read_json(texts.head)),
        operations_text_(read_json(texts.operations)),
        schema_texts_(texts.schemas, joined_texts(texts)),
        operation_texts_(texts.operations, member(operations_text_, "operations")),
        parameter_texts_(texts.operations + ": parameters", member(operations_text_, "parameters")),
        schemas_(schema_texts_) {
    for (const std::string& file : texts.views) {
      for (auto& schema : members_of(read_json(file))) {
        views_.push_back(std::move(schema));
      }
    }
  }

  template <typename Request, typename Response, typename Parameters>
  void add(const OperationOf<Request, Response, Parameters>& operation) {
    const std::string text = operation_texts_.get(std::string(operation.id));
    const bool has_body = operation.method == "POST";
    OperationRow row;
    row.tag = plain(member(text, "tag"));
    row.target = std::string(operation.method) + " " + std::string(operation.path);
    row.permission = access_of(operation);
    row.text = plain(member(text, "summary")) + ". " + plain(member(text, "description"));

    Members made{
        {"operationId", quoted(operation.id)},
        {"tags", list_of({quoted(row.tag)})},
        {"summary", member(text, "summary")},
        {"description", quoted(plain(member(text, "description")) + permission_text(operation))}};
    if (operation.access == Operation::Access::open) {
      made.emplace_back("security", "[]");
    }
    std::vector<std::string> parameters = path_parameters(operation);
    if constexpr (HasFields<Parameters>) {
      add_query<Parameters>(operation, parameters, row);
    }
    if constexpr (HasFields<Request>) {
      if (!has_body) {
        add_query<Request>(operation, parameters, row);
      }
    }
    add_other_parameters(operation, text, parameters);
    if (!parameters.empty()) {
      made.emplace_back("parameters", list_of(parameters));
    }
    if (has_body) {
      made.emplace_back("requestBody", body_of<Request>(text, row));
    }
    const std::string schema = response_schema<Response>();
    if (operation.content == Content::json || operation.content == Content::json_or_text) {
      row.response = schema;
    }
    made.emplace_back("responses", responses(operation, text, schema));
    place(operation, object_of(made));
    rows_.push_back(std::move(row));
  }

  Document finish() {
    for (Texts* texts : {&schema_texts_, &operation_texts_, &parameter_texts_}) {
      for (const std::string& unused : texts->unused()) {
        problems().push_back(unused);
      }
    }
    Members schemas = schemas_.all();
    schemas.insert(schemas.end(), views_.begin(), views_.end());
    Members components = members_of(member(head_, "components"));
    set(components, "parameters", object_of(parameters_));
    set(components, "schemas", object_of(schemas));
    Members paths;
    for (const auto& [path, methods] : paths_) {
      paths.emplace_back(path, object_of(methods));
    }
    Members document;
    for (const auto& [name, value] : members_of(head_)) {
      if (name == "components") {
        document.emplace_back("paths", object_of(paths));
        document.emplace_back(name, object_of(components));
      } else if (!name.starts_with("x-")) {
        document.emplace_back(name, value);
      }
    }
    return {pretty(object_of(document)), std::move(schemas), std::move(rows_)};
  }

 private:
  static std::string access_of(const Operation& operation) {
    switch (operation.access) {
      case Operation::Access::open:
        return "none";
      case Operation::Access::authenticated:
        return "any";
      case Operation::Access::permitted:
        break;
    }
    return std::string(to_text(operation.permission));
  }

  [[nodiscard]] std::string permission_text(const Operation& operation) const {
    switch (operation.access) {
      case Operation::Access::open:
        return " No authentication is needed.";
      case Operation::Access::authenticated: {
        const std::string text = member(head_, "x-authenticated");
        return text.empty() ? " Every authenticated caller may use it." : plain(text);
      }
      case Operation::Access::permitted:
        break;
    }
    const bool whole = operation.scope == Operation::Scope::whole_store &&
                       operation.permission != Permission::administer;
    return " Permission: " + std::string(to_text(operation.permission)) +
           (whole ? ", for the whole store." : ".");
  }

  // A parameter: shared by all operations, unless there is a text about that of this operation.
  std::string parameter(const Operation& operation, const std::string& place,
                        const std::string& name, Members schema) {
    const std::string key = place + "." + name;
    const std::string own = parameter_texts_.find(std::string(operation.id) + "." + key);
    std::string text = own.empty() ? parameter_texts_.get(key) : own;
    if (text.starts_with('"')) {
      text = R"({"description":)" + text + "}";
    }
    Members made{{"name", quoted(name)}, {"in", quoted(place)}};
    if (place == "path") {
      made.emplace_back("required", "true");
    }
    if (const std::string more = member(text, "schema"); !more.empty()) {
      apply_text(schema, more);
    }
    if (member(object_of(schema), "type") == R"("array")") {
      made.emplace_back("style", R"("form")");
      made.emplace_back("explode", "true");
    }
    made.emplace_back("schema", object_of(schema));
    for (const auto& [member_name, value] : members_of(text)) {
      if (member_name != "schema") {
        made.emplace_back(member_name, value);
      }
    }
    if (!own.empty()) {
      return object_of(made);
    }
    const std::string component = place + "_" + name;
    set(parameters_, component, object_of(made));
    return R"({"$ref":"#/components/parameters/)" + component + "\"}";
  }

  std::vector<std::string> path_parameters(const Operation& operation) {
    std::vector<std::string> made;
    std::string_view rest = operation.path;
    for (std::size_t begin = rest.find('{'); begin != std::string_view::npos;
         begin = rest.find('{')) {
      rest.remove_prefix(begin + 1);
      made.push_back(parameter(operation, "path", std::string(rest.substr(0, rest.find('}'))),
                               {{"type", R"("string")"}}));
    }
    return made;
  }

  template <HasFields T>
  void add_query(const Operation& operation, std::vector<std::string>& made, OperationRow& row) {
    ParameterVisitor visitor(schemas_, operation.path);
    const T value{};
    T::visit(value, visitor);
    for (auto& [name, schema] : visitor.found) {
      row.target += (row.target.find('?') == std::string::npos ? "?" : "&") + name + "=";
      made.push_back(parameter(operation, "query", name, std::move(schema)));
    }
  }

  // Those of texts, and headers.
  void add_other_parameters(const Operation& operation, std::string_view text,
                            std::vector<std::string>& made) {
    if (operation.content == Content::json_or_text) {
      for (const char* const name : {"width", "colour"}) {
        made.push_back(parameter(operation, "query", name, {{"type", R"("string")"}}));
      }
    }
    for (const auto& [unnamed, header] : members_of(member(text, "headers"))) {
      made.push_back(parameter(operation, "header", plain(header), {{"type", R"("string")"}}));
    }
  }

  template <typename Request>
  std::string body_of(std::string_view text, OperationRow& row) {
    if constexpr (HasFields<Request>) {
      const std::string reference = schemas_.describe<Request>(Direction::request);
      row.request = reference;
      const std::string described = member(object_of(schemas_.all()), schema_name(reference));
      const bool required = !member(described, "required").empty();
      Members media{{"schema", reference}};
      const std::string example = member(text, "request");
      if (example.empty()) {
        problems().push_back("operations.json: " + plain(member(text, "summary")) +
                             ": the request has no example");
      }
      media.emplace_back("example", example);
      return object_of({{"required", required ? "true" : "false"},
                        {"content", object_of({{"application/json", object_of(media)}})}});
    } else {
      return member(text, "requestBody");
    }
  }

  template <typename Response>
  std::string response_schema() {
    if constexpr (IsVariant<Response>::value) {
      return any_of(static_cast<const Response*>(nullptr));
    } else if constexpr (HasFields<Response>) {
      return schemas_.describe<Response>(Direction::response);
    } else {
      return reference_to(Response::kSchema);
    }
  }
  template <typename... Types>
  std::string any_of(const std::variant<Types...>* /*type*/) {
    return R"({"anyOf":)" + list_of({schemas_.describe<Types>(Direction::response)...}) + "}";
  }

  std::string content(const Operation& operation, const std::string& schema,
                      std::string_view text) {
    const auto media = [&](const std::string& type, const std::string& of) {
      Members made{{"schema", of}};
      for (const char* const name : {"example", "x-event-data"}) {
        if (std::string value = member(text, name); !value.empty()) {
          made.emplace_back(name, std::move(value));
        }
      }
      return std::pair(type, object_of(made));
    };
    constexpr const char* kText = R"({"type":"string"})";
    switch (operation.content) {
      case Content::json:
      case Content::json_or_text:
        break;
      case Content::text:
        return object_of({media("text/plain", kText)});
      case Content::events:
        return object_of({media("text/event-stream", kText)});
      case Content::lines:
        return object_of({media("application/jsonl", kText)});
    }
    Members made{media("application/json", schema)};
    if (operation.content == Content::json_or_text) {
      made.emplace_back("text/plain", R"({"schema":)" + member(head_, "x-text-schema") + "}");
    }
    return object_of(made);
  }

  // texts: {"200":{"description","example","headers"}}; a status in it is one that can occur.
  std::string responses(const Operation& operation, std::string_view text,
                        const std::string& schema) {
    Texts texts("operations.json: responses of " + std::string(operation.id),
                member(text, "responses"));
    Members made;
    const auto add = [&](const std::string& status) {
      const std::string about = texts.get(status);
      Members response{{"description", member(about, "description")}};
      if (std::string headers = member(about, "headers"); !headers.empty()) {
        response.emplace_back("headers", std::move(headers));
      }
      response.emplace_back("content", content(operation, schema, about));
      made.emplace_back(status, object_of(response));
    };
    if (operation.success != Success::created) {
      add("200");
    }
    if (operation.success != Success::ok) {
      add("201");
    }
    for (const auto& [status, about] : members_of(member(text, "responses"))) {
      if (!member(object_of(made), status).empty()) {
        continue;
      }
      const bool own = operation.access == Operation::Access::open;
      if (status.starts_with('2') || (own && member(about, "problem").empty())) {
        add(status);
      } else {
        made.emplace_back(status, problem_response(texts.get(status)));
      }
    }
    if (operation.access != Operation::Access::open) {
      add_refusals(operation, made);
    }
    for (const std::string& unused : texts.unused()) {
      problems().push_back(unused);
    }
    return object_of(made);
  }

  static std::string problem_response(std::string_view about) {
    const std::string media = object_of({{"schema", reference_to("Problem")}});
    return object_of({{"description", member(about, "description")},
                      {"content", object_of({{"application/problem+json", media}})}});
  }

  static void add_refusals(const Operation& operation, Members& made) {
    const auto add = [&](const char* status, const char* name) {
      made.emplace_back(status, R"({"$ref":"#/components/responses/)" + std::string(name) + "\"}");
    };
    add("400", "BadRequest");
    add("401", "Unauthenticated");
    add("403", "PermissionDenied");
    if (operation.refusals.not_found || operation.path.find('{') != std::string_view::npos) {
      add("404", "NotFound");
    }
    if (operation.refusals.conflict) {
      add("409", "Conflict");
    }
    if (operation.refusals.too_large) {
      add("413", "TooLarge");
    }
    add("429", "RateLimited");
    add("503", "Unavailable");
    add("default", "Failure");
  }

  void place(const Operation& operation, const std::string& made) {
    std::string method(operation.method);
    for (char& c : method) {
      c = static_cast<char>(c - 'A' + 'a');
    }
    for (auto& [path, methods] : paths_) {
      if (path == operation.path) {
        methods.emplace_back(method, made);
        return;
      }
    }
    paths_.push_back({std::string(operation.path), {{method, made}}});
  }

  std::string head_;
  std::string operations_text_;
  Texts schema_texts_;
  Texts operation_texts_;
  Texts parameter_texts_;
  Schemas schemas_;
  Members views_;
  Members parameters_;
  std::vector<std::pair<std::string, Members>> paths_;
  std::vector<OperationRow> rows_;
};

}  // namespace

Document make_document(const std::string& source) {
  const std::string api = source + "/src/runs/api/";
  DocumentWriter writer({api + "document.json",
                         api + "operations.json",
                         api + "schemas.json",
                         "",
                         {source + "/src/runs/view/view_schemas.json",
                          source + "/src/runs/inspect/inspect_schemas.json",
                          source + "/src/apps/server/server_schemas.json"}});
  std::apply([&](const auto&... each) { (writer.add(each), ...); }, kOperations);
  return writer.finish();
}

Document make_broker_document(const std::string& source) {
  const std::string api = source + "/src/delivery/api/";
  DocumentWriter writer({api + "broker_document.json",
                         api + "broker_operations.json",
                         api + "broker_schemas.json",
                         api + "shared_schemas.json",
                         {source + "/src/apps/broker/broker_views.json"}});
  std::apply([&](const auto&... each) { (writer.add(each), ...); }, delivery::kBrokerOperations);
  return writer.finish();
}

Document make_daemon_document(const std::string& source) {
  const std::string api = source + "/src/delivery/api/";
  DocumentWriter writer({api + "daemon_document.json",
                         api + "daemon_operations.json",
                         api + "daemon_schemas.json",
                         api + "shared_schemas.json",
                         {source + "/src/apps/daemon/daemon_views.json"}});
  std::apply([&](const auto&... each) { (writer.add(each), ...); }, delivery::kDaemonOperations);
  return writer.finish();
}

}  // namespace holdfast::schema
