// A library that has nothing to do with strategies.
int answer() { return 42; }
