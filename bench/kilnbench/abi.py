"""The C structures of runtime/kiln/call/c.h and of DLPack, for ctypes."""

import ctypes as c


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", c.c_int32 * 2), ("ndim", c.c_int32), ("dtype", c.c_uint32),
                ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("offset", c.c_uint64)]


class Options(c.Structure):
    _fields_ = [("cores", c.c_int32), ("mode", c.c_int32), ("vmem_bytes", c.c_int64), ("smem_bytes", c.c_int64),
                ("dma", c.c_int32), ("poison", c.c_int32), ("shuffle", c.c_int32), ("seed", c.c_uint64),
                ("events", c.c_int32), ("parallel_for", c.c_void_p), ("parallel_for_data", c.c_void_p),
                ("l1_bytes", c.c_int64), ("l2_bytes", c.c_int64), ("last_cache_bytes", c.c_int64)]


class Status(c.Structure):
    _fields_ = [("code", c.c_int32), ("message", c.c_char * 508)]
