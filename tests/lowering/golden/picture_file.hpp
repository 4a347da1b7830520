// Kept pictures: NAME.txt in this folder, words on top and the picture below.
#pragma once

#include <string>

namespace trainyard::golden {

/// Fails where the picture differs from the kept one, or where the kept one has no words. With TRAINYARD_REDRAW=1 in
/// the environment a picture that differs is written under the old words, and the test fails all the same: look at it,
/// then run again without.
void check_picture(const std::string& name, const std::string& picture);

}  // namespace trainyard::golden
