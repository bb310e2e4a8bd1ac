#include "runs/language/data/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/json_writer.h"

namespace holdfast {

namespace {

void write_number(JsonWriter& out, const Json& json) {
  if (const auto integer = json.integer()) {
    out.integer(*integer);
  } else if (const auto large = json.unsigned_integer()) {
    out.unsigned_integer(*large);
  } else if (const double number = *json.number(); std::isfinite(number)) {
    std::string text = fmt::format("{}", number);
    // A number that was not an integer must not become one.
    text += text.find_first_of(".e") == std::string::npos ? ".0" : "";
    out.raw(JsonText::trusted(std::move(text)));
  } else {
    // A number that is too large to read must not become null, which is another value.
    out.raw(JsonText::trusted(number > 0 ? "1e999" : "-1e999"));
  }
}

void write(JsonWriter& out, const Json& json) {
  switch (json.kind()) {
    case Json::Kind::null:
      out.null();
      return;
    case Json::Kind::boolean:
      out.boolean(*json.boolean());
      return;
    case Json::Kind::integer:
    case Json::Kind::number:
      write_number(out, json);
      return;
    case Json::Kind::string:
      out.string(*json.string());
      return;
    case Json::Kind::array:
      out.begin_array();
      for (std::size_t i = 0; i < json.size(); ++i) {
        write(out, json.item(i));
      }
      out.end_array();
      return;
    case Json::Kind::object:
      out.begin_object();
      for (std::size_t i = 0; i < json.size(); ++i) {
        const auto [name, value] = json.member(i);
        out.key(name);
        write(out, value);
      }
      out.end_object();
      return;
  }
}

}  // namespace

std::string json_text(const Json& json) {
  JsonWriter out;
  write(out, json);
  return std::move(out).take();
}

}  // namespace holdfast
