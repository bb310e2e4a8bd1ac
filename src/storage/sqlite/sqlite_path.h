// Paths of SQLite files, and errors of the system as Error.
#pragma once

#include <string>

#include "holdfast/result.h"

namespace holdfast {

// The folder that contains a path: "." when the path names none.
std::string folder_of(const std::string& path);

bool file_exists(const std::string& path);

// The file that a path leads to: symbolic links are followed, also to a file that does not exist
// yet. SQLite keeps its WAL and journal files beside that one.
std::string real_file(const std::string& path);

// permission_denied, not_found or io_error, by errno.
Error file_error(const std::string& path, int number);

}  // namespace holdfast
