/* The version of these headers, also for C. CMakeLists.txt reads it here. */
#ifndef KILN_CORE_VERSION_H_
#define KILN_CORE_VERSION_H_

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0

/* The namespace of everything in the runtime. Kernels that were compiled with headers of another
   minor version do not link with it, as they look for `kiln::v0_2`, or whatever it was; and of
   shared libraries with different versions none takes functions from another. */
#define KILN_JOIN_VERSION(major, minor) v##major##_##minor
#define KILN_NAME_VERSION(major, minor) KILN_JOIN_VERSION(major, minor)
#define KILN_ABI KILN_NAME_VERSION(KILN_VERSION_MAJOR, KILN_VERSION_MINOR)

#endif /* KILN_CORE_VERSION_H_ */
