// The names of the time zone database: files in /usr/share/zoneinfo, or in the folder that the
// environment variable TZDIR names.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/error.h"

namespace holdfast {

// Whether there is a file of this name. Names are segments of letters, digits and _ + -, joined by
// slashes. Absolute paths, "..", "localtime" and the copies in posix/ and right/ are not names.
bool has_zone_file(std::string_view name);

// The name that was probably meant by one that does not exist: "Berlin", "europe/berlin" and
// "Europe/Berln" mean Europe/Berlin. Empty when there is none. Reads folders: for error messages.
std::string similar_timezone(std::string_view name);

// invalid_argument with the name and, if there is one, a similar name.
Error unknown_timezone(std::string_view name);

}  // namespace holdfast
