// The JSON files beside the code that hold what the lists of fields and operations do not: texts,
// examples, and the schemas of views. Every text must be used: one about something that does not
// exist is an error, as is something without a text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/json.h"

namespace holdfast::schema {

using Members = std::vector<std::pair<std::string, std::string>>;

// The members of a compact JSON object, in their order.
Members members_of(std::string_view object);
// The value of a member; empty if there is none.
std::string member(std::string_view object, std::string_view name);
std::string object_of(const Members& members);
std::string list_of(const std::vector<std::string>& values);
std::string quoted(std::string_view text);
std::string plain(std::string_view json_string);
// Sets a member: at the end, or where it is.
void set(Members& members, std::string_view name, std::string value);
// As json.dumps(indent=2) of Python writes it, with a line break at the end.
std::string pretty(std::string_view compact);

std::string reference_to(std::string_view schema);

// One section of a file: texts by name.
class Texts {
 public:
  Texts(std::string section, std::string_view object);

  // Empty if there is none.
  std::string find(const std::string& name);
  // Reports an error if there is none.
  std::string get(const std::string& name);
  // Those that were never used.
  [[nodiscard]] std::vector<std::string> unused() const;

 private:
  std::string section_;
  std::map<std::string, std::string> texts_;
  std::set<std::string> used_;
};

// Errors of the whole run, in their order.
std::vector<std::string>& problems();

std::string read_file(const std::string& path);
// The file as compact JSON.
std::string read_json(const std::string& path);

}  // namespace holdfast::schema
