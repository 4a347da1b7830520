// Numbers that look random, from any numbers.
#pragma once

#include <cstdint>

namespace trainyard {

/// SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014): every bit of the input moves every bit of the output.
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace trainyard
