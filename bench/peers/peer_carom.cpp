/// Carom: a whole step of a world, all contacts, completeness pass on, one thread. Unlike the
/// others it is not handed the list of pairs: moving the bodies, finding the pairs and sorting the
/// contacts are on its clock.

#include "peers.h"

#include <algorithm>

namespace bench {
namespace {

class CaromPeer final : public Peer {
  public:
	CaromPeer(const Mesh &mesh, int body_count, carom_temporal temporal)
	{
		carom_context_def context_def = carom_default_context_def();
		context_def.thread_count = 1;
		if (carom_create_context(&context_def, &context) != CAROM_SUCCESS) {
			fail("Carom cannot make a context");
		}
		carom_mesh_def mesh_def = carom_default_mesh_def();
		mesh_def.vertices.data = mesh.vertices.data();
		mesh_def.vertices.type = CAROM_FLOAT32;
		mesh_def.vertex_count = mesh.vertex_count();
		mesh_def.triangles = mesh.triangles.data();
		mesh_def.triangle_count = mesh.triangle_count();
		check(carom_create_mesh(context, &mesh_def, nullptr, &shared_mesh));
		carom_world_def world_def = carom_default_world_def();
		world_def.temporal = temporal;
		world_def.max_contacts_per_pair = 0;
		check(carom_create_world(context, &world_def, &world));
		carom_body_def body_def = carom_default_body_def();
		body_def.shape.type = CAROM_MESH;
		body_def.shape.mesh = shared_mesh;
		body_def.kind = CAROM_DYNAMIC;
		ids.resize(body_count);
		poses.resize(body_count);
		for (int i = 0; i < body_count; i++) {
			body_def.user_data = static_cast<uint64_t>(i);
			check(carom_world_add_body(world, &body_def, &ids[i]));
		}
	}

	~CaromPeer() override
	{
		carom_destroy_world(world);
		carom_release_mesh(shared_mesh);
		carom_destroy_context(context);
	}

	/// The world must not know the frame already when the clock runs, as it would from the last
	/// repetition: step through the frames before it first.
	void place(const Frame &frame) override
	{
		for (const std::vector<Placement> &bodies : frame.before) {
			take(bodies);
			step();
		}
		take(frame.bodies);
	}

	void work(const Frame &, Answer &answer) override
	{
		step();
		carom_pair_view pairs = carom_world_pairs(world);
		for (int i = 0; i < pairs.count; i++) {
			int32_t a = static_cast<int32_t>(pairs.data[i].user_data_a), b = static_cast<int32_t>(pairs.data[i].user_data_b);
			answer.colliding.push_back({ std::min(a, b), std::max(a, b) });
		}
		answer.contacts = carom_world_contacts(world).count;
	}

  private:
	void check(carom_result result) const
	{
		if (result != CAROM_SUCCESS) {
			fail(std::string("Carom: ") + carom_error_text(context));
		}
	}

	void take(const std::vector<Placement> &bodies)
	{
		for (size_t i = 0; i < poses.size(); i++) {
			poses[i] = bodies[i].pose;
		}
	}

	void step()
	{
		check(carom_world_set_poses(world, static_cast<int>(ids.size()), ids.data(), poses.data()));
		check(carom_world_step(world));
	}

	carom_context *context = nullptr;
	carom_mesh *shared_mesh = nullptr;
	carom_world *world = nullptr;
	std::vector<carom_body_id> ids;
	std::vector<carom_pose> poses;
};

} // namespace

std::unique_ptr<Peer> create_carom(const Mesh &mesh, int body_count)
{
	return std::make_unique<CaromPeer>(mesh, body_count, CAROM_TEMPORAL_PREDICTIVE);
}

std::unique_ptr<Peer> create_carom_full(const Mesh &mesh, int body_count)
{
	return std::make_unique<CaromPeer>(mesh, body_count, CAROM_TEMPORAL_NONE);
}

} // namespace bench
