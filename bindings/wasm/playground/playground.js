// The playground: two bodies that a hand moves, and their contacts at once. Drawing is the viewer's (web/viewer).

const byId = (id) => document.getElementById(id);

/** A surface over a grid of parameters that closes in both directions. */
function closedGrid(n, m, place) {
	const vertices = [], triangles = [];
	for (let i = 0; i < n; i++) {
		for (let k = 0; k < m; k++) {
			vertices.push(...place(2 * Math.PI * i / n, 2 * Math.PI * k / m));
			const a = i * m + k, b = (i + 1) % n * m + k, c = (i + 1) % n * m + (k + 1) % m, d = i * m + (k + 1) % m;
			triangles.push(a, b, c, a, c, d);
		}
	}
	return { vertices: new Float32Array(vertices), triangles: new Int32Array(triangles) };
}

/** A tube about a closed curve. */
function tube(curve, radius, n, m) {
	return closedGrid(n, m, (u, v) => {
		const p = curve(u), along = unit(subtract(curve(u + 1e-3), p)), side = unit(cross(along, [0.2, 0.3, 1])), other = cross(along, side);
		return add(p, add(scale(side, radius * Math.cos(v)), scale(other, -radius * Math.sin(v))));
	});
}

/** A prism over an outline in x and y, counter-clockwise; faces lists triangles of the outline. */
function prism(outline, faces, half) {
	const n = outline.length, vertices = [...outline.map(([x, y]) => [x, y, -half]), ...outline.map(([x, y]) => [x, y, half])].flat(), triangles = [];
	for (const [a, b, c] of faces)
		triangles.push(a, c, b, a + n, b + n, c + n);
	for (let i = 0; i < n; i++) {
		const j = (i + 1) % n;
		triangles.push(i, j, j + n, i, j + n, i + n);
	}
	return { vertices: new Float32Array(vertices), triangles: new Int32Array(triangles) };
}

const SHAPES_TO_PICK = {
	Ring: () => tube((u) => [0.8 * Math.cos(u), 0.8 * Math.sin(u), 0], 0.25, 48, 24),
	Knot: () => tube((u) => scale([Math.sin(u) + 2 * Math.sin(2 * u), Math.cos(u) - 2 * Math.cos(2 * u), -Math.sin(3 * u)], 0.33), 0.2, 120, 16),
	Angle: () => prism([[-0.8, -0.8], [0.8, -0.8], [0.8, -0.4], [-0.4, -0.4], [-0.4, 0.8], [-0.8, 0.8]], [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]], 0.35),
	Crate: () => prism([[-0.6, -0.6], [0.6, -0.6], [0.6, 0.6], [-0.6, 0.6]], [[0, 1, 2], [0, 2, 3]], 0.6),
};

/** Triangles of an OBJ file: corners of polygons become fans. */
function readObj(text) {
	const vertices = [], triangles = [];
	for (const line of text.split("\n")) {
		const words = line.trim().split(/\s+/);
		if (words[0] === "v")
			vertices.push(...words.slice(1, 4).map(Number));
		if (words[0] !== "f")
			continue;
		const corners = words.slice(1).map((word) => { const i = parseInt(word, 10); return i < 0 ? vertices.length / 3 + i : i - 1; });
		for (let i = 2; i < corners.length; i++)
			triangles.push(corners[0], corners[i - 1], corners[i]);
	}
	return { vertices, triangles };
}

/** Triangles of an STL file, text or binary; equal corners are joined. */
function readStl(bytes) {
	const view = new DataView(bytes), count = bytes.byteLength >= 84 ? view.getUint32(80, true) : -1, numbers = [];
	if (bytes.byteLength === 84 + 50 * count) {
		for (let i = 0; i < 9 * count; i++)
			numbers.push(view.getFloat32(84 + 50 * Math.floor(i / 9) + 12 + 4 * (i % 9), true));
	} else {
		for (const [, x, y, z] of new TextDecoder().decode(bytes).matchAll(/vertex\s+(\S+)\s+(\S+)\s+(\S+)/g))
			numbers.push(+x, +y, +z);
	}
	const seen = new Map(), vertices = [], triangles = [];
	for (let i = 0; i < numbers.length; i += 3) {
		const key = numbers.slice(i, i + 3).join();
		if (!seen.has(key)) {
			seen.set(key, vertices.length / 3);
			vertices.push(...numbers.slice(i, i + 3));
		}
		triangles.push(seen.get(key));
	}
	return { vertices, triangles };
}

