// Everything a program needs to embed Holdfast.
#pragma once

#include "holdfast/client.h"
#include "holdfast/engine.h"
#include "holdfast/json.h"
#include "holdfast/lease_backend.h"
#include "holdfast/log.h"
#include "holdfast/result.h"
#include "holdfast/run.h"
#include "holdfast/step.h"
#include "holdfast/workflow.h"
