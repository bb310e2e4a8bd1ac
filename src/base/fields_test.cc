#include "base/fields.h"

#include <gtest/gtest.h>

#include "base/undo.h"

namespace holdfast {

namespace fields_test {
HOLDFAST_ENUM(Colour, red, dark_green);

struct Page {
  enum class Side : std::uint8_t { left, right };
};
}  // namespace fields_test

template <>
inline constexpr std::string_view kEnumNames<fields_test::Page::Side>[] = {"left", "right"};

}  // namespace holdfast

namespace holdfast::fields_test {
namespace {

HOLDFAST_ENUM(Fuel,
              diesel,  // with a comma behind the last one
              petrol, );

struct Wheel {
  std::uint32_t size = 0;
  HOLDFAST_FIELDS(required(size));
  friend bool operator==(const Wheel&, const Wheel&) = default;
};

struct Car {
  SharedText name;
  Colour colour = Colour::red;
  Payload cargo;
  std::vector<Wheel> wheels;
  std::optional<Wheel> spare;
  std::map<std::string, std::uint64_t> seats;
  TimeMs built;
  bool sold = false;
  HOLDFAST_FIELDS(required(name), required(colour), required(wheels), required(built),
                  optional(cargo), optional(spare), optional(seats), optional(sold));
  friend bool operator==(const Car&, const Car&) = default;
};

constexpr std::string_view kCar =
    R"({"name":"a\"b","colour":"dark_green","wheels":[{"size":1},{"size":2}],"built":-5,)"
    R"("cargo":{"x":[1]},"spare":{"size":3},"seats":{"front":2},"sold":true})";

std::string fault(std::string_view text) {
  const auto car = from_json<Car>(text);
  return car.ok() ? ""
                  : std::string(error_info(car.error().code()).name) + ": " +
                        std::string(car.error().field("fields"));
}

TEST(Fields, one_list_reads_and_writes) {
  const auto car = from_json<Car>(kCar);
  ASSERT_TRUE(car.ok()) << car.error().text();
  EXPECT_EQ(car.value().name.view(), "a\"b");
  EXPECT_EQ(car.value().cargo.view(), R"({"x":[1]})");
  EXPECT_EQ(to_json(car.value()).value().view(), kCar);
}

TEST(Fields, optional_fields_without_a_value_are_not_written) {
  Car car;
  car.name = "x";
  EXPECT_EQ(to_json(car).value().view(), R"({"name":"x","colour":"red","wheels":[],"built":0})");
}

TEST(Fields, all_missing_and_all_ill_typed_fields_are_named) {
  EXPECT_EQ(fault("{}"), "missing_fields: name, colour, wheels, built");
  EXPECT_EQ(fault(R"({"name":null,"colour":"red","wheels":[],"built":1})"), "missing_fields: name");
  EXPECT_EQ(fault(R"({"name":"","colour":"red","wheels":[],"built":1})"), "missing_fields: name");
  EXPECT_EQ(fault(R"({"name":1,"colour":"blue","wheels":[{}],"built":"now"})"),
            "invalid_argument: name, colour, wheels, built");
  EXPECT_EQ(fault(R"({"name":"a")"), "invalid_json: ");
  EXPECT_EQ(fault("[]"), "invalid_json: ");
  EXPECT_EQ(to_json(Car{}).error().field("fields"), "name");
}

TEST(Fields, unknown_members_are_ignored) {
  EXPECT_EQ(fault(R"({"name":"a","more":{"x":1},"colour":"red","wheels":[],"built":1})"), "");
}

TEST(Enum, names_are_those_of_the_enumerators) {
  EXPECT_EQ(to_text(Colour::dark_green), "dark_green");
  EXPECT_EQ(to_text(Fuel::petrol), "petrol");
  EXPECT_EQ(to_text(Page::Side::right), "right");
  EXPECT_EQ(std::size(kEnumNames<Fuel>), 2);
  EXPECT_EQ(enum_from<Fuel>("diesel"), Fuel::diesel);
  EXPECT_EQ(enum_from<Colour>("green"), std::nullopt);
}

TEST(SharedText, copies_share_one_block) {
  SharedText one("text");
  const SharedText two = one;
  EXPECT_EQ(one.view().data(), two.view().data());
  one = SharedText("other");
  EXPECT_EQ(two.view(), "text");
  EXPECT_TRUE(SharedText().empty());
  EXPECT_EQ(SharedText("a"), SharedText("a"));
  EXPECT_LT(SharedText("a"), SharedText("b"));
}

TEST(Undo, reverts_the_newest_change_first) {
  UndoLog undo;
  int value = 1;
  std::map<std::string, int> map{{"kept", 1}};
  const auto start = undo.mark();
  save(&undo, value);
  value = 2;
  insert(&undo, map, "new", 5);
  const auto middle = undo.mark();
  save(&undo, map.at("new"));
  map.at("new") = 6;
  erase(&undo, map, "kept");
  erase(&undo, map, "never there");
  undo.roll_back_to(middle);
  EXPECT_EQ(map, (std::map<std::string, int>{{"kept", 1}, {"new", 5}}));
  undo.roll_back_to(start);
  EXPECT_EQ(map, (std::map<std::string, int>{{"kept", 1}}));
  EXPECT_EQ(value, 1);
}

TEST(Undo, durable_changes_are_not_reverted) {
  UndoLog undo;
  std::vector<int> list;
  push_back(&undo, list, 1);
  const auto durable = undo.mark();
  push_back(&undo, list, 2);
  undo.keep_until(durable);
  undo.roll_back_to(durable);
  EXPECT_EQ(list, std::vector<int>{1});
}

}  // namespace
}  // namespace holdfast::fields_test
