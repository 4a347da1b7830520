// Nothing: a target precompiles its headers only if a file of it uses them, and test_main.cpp must not.