/** A mesh of a file, moved to the origin and to a size like the others'. */
function fit({ vertices, triangles }, name) {
	const lower = [Infinity, Infinity, Infinity], upper = [-Infinity, -Infinity, -Infinity];
	vertices.forEach((c, i) => { lower[i % 3] = Math.min(lower[i % 3], c); upper[i % 3] = Math.max(upper[i % 3], c); });
	const size = Math.max(...subtract(upper, lower));
	if (!triangles.length || !(size > 0) || !Number.isFinite(size))
		throw new PageError(`${name}: holds no triangles that can be read.`);
	return { vertices: Float32Array.from(vertices, (c, i) => (c - (lower[i % 3] + upper[i % 3]) / 2) * 2 / size), triangles: Int32Array.from(triangles) };
}

class Playground {
	constructor() {
		this.bodies = [0, 1].map((number) => ({ number, place: [0, 0, 0], turn: [0, 0, 0, 1], mesh: null, batch: null }));
		this.meshes = { ...SHAPES_TO_PICK };
		this.calls = new Map();
		this.number = 0;
		this.picked = 0;
	}

	say(text) {
		byId("message").textContent = text;
		byId("message").hidden = !text;
	}

	fail = (reason) => {
		this.say(reason.message);
		if (!(reason instanceof PageError))
			console.error(reason);
	};

	call(message) {
		const id = ++this.number;
		return new Promise((resolve, reject) => {
			this.calls.set(id, { resolve, reject });
			this.worker.postMessage({ id, ...message });
		});
	}

	startWorker() {
		const text = byId("carom-worker").textContent.replace(/^export /gm, "").replace(/import\.meta\.url/g, "location.href");
		this.worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
		this.worker.onerror = (event) => this.fail(new PageError(`The worker cannot start: ${event.message}`));
		this.worker.onmessage = ({ data }) => {
			const call = this.calls.get(data.id);
			this.calls.delete(data.id);
			if (data.error)
				call.reject(new PageError(data.error));
			else
				call.resolve(data.result);
		};
		return this.call({ module: fromBase64(byId("carom-module").textContent.trim()) });
	}

	async start() {
		this.renderer = new Renderer(byId("view"));
		this.camera = new Camera([0, 0, 1]);
		this.camera.reach = 3;
		this.camera.frame([-2.2, -1.2, -1], [2.2, 1.2, 1], this.renderer.resize());
		this.camera.sunHeading = this.camera.heading - 0.95;
		this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
		await this.startWorker();
		[0, 1].forEach((which) => {
			const select = byId(`mesh-${which}`);
			select.addEventListener("change", () => this.setMesh(which, select.value).catch(this.fail));
		});
		this.fillSelects();
		await this.setMesh(0, "Knot");
		await this.setMesh(1, "Ring");
		this.reset();
		this.listen();
		await this.find();
		document.documentElement.dataset.state = "ready";
	}

	fillSelects() {
		[0, 1].forEach((which) => byId(`mesh-${which}`).replaceChildren(...Object.keys(this.meshes).map((name) => new Option(name))));
		this.bodies.forEach((body) => { byId(`mesh-${body.number}`).value = body.name || Object.keys(this.meshes)[0]; });
	}

	setTheme(theme) {
		this.theme = this.renderer.theme = theme;
		document.documentElement.classList.toggle("dark", theme === "dark");
		this.draw();
	}

