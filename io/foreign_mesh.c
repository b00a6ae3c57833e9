// Meshes of the formats that assimp reads, without any of its post-processing, which renumbers
// vertices.
#include "io/foreign_mesh.h"

#include "io/mesh_text.h"
#include "io/polygon.h"

#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/// The sizes of a node and those below it, to know the sizes before anything is copied.
static void count_node(const struct aiScene *scene, const struct aiNode *node, int64_t *vertices, int64_t *triangles)
{
	for (unsigned i = 0; i < node->mNumMeshes; i++) {
		const struct aiMesh *part = scene->mMeshes[node->mMeshes[i]];
		*vertices += part->mNumVertices;
		for (unsigned f = 0; f < part->mNumFaces; f++) {
			if (part->mFaces[f].mNumIndices >= 3)
				*triangles += part->mFaces[f].mNumIndices - 2;
		}
	}
	for (unsigned i = 0; i < node->mNumChildren; i++)
		count_node(scene, node->mChildren[i], vertices, triangles);
}

/// Append one part: its vertices, moved unless they stand where they should (so that they keep
/// their bits), and its faces. False when out of memory.
static bool append_part(sim_mesh *mesh, const struct aiMesh *part, const struct aiMatrix4x4 *frame, bool moved)
{
	const int32_t first = mesh->vertex_count;
	for (unsigned i = 0; i < part->mNumVertices; i++) {
		struct aiVector3D v = part->mVertices[i];
		if (moved)
			aiTransformVecByMatrix4(&v, frame);
		float *to = mesh->vertices + 3 * (size_t)mesh->vertex_count++;
		to[0] = v.x;
		to[1] = v.y;
		to[2] = v.z;
	}
	for (unsigned f = 0; f < part->mNumFaces; f++) {
		const struct aiFace *face = &part->mFaces[f];
		const io_polygon polygon = { mesh->triangle_count, (int32_t)face->mNumIndices };
		for (unsigned k = 2; k < face->mNumIndices; k++) {
			int32_t *to = mesh->triangles + 3 * (size_t)mesh->triangle_count++;
			to[0] = (int32_t)(face->mIndices[0] + (unsigned)first);
			to[1] = (int32_t)(face->mIndices[k - 1] + (unsigned)first);
			to[2] = (int32_t)(face->mIndices[k] + (unsigned)first);
		}
		if (polygon.corners > 3 && !io_cut_polygon(mesh, polygon))
			return false;
	}
	return true;
}

static bool append_node(sim_mesh *mesh, const struct aiScene *scene, const struct aiNode *node, const struct aiMatrix4x4 *parent)
{
	struct aiMatrix4x4 frame = *parent, identity;
	aiMultiplyMatrix4(&frame, &node->mTransformation);
	aiIdentityMatrix4(&identity);
	const bool moved = !aiMatrix4AreEqual(&frame, &identity);
	bool done = true;
	for (unsigned i = 0; done && i < node->mNumMeshes; i++)
		done = append_part(mesh, scene->mMeshes[node->mMeshes[i]], &frame, moved);
	for (unsigned i = 0; done && i < node->mNumChildren; i++)
		done = append_node(mesh, scene, node->mChildren[i], &frame);
	return done;
}

static bool is_finite(const sim_mesh *mesh, sim_error *error)
{
	for (int64_t i = 0; i < 3 * (int64_t)mesh->vertex_count; i++) {
		if (!isfinite(mesh->vertices[i]))
			return sim_fail(error, IO_UNFINITE, (long long)(i / 3), "xyz"[i % 3], io_unfinite_word((double)mesh->vertices[i]));
	}
	return true;
}

/// Do all faces name vertices of their parts?
static bool is_in_range(const struct aiScene *scene, sim_error *error)
{
	for (unsigned i = 0; i < scene->mNumMeshes; i++) {
		const struct aiMesh *part = scene->mMeshes[i];
		for (unsigned f = 0; f < part->mNumFaces; f++) {
			for (unsigned k = 0; k < part->mFaces[f].mNumIndices; k++) {
				if (part->mFaces[f].mIndices[k] >= part->mNumVertices) {
					sim_fail(
						error, IO_NO_VERTEX, (long long)f, (long long)part->mFaces[f].mIndices[k], (int)part->mNumVertices - 1);
					return sim_fail_in(error, "part %u: ", i);
				}
			}
		}
	}
	return true;
}

static bool flatten_scene(const struct aiScene *scene, sim_mesh *mesh, sim_error *error)
{
	int64_t vertices = 0, triangles = 0;
	if (!is_in_range(scene, error))
		return false;
	count_node(scene, scene->mRootNode, &vertices, &triangles);
	if (vertices > INT32_MAX / 3 || triangles > INT32_MAX / 3) {
		return sim_fail(error, "holds more vertices or triangles than 32-bit numbers can count");
	}
	mesh->vertices = malloc(vertices ? (size_t)vertices * 12 : 1);
	mesh->triangles = malloc(triangles ? (size_t)triangles * 12 : 1);
	struct aiMatrix4x4 identity;
	aiIdentityMatrix4(&identity);
	bool done = mesh->vertices && mesh->triangles && append_node(mesh, scene, scene->mRootNode, &identity);
	if (!done)
		sim_fail(error, "out of memory");
	done = done && is_finite(mesh, error);
	if (!done)
		sim_mesh_free(mesh);
	return done;
}

bool io_read_foreign_mesh(const char *path, const char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	if (size > UINT_MAX) {
		return sim_fail(error, "is too large for assimp, which reads it; give an .obj, .ply, .stl, .off or .cmesh file");
	}
	const char *dot = strrchr(path, '.');
	const struct aiScene *scene =
		bytes ? aiImportFileFromMemory(bytes, (unsigned)size, 0, dot ? dot + 1 : "") : aiImportFile(path, 0);
	if (!scene) {
		const char *reason = aiGetErrorString();
		size_t length = strcspn(reason, "\r\n");
		while (length > 0 && reason[length - 1] == '.')
			length--;
		return sim_fail(
			error, "cannot be read as a mesh: %.*s; give an .obj, .ply, .stl, .off or .cmesh file", (int)length, reason);
	}
	const bool done = flatten_scene(scene, mesh, error);
	aiReleaseImport(scene);
	return done;
}
