/* The version of these headers, also for C. CMakeLists.txt reads it here. */
#ifndef KILN_CORE_VERSION_H_
#define KILN_CORE_VERSION_H_

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0

/* The namespace of what every kernel calls, so that kernels which were compiled with headers of
   another minor version than the runtime's do not link: they look for `kiln::v0_1`, or whatever it
   was. */
#define KILN_JOIN_VERSION(major, minor) v##major##_##minor
#define KILN_NAME_VERSION(major, minor) KILN_JOIN_VERSION(major, minor)
#define KILN_ABI KILN_NAME_VERSION(KILN_VERSION_MAJOR, KILN_VERSION_MINOR)

#endif /* KILN_CORE_VERSION_H_ */
