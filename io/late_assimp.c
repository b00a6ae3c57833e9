// The functions of assimp that foreign_mesh.c calls, handed over: see late_library.h.
#include "io/late_call.h"

#include <assimp/cimport.h>
#include <assimp/scene.h>

// clang-format off

const struct aiScene *aiImportFile(const char *path, unsigned flags)
	IO_LATE_CALL(IO_LATE_ASSIMP, const struct aiScene *, NULL, aiImportFile, (const char *, unsigned), (path, flags))

const struct aiScene *aiImportFileFromMemory(const char *bytes, unsigned size, unsigned flags, const char *hint)
	IO_LATE_CALL(IO_LATE_ASSIMP, const struct aiScene *, NULL, aiImportFileFromMemory,
		(const char *, unsigned, unsigned, const char *), (bytes, size, flags, hint))

const char *aiGetErrorString(void)
	IO_LATE_CALL(IO_LATE_ASSIMP, const char *, io_late_problem(IO_LATE_ASSIMP), aiGetErrorString, (void), ())

int aiMatrix4AreEqual(const struct aiMatrix4x4 *a, const struct aiMatrix4x4 *b)
	IO_LATE_CALL(IO_LATE_ASSIMP, int, 0, aiMatrix4AreEqual, (const struct aiMatrix4x4 *, const struct aiMatrix4x4 *), (a, b))

void aiReleaseImport(const struct aiScene *scene)
{
	IO_LATE_REAL(IO_LATE_ASSIMP, void, aiReleaseImport, (const struct aiScene *));
	if (real)
		real(scene);
}

void aiTransformVecByMatrix4(struct aiVector3D *v, const struct aiMatrix4x4 *m)
{
	IO_LATE_REAL(IO_LATE_ASSIMP, void, aiTransformVecByMatrix4, (struct aiVector3D *, const struct aiMatrix4x4 *));
	if (real)
		real(v, m);
}

void aiMultiplyMatrix4(struct aiMatrix4x4 *a, const struct aiMatrix4x4 *b)
{
	IO_LATE_REAL(IO_LATE_ASSIMP, void, aiMultiplyMatrix4, (struct aiMatrix4x4 *, const struct aiMatrix4x4 *));
	if (real)
		real(a, b);
}

void aiIdentityMatrix4(struct aiMatrix4x4 *m)
{
	IO_LATE_REAL(IO_LATE_ASSIMP, void, aiIdentityMatrix4, (struct aiMatrix4x4 *));
	if (real)
		real(m);
}
