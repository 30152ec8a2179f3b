#include "generator/syntax/names.h"

#include <algorithm>

#include "generator/data/dtype.h"
#include "generator/text/characters.h"

namespace kiln {
namespace {

constexpr size_t kMaxQuoted = 60;

/// What a name may not be, by reason. `*` ends a family.
constexpr struct {
  std::string_view is;
  std::string_view words;
} kTaken[] = {
    {"is a word of the spec language",
     "all and assert copy else false for if in inf let nan not null or range true var wait "
     "when while"},
    {"is a dtype", kDTypeNames},
    {"is a word of C++, which names become part of",
     "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
     "char32_t char8_t class co_await co_return co_yield compl concept const const_cast "
     "consteval constexpr constinit continue decltype default delete do double dynamic_cast "
     "else enum explicit export extern false float for friend goto if inline int long mutable "
     "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
     "register reinterpret_cast requires return short signed sizeof static static_assert "
     "static_cast struct switch template this thread_local throw true try typedef typeid "
     "typename union unsigned using virtual void volatile wchar_t xor xor_eq"},
    {"is a name that the generated C++ has its own use for", "hwy kiln main std"},
    // Of <cassert>, <cerrno>, <cfloat>, <climits>, <cmath>, <cstddef>, <cstdint>, <cstdio>,
    // <cstdlib>, <cstring> as gcc and glibc have them; Highway's and our own.
    {"is, or may be, a macro of the headers that the generated C++ includes",
     "CHAR_BIT CHAR_M* CHAR_WIDTH SCHAR_* UCHAR_* SHRT_* USHRT_* INT_* UINT_* LONG_BIT "
     "LONG_LONG_* LONG_M* LONG_WIDTH ULONG_* LLONG_* ULLONG_* INT8_* INT16_* INT32_* INT64_* "
     "INTMAX_* INTPTR_* UINT8_* UINT16_* UINT32_* UINT64_* UINTMAX_* UINTPTR_* BOOL_MAX "
     "BOOL_WIDTH PTRDIFF_M* PTRDIFF_WIDTH SIG_ATOMIC_* SIZE_MAX SIZE_WIDTH SSIZE_MAX WCHAR_M* "
     "WCHAR_WIDTH WINT_* WORD_BIT DECIMAL_DIG FLT_* DBL_* LDBL_* FP_* HUGE_VAL* INFINITY NAN "
     "SNAN* MAXFLOAT MATH_ERRNO MATH_ERREXCEPT math_errhandling M_E M_PI* M_1_PI* M_2_* "
     "M_SQRT* M_LN2* M_LN10* M_LOG2E* M_LOG10E* BUFSIZ EOF FILENAME_MAX FOPEN_MAX L_tmpnam "
     "L_ctermid L_cuserid P_tmpdir RENAME_* SEEK_* TMP_MAX stderr stdin stdout EXIT_FAILURE "
     "EXIT_SUCCESS MB_CUR_MAX MB_LEN_MAX NULL RAND_MAX alloca errno offsetof BIG_ENDIAN "
     "BYTE_ORDER LITTLE_ENDIAN PDP_ENDIAN HOST_NAME_MAX IOV_MAX LINE_MAX NAME_MAX PATH_MAX "
     "PIPE_BUF NZERO linux unix HWY_* KILN_* "
     "E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF "
     "EBADFD EBADMSG EBADR EBADRQC EBADSLT EBFONT EBUSY ECANCELED ECHILD ECHRNG ECOMM "
     "ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDEADLOCK EDESTADDRREQ EDOM EDOTDOT EDQUOT "
     "EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ EINPROGRESS EINTR "
     "EINVAL EIO EISCONN EISDIR EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC "
     "EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE "
     "EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL ENETDOWN ENETRESET ENETUNREACH ENFILE "
     "ENOANO ENOBUFS ENOCSI ENODATA ENODEV ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM "
     "ENOMEM ENOMSG ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN "
     "ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ ENXIO "
     "EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT "
     "EPROTOTYPE ERANGE EREMCHG EREMOTE EREMOTEIO ERESTART ERFKILL EROFS ESHUTDOWN "
     "ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY "
     "EUCLEAN EUNATCH EUSERS EWOULDBLOCK EXDEV EXFULL"},
};
constexpr size_t kSpecWords = 0;  // the first row

/// Whether a row's words have this one.
bool Contains(std::string_view words, std::string_view name) {
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    const std::string_view word = words.substr(at, end - at);
    const bool family = word.ends_with('*');
    if (family ? name.starts_with(word.substr(0, word.size() - 1)) : name == word) return true;
    at = end + 1;
  }
  return false;
}

/// `a__b` and `_X` belong to the C++ implementation.
bool BelongsToCompiler(std::string_view name) {
  const bool capital = name.size() > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z';
  return capital || name.find("__") != std::string_view::npos;
}

}  // namespace

std::string Quote(std::string_view text) {
  if (text.size() <= kMaxQuoted) return "`" + std::string(text) + "`";
  size_t cut = kMaxQuoted;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return "`" + std::string(text.substr(0, cut)) + "…`";
}

bool IsIdentifier(std::string_view text) {
  if (text.empty() || !IsLetter(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return IsLetter(c) || IsDigit(c); });
}

bool IsReservedWord(std::string_view text) { return Contains(kTaken[kSpecWords].words, text); }

std::string HintForDType(std::string_view text, const std::vector<std::string>& candidates) {
  const std::string_view ours = DTypeOfOthers(text);
  return ours.empty() ? DidYouMean(text, candidates) : "did you mean `" + std::string(ours) + "`?";
}

bool CheckNewName(const Ident& name, Diagnostics& diagnostics) {
  const std::string quoted = Quote(name.name);
  const auto error = [&](const std::string& message, const std::string& hint) {
    diagnostics.Error("name", name.span, message, hint);
    return false;
  };
  if (!IsIdentifier(name.name)) {
    return error(quoted + " is not a name",
                 "a name has letters, digits and `_`, and does not "
                 "begin with a digit");
  }
  if (name.name.size() > kMaxNameLength) {
    return error("the name " + quoted + " has " + std::to_string(name.name.size()) +
                     " characters; the limit is " + std::to_string(kMaxNameLength),
                 "");
  }
  for (const auto& [is, words] : kTaken) {
    if (Contains(words, name.name)) {
      return error(quoted + " " + std::string(is), "choose another name");
    }
  }
  if (BelongsToCompiler(name.name)) {
    return error("names like " + quoted + " belong to the C++ compiler",
                 "one `_` at a time, and no capital after one at the beginning");
  }
  return true;
}

}  // namespace kiln