	async setMesh(which, name) {
		const mesh = this.meshes[name](), body = this.bodies[which];
		const report = await this.call({ which, vertices: mesh.vertices, triangles: mesh.triangles });
		this.renderer.batches = this.renderer.batches.filter((batch) => batch !== body.batch);
		body.batch = this.renderer.addInstances(creasedGeometry(mesh.vertices, mesh.triangles), 1);
		body.name = byId(`mesh-${which}`).value = name;
		this.say(report.closed ? "" : `${name} is open: it has ${report.borderEdges} border edges.`);
		this.changed();
	}

	reset() {
		this.bodies[0].place = [-1.3, 0, 0];
		this.bodies[1].place = [1.3, 0, 0];
		this.bodies[0].turn = [0, 0, 0, 1];
		this.bodies[1].turn = turnBoth([0, 0, 0, 1], [Math.SQRT1_2, 0, 0, Math.SQRT1_2]);
		this.changed();
	}

	/** Find contacts of the present poses; while one search is under way, the next waits, and takes the poses of then. */
	async find() {
		if (this.finding) {
			this.wanted = true;
			return;
		}
		this.finding = true;
		do {
			this.wanted = false;
			this.show(await this.call({ poses: this.bodies.map((body) => [...body.place, ...body.turn]) }));
		} while (this.wanted);
		this.finding = false;
	}

	show({ contacts, ms, gap }) {
		const deepest = contacts.reduce((most, c) => Math.max(most, c.depth), 0), dots = [], lines = [];
		for (const c of contacts) {
			const color = depthColorOf(c.depth / (deepest || 1));
			dots.push(...c.point, ...color, 1);
			lines.push(...c.point, 0.1, 0.45, 0.85, 1, ...add(c.point, scale(c.normal, 0.12)), 0.1, 0.45, 0.85, 1);
		}
		if (gap)
			lines.push(...gap.onA, 0.95, 0.45, 0.1, 1, ...gap.onB, 0.95, 0.45, 0.1, 1);
		this.renderer.setOverlay("dots", "dots", new Float32Array(dots));
		this.renderer.setOverlay("lines", "lines", new Float32Array(lines));
		byId("verdict").textContent = contacts.length ? `${contacts.length} contacts` : "Apart";
		const facts = contacts.length ? [["deepest", deepest.toPrecision(4)]] : gap ? [["distance", gap.distance.toPrecision(4)]] : [];
		byId("facts").replaceChildren(...[...facts, ["found in", `${ms.toFixed(1)} ms`]].flatMap(([name, value]) => {
			const term = document.createElement("dt"), definition = document.createElement("dd");
			term.textContent = name;
			definition.textContent = value;
			return [term, definition];
		}));
		document.documentElement.dataset.contacts = contacts.length;
		this.draw();
	}

	changed() {
		for (const body of this.bodies) {
			if (!body.batch)
				return;
			const color = body.number ? [0.16, 0.38, 0.70] : [0.85, 0.25, 0.13];
			body.batch.data.set([...body.place, ...body.turn, 1, 1, 1, ...color, 0, body.number]);
			body.batch.update();
		}
		this.draw();
		this.find().catch(this.fail);
	}

	draw() {
		if (this.drawing)
			return;
		this.drawing = true;
		requestAnimationFrame(() => {
			this.drawing = false;
			this.renderer.draw(this.camera, { centre: [0, 0, 0], radius: 2.6, grounds: [{ normal: [0, 0, 1], centre: [0, 0, -1.4], shift: [0, 0, 0] }] });
		});
	}

	move(body, by) {
		body.place = add(body.place, by);
		this.changed();
	}

	rotate(body, axis, angle) {
		const s = Math.sin(angle / 2), turned = turnBoth([axis[0] * s, axis[1] * s, axis[2] * s, Math.cos(angle / 2)], body.turn), length = Math.hypot(...turned);
		body.turn = turned.map((c) => c / length);
		this.changed();
	}

	async open(file) {
		const name = file.name, mesh = /\.stl$/i.test(name) ? readStl(await file.arrayBuffer()) : /\.obj$/i.test(name) ? readObj(await file.text()) : null;
		if (!mesh)
			throw new PageError(`${name}: this page reads OBJ and STL files.`);
		const fitted = fit(mesh, name), before = this.meshes[name];
		this.meshes[name] = () => fitted;
		this.fillSelects();
		try {
			await this.setMesh(this.picked, name);
		} catch (reason) {
			if (before)
				this.meshes[name] = before;
			else
				delete this.meshes[name];
			this.fillSelects();
			throw new PageError(`${name}: ${reason.message}`);
		}
	}

