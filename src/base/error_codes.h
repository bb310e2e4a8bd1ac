// The list of error codes, from the public headers: programs compare the same codes.
#pragma once

#include "holdfast/error_codes.h"
