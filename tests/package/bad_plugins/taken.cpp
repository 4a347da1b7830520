#include "sim/planning/registry.hpp"

// A name that the program has.
const trainyard::StrategyRegistrar registrar({.name = "megatron",
                                              .summary = "another",
                                              .paper = "none",
                                              .options = {},
                                              .simplified = {},
                                              .make = [](const trainyard::StrategyOptions&, trainyard::Diagnostics&) { return nullptr; }});
