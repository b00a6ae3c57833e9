// In a worker, behind bindings/wasm/carom.js: builds the world of the page once, and finds the contacts of poses that it is sent.

let carom = null, bodies = null, meshes = null, settings = null;

/** A world of the bodies that are there, as the command makes it; `numbers` tells which body each index is. */
function makeWorld(poses) {
	const { maxContactsPerBodyPair = 0, ...members } = settings, world = carom.createWorld(members), numbers = [];
	try {
		world.setBodyPairs(false, maxContactsPerBodyPair);
		bodies.forEach((body, number) => {
			const pose = poses.slice(7 * number, 7 * number + 7);
			if (Number.isNaN(pose[0]))
				return;
			const shapes = body.shapes.map((shape) => ({ ...shape, mesh: shape.mesh === null ? null : meshes[shape.mesh] }));
			const alone = { ...shapes[0], pose: undefined }; // its pose is the body's
			const [index] = world.addBody({ kind: body.kind, pose, ...(body.isCompound ? { parts: shapes } : { shape: alone }) });
			numbers[index] = number;
		});
	} catch (reason) {
		world.destroy();
		throw reason;
	}
	return { world, numbers };
}

/** Contacts of poses: bodies are told by their numbers in the page. */
function find(poses) {
	const { world, numbers } = makeWorld(poses);
	try {
		world.step();
		return { hash: world.contactHash, contacts: world.contacts.map((c) => ({ a: numbers[c.a], b: numbers[c.b], point: c.point, normal: c.normal, depth: c.depth })) };
	} finally {
		world.destroy();
	}
}

if (typeof self !== "undefined" && typeof WorkerGlobalScope !== "undefined")
	self.onmessage = async ({ data }) => {
		try {
			if (data.start) {
				carom = await loadCarom(data.start.module);
				meshes = data.start.meshes.map((mesh) => mesh && (mesh.isHull ? carom.createHull(mesh.vertices) : carom.createMesh(mesh.vertices, mesh.triangles)));
				bodies = data.start.bodies;
				settings = data.start.settings;
				self.postMessage({ id: data.id, result: carom.version });
			} else {
				self.postMessage({ id: data.id, result: find(data.poses) });
			}
		} catch (reason) {
			self.postMessage({ id: data.id, error: reason.message || String(reason) });
		}
	};