	listen() {
		const canvas = byId("view");
		let held = null, last = [0, 0];
		canvas.addEventListener("pointerdown", (event) => {
			canvas.setPointerCapture(event.pointerId);
			const found = this.renderer.pick(this.camera, event.offsetX, event.offsetY);
			held = found ? this.bodies[found.number] : this.camera;
			if (found)
				this.picked = found.number;
			last = [event.clientX, event.clientY];
		});
		canvas.addEventListener("pointermove", (event) => {
			if (!held)
				return;
			const dx = event.clientX - last[0], dy = event.clientY - last[1];
			last = [event.clientX, event.clientY];
			if (held === this.camera) {
				this.camera.rotate(dx * 0.006, dy * 0.006);
				this.draw();
				return;
			}
			const { right, up, back } = this.camera.axes();
			if (event.shiftKey || event.buttons & 2) {
				const axis = unit(add(scale(up, dx), scale(right, dy)));
				this.rotate(held, norm(axis) ? axis : back, Math.hypot(dx, dy) * 0.01);
				return;
			}
			const size = 2 * dot(subtract(add(this.camera.target, scale(back, this.camera.distance)), held.place), back) * Math.tan(this.camera.fieldOfView / 2) / canvas.clientHeight;
			this.move(held, add(scale(right, dx * size), scale(up, -dy * size)));
		});
		for (const name of ["pointerup", "pointercancel"])
			canvas.addEventListener(name, () => { held = null; });
		canvas.addEventListener("contextmenu", (event) => event.preventDefault());
		canvas.addEventListener("wheel", (event) => { this.camera.zoom(Math.exp(event.deltaY * 0.0012)); this.draw(); event.preventDefault(); }, { passive: false });
		addEventListener("resize", () => this.draw());
		addEventListener("dragover", (event) => event.preventDefault());
		addEventListener("drop", (event) => {
			event.preventDefault();
			if (event.dataTransfer.files[0])
				this.open(event.dataTransfer.files[0]).catch(this.fail);
		});
		byId("file").addEventListener("change", (event) => event.target.files[0] && this.open(event.target.files[0]).catch(this.fail));
		byId("open").addEventListener("click", () => byId("file").click());
		byId("reset").addEventListener("click", () => this.reset());
		byId("theme").addEventListener("click", () => this.setTheme(this.theme === "dark" ? "light" : "dark"));
		addEventListener("keydown", (event) => this.onKey(event));
	}

	/** Keys move the body that was touched last: arrows in the picture, with shift they turn it. */
	onKey(event) {
		if (/^(SELECT|INPUT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey)
			return;
		if (event.key === "d" || event.key === "D")
			return this.setTheme(this.theme === "dark" ? "light" : "dark");
		const { right, up } = this.camera.axes(), ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }, way = ways[event.key], body = this.bodies[this.picked];
		if (!way)
			return;
		event.preventDefault();
		if (event.shiftKey)
			this.rotate(body, way[0] ? up : right, 0.1 * (way[0] || -way[1]));
		else
			this.move(body, add(scale(right, 0.05 * way[0]), scale(up, 0.05 * way[1])));
	}
}

/** Depth from blue over magenta to yellow. */
function depthColorOf(part) {
	const colors = [[0.17, 0.04, 0.57], [0.56, 0.05, 0.64], [0.80, 0.28, 0.47], [0.97, 0.58, 0.25], [0.94, 0.98, 0.13]];
	const at = Math.max(0, Math.min(0.9999, part)) * 4, i = Math.floor(at);
	return colors[i].map((c, k) => c + (at - i) * (colors[i + 1][k] - c));
}

const playground = window.caromPlayground = new Playground();
playground.start().catch((reason) => { document.documentElement.dataset.state = "error"; playground.fail(reason); });
