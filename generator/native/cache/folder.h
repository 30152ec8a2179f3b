#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kiln {

/// Where compiled kernels are kept, and what was measured of them and of the machine:
/// $XDG_CACHE_HOME/kiln or ~/.cache/kiln. Empty: neither is set.
std::string CacheFolder();

/// Makes the folder, for its owner alone, unless it is there. What is in it will be run, so it must
/// be this user's, and nobody else but root may be able to put things into it or in its place: not
/// by its own mode, and not by that of a folder or the owner of a link on the way to it. Empty:
/// that is so; else a sentence that says what is wrong.
std::string TrustCacheFolder(const std::string& folder);

/// CacheFolder() if it can be trusted, else empty.
std::string TrustedCacheFolder();

/// The folder for what is compiled without a cache: $TMPDIR or /tmp. Empty: *why it cannot be.
std::string TemporaryFolder(std::string* why);

/// How many bytes of compiled kernels are kept: $KILN_CACHE_LIMIT, as in 500M or 2G, which is what
/// it is unless set. Nullopt: it is no such number.
std::optional<int64_t> CacheLimit();

}  // namespace kiln
