// The functions of HDF5 that io/ and scene/ call, handed over: see late_library.h. The compiler
// compares each line with the header of HDF5. A function that lacks here is missing to the linker.
#include "io/late_call.h"

#include <hdf5.h>

// clang-format off

// n parameters; -1 is a failure of all of them.
#define CALL_0(type, name) \
	type name(void) IO_LATE_CALL(IO_LATE_HDF5, type, (type)-1, name, (void), ())
#define CALL_1(type, name, A) \
	type name(A a) IO_LATE_CALL(IO_LATE_HDF5, type, (type)-1, name, (A), (a))
#define CALL_2(type, name, A, B) \
	type name(A a, B b) IO_LATE_CALL(IO_LATE_HDF5, type, (type)-1, name, (A, B), (a, b))
#define CALL_3(type, name, A, B, C) \
	type name(A a, B b, C c) IO_LATE_CALL(IO_LATE_HDF5, type, (type)-1, name, (A, B, C), (a, b, c))
#define CALL_4(type, name, A, B, C, D) \
	type name(A a, B b, C c, D d) IO_LATE_CALL(IO_LATE_HDF5, type, (type)-1, name, (A, B, C, D), (a, b, c, d))
#define CALL_5(type, name, A, B, C, D, E) \
	type name(A a, B b, C c, D d, E e) IO_LATE_CALL(IO_LATE_HDF5, type, (type)-1, name, (A, B, C, D, E), (a, b, c, d, e))
#define CALL_6(type, name, A, B, C, D, E, F) \
	type name(A a, B b, C c, D d, E e, F f) IO_LATE_CALL(IO_LATE_HDF5, type, (type)-1, name, (A, B, C, D, E, F), (a, b, c, d, e, f))
#define CALL_7(type, name, A, B, C, D, E, F, G) \
	type name(A a, B b, C c, D d, E e, F f, G g) \
		IO_LATE_CALL(IO_LATE_HDF5, type, (type)-1, name, (A, B, C, D, E, F, G), (a, b, c, d, e, f, g))
#define CALL_8(type, name, A, B, C, D, E, F, G, H) \
	type name(A a, B b, C c, D d, E e, F f, G g, H h) \
		IO_LATE_CALL(IO_LATE_HDF5, type, (type)-1, name, (A, B, C, D, E, F, G, H), (a, b, c, d, e, f, g, h))

CALL_1(herr_t, H5Aclose, hid_t)
CALL_6(hid_t, H5Acreate2, hid_t, const char *, hid_t, hid_t, hid_t, hid_t)
CALL_1(hid_t, H5Aget_space, hid_t)
CALL_1(hsize_t, H5Aget_storage_size, hid_t)
CALL_1(hid_t, H5Aget_type, hid_t)
CALL_3(hid_t, H5Aopen, hid_t, const char *, hid_t)
CALL_3(herr_t, H5Aread, hid_t, hid_t, void *)
CALL_3(herr_t, H5Awrite, hid_t, hid_t, const void *)
CALL_3(herr_t, H5check_version, unsigned, unsigned, unsigned)
CALL_1(herr_t, H5Dclose, hid_t)
CALL_7(hid_t, H5Dcreate2, hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t)
CALL_1(hid_t, H5Dget_create_plist, hid_t)
CALL_1(haddr_t, H5Dget_offset, hid_t)
CALL_1(hid_t, H5Dget_space, hid_t)
CALL_1(hsize_t, H5Dget_storage_size, hid_t)
CALL_1(hid_t, H5Dget_type, hid_t)
CALL_3(hid_t, H5Dopen2, hid_t, const char *, hid_t)
CALL_6(herr_t, H5Dread, hid_t, hid_t, hid_t, hid_t, hid_t, void *)
CALL_2(herr_t, H5Dset_extent, hid_t, const hsize_t *)
CALL_6(herr_t, H5Dwrite, hid_t, hid_t, hid_t, hid_t, hid_t, const void *)
CALL_0(herr_t, H5dont_atexit)
CALL_3(herr_t, H5Eset_auto2, hid_t, H5E_auto2_t, void *)
CALL_1(herr_t, H5Fclose, hid_t)
CALL_4(hid_t, H5Fcreate, const char *, unsigned, hid_t, hid_t)
CALL_2(herr_t, H5Fflush, hid_t, H5F_scope_t)
CALL_2(herr_t, H5Fget_filesize, hid_t, hsize_t *)
CALL_3(hid_t, H5Fopen, const char *, unsigned, hid_t)
CALL_1(herr_t, H5Gclose, hid_t)
CALL_5(hid_t, H5Gcreate2, hid_t, const char *, hid_t, hid_t, hid_t)
CALL_4(herr_t, H5Gget_info_by_name, hid_t, const char *, H5G_info_t *, hid_t)
CALL_3(hid_t, H5Gopen2, hid_t, const char *, hid_t)
CALL_3(htri_t, H5Lexists, hid_t, const char *, hid_t)
CALL_8(ssize_t, H5Lget_name_by_idx, hid_t, const char *, H5_index_t, H5_iter_order_t, hsize_t, char *, size_t, hid_t)
CALL_1(herr_t, H5Pclose, hid_t)
CALL_1(hid_t, H5Pcreate, hid_t)
CALL_3(int, H5Pget_chunk, hid_t, int, hsize_t *)
CALL_1(int, H5Pget_external_count, hid_t)
CALL_1(H5D_layout_t, H5Pget_layout, hid_t)
CALL_1(int, H5Pget_nfilters, hid_t)
CALL_2(herr_t, H5Pset_alloc_time, hid_t, H5D_alloc_time_t)
CALL_3(herr_t, H5Pset_chunk, hid_t, int, const hsize_t *)
CALL_2(herr_t, H5Pset_deflate, hid_t, unsigned)
CALL_2(herr_t, H5Pset_fclose_degree, hid_t, H5F_close_degree_t)
CALL_2(herr_t, H5Pset_fill_time, hid_t, H5D_fill_time_t)
CALL_2(herr_t, H5Pset_layout, hid_t, H5D_layout_t)
CALL_2(herr_t, H5Pset_obj_track_times, hid_t, hbool_t)
CALL_1(herr_t, H5Pset_shuffle, hid_t)
CALL_2(herr_t, H5Pset_userblock, hid_t, hsize_t)
CALL_1(herr_t, H5Sclose, hid_t)
CALL_1(hid_t, H5Screate, H5S_class_t)
CALL_3(hid_t, H5Screate_simple, int, const hsize_t *, const hsize_t *)
CALL_3(int, H5Sget_simple_extent_dims, hid_t, hsize_t *, hsize_t *)
CALL_1(int, H5Sget_simple_extent_ndims, hid_t)
CALL_1(hssize_t, H5Sget_simple_extent_npoints, hid_t)
CALL_6(herr_t, H5Sselect_hyperslab, hid_t, H5S_seloper_t, const hsize_t *, const hsize_t *, const hsize_t *, const hsize_t *)
CALL_1(htri_t, H5Sselect_valid, hid_t)
CALL_1(herr_t, H5Tclose, hid_t)
CALL_1(hid_t, H5Tcopy, hid_t)
CALL_1(H5T_class_t, H5Tget_class, hid_t)
CALL_1(size_t, H5Tget_size, hid_t)
CALL_1(htri_t, H5Tis_variable_str, hid_t)
CALL_2(herr_t, H5Tset_cset, hid_t, H5T_cset_t)
CALL_2(herr_t, H5Tset_size, hid_t, size_t)
CALL_2(herr_t, H5Tset_strpad, hid_t, H5T_str_t)

