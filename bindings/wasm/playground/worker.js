// In a worker, behind carom.js: two meshes, and their contacts at two poses; where they are apart, how far.

let carom = null, world = null;
const meshes = [null, null], ids = [null, null];

function setMesh(which, vertices, triangles) {
	const mesh = carom.createMesh(vertices, triangles), report = mesh.report, id = world.addBody({ shape: { type: "mesh", mesh } });
	if (meshes[which]) {
		world.removeBody(ids[which]);
		meshes[which].destroy();
	}
	meshes[which] = mesh;
	ids[which] = id;
	return report;
}

function find(poses) {
	const begin = performance.now();
	world.setPoses(ids, poses.flat());
	world.step();
	const contacts = world.contacts, ms = performance.now() - begin;
	const gap = contacts.length ? null : carom.meshDistance(meshes[0], meshes[1], { poseA: poses[0], poseB: poses[1] });
	return { contacts, ms, gap };
}

self.onmessage = async ({ data }) => {
	try {
		if (data.module) {
			carom = await loadCarom(data.module);
			world = carom.createWorld({ maxContactsPerPair: 0 });
		}
		self.postMessage({ id: data.id, result: data.poses ? find(data.poses) : data.vertices ? setMesh(data.which, data.vertices, data.triangles) : carom.version });
	} catch (reason) {
		self.postMessage({ id: data.id, error: reason.message || String(reason) });
	}
};
