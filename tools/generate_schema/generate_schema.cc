// Generates schema/openapi.json and the tables of docs/http-api.md from the lists of the API
// (runs/api/operations.h) and the texts beside it; schema/broker_openapi.json from those of the
// broker (delivery/api/broker_operations.h); and schema/daemon_openapi.json and the tables of
// docs/daemon-api.md from those of the daemon (delivery/api/daemon_operations.h).
//
//   generate_schema SOURCE_DIR            writes the files
//   generate_schema SOURCE_DIR --check    fails if a file differs
#include <fstream>
#include <iostream>

#include "schema_document.h"

namespace holdfast::schema {

namespace {

constexpr std::size_t kMostListed = 12;

std::string name_of(std::string_view reference) {
  const std::string path = plain(member(reference, "$ref"));
  return path.substr(path.rfind('/') + 1);
}

// {"runs":[{"run_id","workflow"}]}: the names of the members, and of those of items of lists. Empty
// if there are too many.
std::string members_text(const Document& document, const std::string& name) {
  const Members properties =
      members_of(member(member(object_of(document.schemas), name), "properties"));
  if (properties.size() > kMostListed) {
    return {};
  }
  std::string text;
  for (const auto& [property, schema] : properties) {
    text += (text.empty() ? "\"" : ",\"") + property + "\"";
    const std::string items = member(schema, "items");
    const std::string item = items.empty() ? "" : name_of(items);
    const std::string inside = item.empty() ? "" : members_text(document, item);
    text += inside.empty() ? "" : ":[" + inside + "]";
  }
  return "{" + text + "}";
}

// Of one schema, or of several alternatives.
std::string shown(const Document& document, const std::string& reference) {
  Members references{{"", reference}};
  if (const std::string several = member(reference, "anyOf"); !several.empty()) {
    references = members_of(several);
  }
  std::string text;
  for (const auto& [unnamed, one] : references) {
    const std::string members = members_text(document, name_of(one));
    text += text.empty() ? "" : " or ";
    text += members.empty() ? "`" + name_of(one) + "`" : "`" + members + "`";
  }
  return text;
}

std::string table_of(const Document& document, std::string_view tag) {
  std::string table = "| Operation | Permission | |\n|---|---|---|\n";
  for (const OperationRow& row : document.rows) {
    if (row.tag != tag) {
      continue;
    }
    table += "| `" + row.target + "` | " + row.permission + " | " + row.text;
    if (!row.request.empty()) {
      table += " Request: " + shown(document, row.request) + ".";
    }
    if (!row.response.empty()) {
      table += " Response: " + shown(document, row.response) + ".";
    }
    table += " |\n";
  }
  return table;
}

// The page with new tables between its markers.
std::string with_tables(const Document& document, std::string page) {
  constexpr std::string_view kBegin = "<!-- generated: ";
  constexpr std::string_view kEnd = "<!-- end of generated -->";
  std::size_t from = 0;
  for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, from)) {
    const std::size_t named = at + kBegin.size();
    const std::string tag = page.substr(named, page.find(' ', named) - named);
    const std::size_t begin = page.find('\n', named) + 1;
    const std::size_t end = page.find(kEnd, begin);
    if (end == std::string::npos) {
      problems().push_back("the marker of \"" + tag + "\" has no end");
      break;
    }
    page.replace(begin, end - begin, "\n" + table_of(document, tag) + "\n");
    from = begin;
  }
  return page;
}

int update(const std::string& path, const std::string& text, bool check) {
  if (read_file(path) == text) {
    return 0;
  }
  if (check) {
    std::cerr << path << " differs from the lists of the API; regenerate it:\n"
              << "  cmake --build --preset release --target update_schema\n";
    return 1;
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  std::cout << path << " is written\n";
  return file ? 0 : 1;
}

int run(const std::string& source, bool check) {
  const Document document = make_document(source);
  const Document broker = make_broker_document(source);
  const Document daemon = make_daemon_document(source);
  const std::string page = source + "/docs/http-api.md";
  const std::string tables = with_tables(document, read_file(page));
  const std::string daemon_page = source + "/docs/daemon-api.md";
  const std::string daemon_tables = with_tables(daemon, read_file(daemon_page));
  for (const std::string& problem : problems()) {
    std::cerr << problem << "\n";
  }
  if (!problems().empty()) {
    return 1;
  }
  return update(source + "/schema/openapi.json", document.json, check) |
         update(source + "/schema/broker_openapi.json", broker.json, check) |
         update(source + "/schema/daemon_openapi.json", daemon.json, check) |
         update(page, tables, check) | update(daemon_page, daemon_tables, check);
}

}  // namespace

}  // namespace holdfast::schema

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string_view(argv[2]) == "--check";
  if (argc != 2 && !check) {
    std::cerr << "usage: generate_schema SOURCE_DIR [--check]\n";
    return 2;
  }
  return holdfast::schema::run(argv[1], check);
}
