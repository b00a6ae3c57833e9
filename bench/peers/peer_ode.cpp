/// ODE: dCollide of two triangle meshes (OPCODE trees), all contacts.

#include "peers.h"

#include <cstdarg>
#include <ode/ode.h>

namespace bench {
namespace {

// dCollide takes the most contacts in the low 16 bits of its flags.
constexpr int max_contacts = 0xffff;

/// ODE prints a line for each full bucket of its table of contacts (some contacts may then come
/// twice): hundreds in a heap, and printing would be on its clock.
void drop_message(int, const char *, va_list) {}

class OdePeer final : public Peer {
  public:
	OdePeer(const Mesh &mesh, int body_count)
		: vertices(mesh.vertices), indices(mesh.triangles.begin(), mesh.triangles.end()), contacts(max_contacts)
	{
		if (!dInitODE2(0) || !dAllocateODEDataForThread(dAllocateMaskAll)) {
			fail("ODE cannot be started");
		}
		dSetMessageHandler(drop_message);
		data = dGeomTriMeshDataCreate();
		dGeomTriMeshDataBuildSingle(data, vertices.data(), 3 * sizeof(float), mesh.vertex_count(), indices.data(),
			static_cast<int>(indices.size()), 3 * sizeof(dTriIndex));
		unsigned wanted = (1U << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES) | (1U << dTRIDATAPREPROCESS_BUILD_CONCAVE_EDGES);
		dGeomTriMeshDataPreprocess2(data, wanted, nullptr);
		for (int i = 0; i < body_count; i++) {
			geoms.push_back(dCreateTriMesh(nullptr, data, nullptr, nullptr, nullptr));
		}
	}

	~OdePeer() override
	{
		for (dGeomID geom : geoms) {
			dGeomDestroy(geom);
		}
		dGeomTriMeshDataDestroy(data);
		dCloseODE();
	}

	void place(const Frame &frame) override
	{
		for (size_t i = 0; i < geoms.size(); i++) {
			const double *r = frame.bodies[i].rotation;
			const carom_vec3 &p = frame.bodies[i].pose.position;
			dMatrix3 rotation = { dReal(r[0]), dReal(r[1]), dReal(r[2]), 0, dReal(r[3]), dReal(r[4]), dReal(r[5]), 0,
				dReal(r[6]), dReal(r[7]), dReal(r[8]), 0 };
			dGeomSetPosition(geoms[i], dReal(p.x), dReal(p.y), dReal(p.z));
			dGeomSetRotation(geoms[i], rotation);
			dReal box[6];
			dGeomGetAABB(geoms[i], box); // computed on first use: not part of the collision
		}
	}

	void work(const Frame &frame, Answer &answer) override
	{
		for (const Pair &pair : frame.pairs) {
			int count = dCollide(geoms[pair.a], geoms[pair.b], max_contacts, contacts.data(), sizeof(dContactGeom));
			if (count > 0) {
				answer.colliding.push_back(pair);
				answer.contacts += count;
			}
		}
	}

  private:
	std::vector<float> vertices;
	std::vector<dTriIndex> indices;
	std::vector<dContactGeom> contacts;
	dTriMeshDataID data;
	std::vector<dGeomID> geoms;
};

} // namespace

std::unique_ptr<Peer> create_ode(const Mesh &mesh, int body_count) { return std::make_unique<OdePeer>(mesh, body_count); }

} // namespace bench
