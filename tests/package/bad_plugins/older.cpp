#include "sim/planning/registry.hpp"

// As if it had been built against the headers before.
const bool added = (trainyard::StrategyRegistry::instance().add({.name = "older"}, 0), true);