// clang-format on

// ---- Ids ----

// Ids of types and classes are variables, which HDF5 sets when it begins. Its headers call H5open
// before each use of one, and H5open fills ours.
hid_t H5P_CLS_DATASET_CREATE_ID_g, H5P_CLS_FILE_ACCESS_ID_g, H5P_CLS_FILE_CREATE_ID_g, H5T_C_S1_g, H5T_IEEE_F32LE_g,
	H5T_IEEE_F64LE_g, H5T_NATIVE_DOUBLE_g, H5T_NATIVE_FLOAT_g, H5T_NATIVE_INT32_g, H5T_NATIVE_INT64_g, H5T_NATIVE_UINT16_g,
	H5T_NATIVE_UINT32_g, H5T_NATIVE_UINT8_g, H5T_STD_I32LE_g, H5T_STD_I64LE_g, H5T_STD_U16LE_g, H5T_STD_U32LE_g, H5T_STD_U8LE_g;

static const struct {
	const char *name;
	hid_t *id;
} s_ids[] = {
#define ID(name)     \
	{                \
#name, &name \
	}
	ID(H5P_CLS_DATASET_CREATE_ID_g),
	ID(H5P_CLS_FILE_ACCESS_ID_g),
	ID(H5P_CLS_FILE_CREATE_ID_g),
	ID(H5T_C_S1_g),
	ID(H5T_IEEE_F32LE_g),
	ID(H5T_IEEE_F64LE_g),
	ID(H5T_NATIVE_DOUBLE_g),
	ID(H5T_NATIVE_FLOAT_g),
	ID(H5T_NATIVE_INT32_g),
	ID(H5T_NATIVE_INT64_g),
	ID(H5T_NATIVE_UINT16_g),
	ID(H5T_NATIVE_UINT32_g),
	ID(H5T_NATIVE_UINT8_g),
	ID(H5T_STD_I32LE_g),
	ID(H5T_STD_I64LE_g),
	ID(H5T_STD_U16LE_g),
	ID(H5T_STD_U32LE_g),
	ID(H5T_STD_U8LE_g),
#undef ID
};

herr_t H5open(void)
{
	IO_LATE_REAL(IO_LATE_HDF5, herr_t, H5open, (void));
	const herr_t result = real ? real() : -1;
	for (size_t i = 0; result >= 0 && i < sizeof s_ids / sizeof *s_ids; i++) {
		const hid_t *id = io_late_symbol(IO_LATE_HDF5, s_ids[i].name);
		*s_ids[i].id = id ? *id : H5I_INVALID_HID;
	}
	return result;
}
