// Contacts found in the page: the library as WebAssembly in a worker, with the bodies, meshes and settings of the recording.

/** What the worker needs of the rows of bodies: shapes by the numbers of their meshes. */
function detectorBodies(scene) {
	return scene.bodies.map((body) => ({ kind: body.kind, isCompound: body.rows[0].part > 0, shapes: body.rows.map((row) => ({ type: row.type, mesh: row.type === "mesh" || row.type === "hull" ? row.mesh : null,
		radius: row.given.radius, halfLength: row.given.halfLength, halfExtents: row.given.half, rounding: row.given.rounding, pose: [...row.place, ...row.turn] })) }));
}

/** Poses as the command computed them from the page's whole numbers: every operation rounds alike in both. */
function exactPoses(values, info) {
	const q = info.quantum, tq = info.turn_quantum, poses = new Float64Array(values.length);
	for (let at = 0; at < values.length; at += 7) {
		if (values[at] === ABSENT) {
			poses.fill(NaN, at, at + 7);
			continue;
		}
		const x = values[at + 3] * tq, y = values[at + 4] * tq, z = values[at + 5] * tq, w = values[at + 6] * tq, length = Math.sqrt(x * x + y * y + z * z + w * w);
		poses.set([values[at] * q, values[at + 1] * q, values[at + 2] * q, x / length, y / length, z / length, w / length], at);
	}
	return poses;
}

class Detector {
	constructor(page, head, scene) {
		this.page = page;
		this.head = head;
		this.scene = scene;
		this.calls = new Map();
		this.number = 0;
	}

	/** Start the worker once; everyone waits for it. */
	start() {
		this.started = this.started || this.startNow();
		return this.started;
	}

	async startNow() {
		const module = await readBlock(this.page, "carom-wasm"); // the script of the worker stands before it
		// Pages from disk may have no workers that are modules: what makes a module of carom.js is taken out.
		const text = document.getElementById("carom-worker").textContent.replace(/^export /gm, "").replace(/import\.meta\.url/g, "location.href");
		this.worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
		this.worker.onerror = (event) => this.end(event.message || "the worker cannot start");
		this.worker.onmessage = ({ data }) => {
			const call = this.calls.get(data.id);
			this.calls.delete(data.id);
			if (data.error)
				call.reject(new PageError(`Contacts cannot be found here: ${data.error}.`));
			else
				call.resolve(data.result);
		};
		const meshes = [];
		for (const row of this.scene.rows) {
			if ((row.type !== "mesh" && row.type !== "hull") || meshes[row.mesh])
				continue;
			const isHull = row.type === "hull", bytes = await readBlock(this.page, `mesh-${isHull ? row.mesh - this.head.meshes.length : row.mesh}`), [v, t] = new Uint32Array(bytes.buffer, 0, 2);
			meshes[row.mesh] = { isHull, vertices: new Float32Array(bytes.buffer, 8, 3 * v), triangles: new Int32Array(bytes.buffer, 8 + 12 * v, 3 * t) };
		}
		await this.call({ start: { module, meshes: Array.from(meshes, (mesh) => mesh || null), bodies: detectorBodies(this.scene), settings: this.head.detection } });
	}

	end(reason) {
		for (const { reject } of this.calls.values())
			reject(new PageError(`Contacts cannot be found here: ${reason}.`));
		this.calls.clear();
	}

	call(message) {
		const id = ++this.number;
		return new Promise((resolve, reject) => {
			this.calls.set(id, { resolve, reject });
			this.worker.postMessage({ id, ...message });
		});
	}

	/** Contacts of the numbers of a frame: { hash, contacts } with places as in the world. */
	async find(values) {
		await this.start();
		return this.call({ poses: exactPoses(values, this.head.tracks.poses) });
	}

	/** Hashes that the command found: Map from frame to 16 digits. */
	async checks() {
		const words = await readNumbers(this.page, "checks", Uint32Array), checks = new Map();
		for (let i = 0; i < words.length; i += 3)
			checks.set(words[i], words[i + 2].toString(16).padStart(8, "0") + words[i + 1].toString(16).padStart(8, "0"));
		return checks;
	}
}
