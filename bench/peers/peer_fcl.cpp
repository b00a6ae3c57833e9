/// FCL: two BVH models with OBB trees (double, its fastest for this), all contacts. Its penetration
/// depth between meshes is not a real one; the points are. This file must be compiled without
/// -march=native: its Eigen types must be those of the packaged library.

#include "peers.h"

#include <fcl/fcl.h>

namespace bench {
namespace {

using Transforms = std::vector<fcl::Transform3d, Eigen::aligned_allocator<fcl::Transform3d>>;

class FclPeer final : public Peer {
  public:
	FclPeer(const Mesh &mesh, int body_count)
		: model(std::make_shared<fcl::BVHModel<fcl::OBBd>>()), transforms(body_count), request(1000000, true)
	{
		std::vector<fcl::Vector3d> vertices;
		std::vector<fcl::Triangle> triangles;
		for (int i = 0; i < mesh.vertex_count(); i++) {
			const float *v = &mesh.vertices[3 * i];
			vertices.emplace_back(v[0], v[1], v[2]);
		}
		for (int i = 0; i < mesh.triangle_count(); i++) {
			const int32_t *t = &mesh.triangles[3 * i];
			triangles.emplace_back(t[0], t[1], t[2]);
		}
		model->beginModel();
		model->addSubModel(vertices, triangles);
		model->endModel();
	}

	void place(const Frame &frame) override
	{
		for (size_t i = 0; i < transforms.size(); i++) {
			const Placement &body = frame.bodies[i];
			transforms[i].setIdentity();
			transforms[i].linear() = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(body.rotation);
			transforms[i].translation() << body.pose.position.x, body.pose.position.y, body.pose.position.z;
		}
	}

	void work(const Frame &frame, Answer &answer) override
	{
		for (const Pair &pair : frame.pairs) {
			result.clear();
			size_t count = fcl::collide(model.get(), transforms[pair.a], model.get(), transforms[pair.b], request, result);
			if (count > 0) {
				answer.colliding.push_back(pair);
				answer.contacts += static_cast<int64_t>(count);
			}
		}
	}

  private:
	std::shared_ptr<fcl::BVHModel<fcl::OBBd>> model;
	Transforms transforms;
	fcl::CollisionRequestd request;
	fcl::CollisionResultd result;
};

} // namespace

std::unique_ptr<Peer> create_fcl(const Mesh &mesh, int body_count) { return std::make_unique<FclPeer>(mesh, body_count); }

} // namespace bench
