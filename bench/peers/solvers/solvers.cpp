/// carom_solvers: do Carom's contacts hold bodies up? Stacks, drops, slides and a house of 300
/// bricks, as boxes and as meshes, with the solvers of ODE and of Bullet, whichever are found. Each
/// scene states the condition at its end; a scene that does not hold ends the program with 1.

#include "solver.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

namespace {

using bench::Brick;
using bench::BrickState;
using bench::Solver;

struct Scene {
	const char *name;
	double seconds;
	double friction;
	std::vector<Brick> bricks; // the first one is the ground
	double most_drift;         // metres that a brick may be away from where it should be at the end
	double most_sink;          // metres that a brick may be lower at the end
	double most_speed;         // m/s, of the last second, beside the speed that it should have
	// at which every brick should move on; from where it started, or from where it lands
	double velocity[3];
	bool falls; // only the end of the fall counts: drift is not judged
};

Brick brick_at(double x, double y, double z, double hx, double hy, double hz, double yaw = 0)
{
	return { { hx, hy, hz }, { { x, y, z }, { 0, std::sin(yaw / 2), 0, std::cos(yaw / 2) } }, { 0, 0, 0 }, false };
}

std::vector<Brick> ground()
{
	Brick b = brick_at(0, -0.5, 0, 10, 0.5, 10);
	b.fixed = true;
	return { b };
}

Scene stack(int height)
{
	Scene s = { height == 10 ? "stack of 10" : "stack of 5", 10, 0.6, ground(), 0.1, 0.01, INFINITY, {}, false };
	for (int i = 0; i < height; i++)
		s.bricks.push_back(brick_at(0.013 * (i % 3), 0.5 + i, 0.011 * (i % 2), 0.5, 0.5, 0.5, 0.1 * i));
	return s;
}

Scene drop()
{
	Scene s = { "16 dropped cubes", 10, 0.6, ground(), 0, INFINITY, 0.01, {}, true };
	for (int i = 0; i < 16; i++) {
		Brick b = brick_at(2.0 * (i % 4) - 3, 1.5 + 0.1 * i, 2.0 * (i / 4) - 3, 0.5, 0.5, 0.5);
		const double angle = 0.3 + 0.4 * i, s2 = std::sin(angle / 2) / std::sqrt(3);
		b.pose.orientation = { s2, s2, s2, std::cos(angle / 2) };
		s.bricks.push_back(b);
	}
	return s;
}

Scene slide()
{
	Scene s = { "slide without friction", 2, 0, ground(), 0.02, 0.01, 0.009, { 3, 0, 0 }, false };
	Brick b = brick_at(-4, 0.1, 0.3, 0.1, 0.1, 0.1, 0.2);
	b.velocity[0] = 3;
	s.bricks.push_back(b);
	return s;
}

/// Five storeys of three courses; a course is a ring of 20 bricks of 0.4 x 0.2 x 0.2. The long and
/// the short walls take the corners in turns, so that the bricks overlap by half their length.
Scene house()
{
	// Bricks creep sideways with any solver: by less than half of their length. The house stands
	// while none has sunk by a tenth of a course.
	Scene s = { "house of 300 bricks", 60, 0.6, ground(), 0.2, 0.02, INFINITY, {}, false };
	const double length = 0.4, width = 0.2, x_side = 6 * length, z_side = 5 * length;
	for (int course = 0; course < 15; course++) {
		const bool long_corners = course % 2 == 0;
		const double y = 0.1 + 0.2 * course;
		const int along_x = long_corners ? 6 : 5, along_z = long_corners ? 4 : 5;
		for (int side = -1; side <= 1; side += 2) {
			for (int i = 0; i < along_x; i++)
				s.bricks.push_back(
					brick_at((i - 0.5 * (along_x - 1)) * length, y, side * 0.5 * (z_side - width), 0.2, 0.1, 0.1));
			for (int i = 0; i < along_z; i++)
				s.bricks.push_back(
					brick_at(side * 0.5 * (x_side - width), y, (i - 0.5 * (along_z - 1)) * length, 0.1, 0.1, 0.2));
		}
	}
	return s;
}

[[noreturn]] void give_up(const carom_context *context)
{
	std::fprintf(stderr, "carom_solvers: %s\n", carom_error_text(context));
	std::exit(1);
}

/// A box whose faces are grids of cells by cells squares, of two triangles each.
carom_mesh *box_mesh(carom_context *context, const double half[3], int cells)
{
	std::vector<float> vertices;
	std::vector<int32_t> triangles;
	for (int face = 0; face < 6; face++) {
		const int axis = face / 2, u = (axis + 1) % 3, v = (axis + 2) % 3, first = int(vertices.size() / 3);
		const double sign = face % 2 ? 1 : -1;
		for (int i = 0; i <= cells; i++) {
			for (int j = 0; j <= cells; j++) {
				double p[3];
				p[axis] = sign * half[axis];
				p[u] = half[u] * (2.0 * i / cells - 1);
				p[v] = half[v] * (2.0 * j / cells - 1);
				vertices.insert(vertices.end(), { float(p[0]), float(p[1]), float(p[2]) });
			}
		}
		for (int i = 0; i < cells; i++) {
			for (int j = 0; j < cells; j++) {
				const int a = first + i * (cells + 1) + j, b = a + cells + 1;
				const int quad[2][3] = { { a, b, b + 1 }, { a, b + 1, a + 1 } };
				for (const auto &t : quad)
					triangles.insert(triangles.end(), { t[0], t[sign > 0 ? 1 : 2], t[sign > 0 ? 2 : 1] });
			}
		}
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices.data = vertices.data();
	def.vertices.type = CAROM_FLOAT32;
	def.vertex_count = int32_t(vertices.size() / 3);
	def.triangles = triangles.data();
	def.triangle_count = int32_t(triangles.size() / 3);
	carom_mesh *mesh;
	if (carom_create_mesh(context, &def, nullptr, &mesh) != CAROM_SUCCESS)
		give_up(context);
	return mesh;
}

/// The scene's bricks in a world. cells: of their meshes; 0: as boxes.
struct Bricks {
	carom_context *context;
	carom_world *world;
	std::vector<carom_body_id> ids;

	Bricks(const Scene &scene, int cells)
	{
		if (carom_create_context(nullptr, &context) != CAROM_SUCCESS)
			std::exit(1);
		carom_world_def def = carom_default_world_def();
		def.speculative_distance = 0.01;
		if (carom_create_world(context, &def, &world) != CAROM_SUCCESS)
			give_up(context);
		for (const Brick &brick : scene.bricks)
			ids.push_back(add(brick, cells));
	}
	~Bricks()
	{
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
	Bricks(const Bricks &) = delete;
	Bricks &operator=(const Bricks &) = delete;

	carom_body_id add(const Brick &brick, int cells) const
	{
		carom_body_def def = carom_default_body_def();
		def.kind = brick.fixed ? CAROM_STATIC : CAROM_DYNAMIC;
		def.pose = brick.pose;
		def.shape.type = cells > 0 ? CAROM_MESH : CAROM_BOX;
		def.shape.mesh = cells > 0 ? box_mesh(context, brick.half, cells) : nullptr;
		std::copy(brick.half, brick.half + 3, def.shape.half_extents);
		carom_body_id id;
		if (carom_world_add_body(world, &def, &id) != CAROM_SUCCESS)
			give_up(context);
		if (cells > 0)
			carom_release_mesh(const_cast<carom_mesh *>(def.shape.mesh));
		return id;
	}
};

struct Outcome {
	double drift = 0, sink = 0, speed = 0, deepest = 0, contacts = 0;
};

Outcome run(const Scene &scene, Solver &solver, int cells)
{
	const double dt = 1.0 / 120;
	const int steps = int(std::lround(scene.seconds / dt));
	Bricks bricks(scene, cells);
	for (const Brick &brick : scene.bricks)
		solver.add(brick);
	Outcome out;
	for (int step = 0; step < steps; step++) {
		for (size_t i = 1; i < scene.bricks.size(); i++) {
			const carom_pose pose = solver.state(int(i)).pose;
			if (carom_world_set_pose(bricks.world, bricks.ids[i], &pose) != CAROM_SUCCESS)
				give_up(bricks.context);
		}
		if (carom_world_step(bricks.world) != CAROM_SUCCESS)
			give_up(bricks.context);
		const carom_contact_view contacts = carom_world_contacts(bricks.world);
		out.contacts += double(contacts.count) / steps;
		solver.step(bricks.world, dt, scene.friction);
		if (step < steps - 120)
			continue;
		for (int32_t k = 0; k < contacts.count; k++)
			out.deepest = std::max(out.deepest, double(contacts.data[k].depth));
		const double wanted = std::hypot(scene.velocity[0], scene.velocity[1], scene.velocity[2]);
		for (size_t i = 1; i < scene.bricks.size(); i++)
			out.speed = std::max(out.speed, std::fabs(solver.state(int(i)).speed - wanted));
	}
	for (size_t i = 1; i < scene.bricks.size(); i++) {
		const carom_vec3 from = scene.bricks[i].pose.position, p = solver.state(int(i)).pose.position;
		const double *v = scene.velocity;
		const double drift = std::hypot(
			p.x - from.x - v[0] * scene.seconds, p.y - from.y - v[1] * scene.seconds, p.z - from.z - v[2] * scene.seconds);
		// Fallen bricks must lie on the ground.
		out.drift = std::max(out.drift, scene.falls ? (p.y < 0.4 || p.y > 0.9 ? drift : 0) : drift);
		out.sink = std::max(out.sink, from.y - p.y);
	}
	return out;
}

} // namespace

int main(int argc, char **argv)
{
	const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
	if (argc > 1 && !quick) {
		std::fprintf(stderr,
			"usage: carom_solvers [--quick]\nRuns scenes of bricks with the solvers found at build time on Carom's contacts.\n"
			"  --quick   half a minute: short runs, and boxes and meshes of 12 triangles only\n");
		return 2;
	}
	std::vector<std::function<std::unique_ptr<Solver>()>> solvers;
#ifdef BENCH_HAVE_ODE
	solvers.push_back(bench::make_ode_solver);
#endif
#ifdef BENCH_HAVE_BULLET
	solvers.push_back(bench::make_bullet_solver);
#endif
	if (solvers.empty()) {
		std::printf("neither ODE nor Bullet was found when this was built\n");
		return 77;
	}
	int fallen = 0;
	std::printf("%-24s %-8s %-16s %9s %9s %9s %9s %9s\n", "scene", "solver", "bricks", "drift m", "sunk m", "speed m/s",
		"deepest m", "contacts");
	for (Scene scene : { stack(5), stack(10), drop(), slide(), house() }) {
		if (quick)
			scene.seconds = std::min(scene.seconds, scene.bricks.size() > 100 ? 1.0 : 3.0);
		for (const auto &make : solvers) {
			for (const int cells : { 0, 1, 2, 4, 16 }) {
				if (cells > 1 && (quick || scene.bricks.size() > 100))
					continue;
				const auto solver = make();
				const Outcome o = run(scene, *solver, cells);
				const bool holds =
					o.drift <= scene.most_drift && o.sink <= scene.most_sink && (quick || o.speed <= scene.most_speed);
				fallen += !holds;
				const std::string kind = cells ? std::to_string(12 * cells * cells) + " triangles" : "boxes";
				std::printf("%-24s %-8s %-16s %9.4f %9.4f %9.4f %9.4f %9.1f%s\n", scene.name, solver->name(), kind.c_str(),
					o.drift, o.sink, o.speed, o.deepest, o.contacts, holds ? "" : "   DOES NOT HOLD");
				std::fflush(stdout);
			}
		}
	}
	return fallen > 0;
}
