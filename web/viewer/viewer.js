// The viewer: reads the page, plays it, answers keys, mouse and fingers.

/** A box three times as large about the same middle. */
const around = (box) => [subtract(box.lower, subtract(box.upper, box.lower)), add(box.upper, subtract(box.upper, box.lower))];

const byId = (id) => document.getElementById(id);

class Viewer {
	constructor(page) {
		this.page = page;
		this.time = 0;
		this.playing = false;
		this.following = false; // a run that goes on
		this.speed = 1;
		this.errors = [];
		this.dirty = true;
		this.state = { bodies: true, ground: true, shadows: true, contacts: false, normals: false, depths: false, pairs: false, boxes: false, impacts: false, softContacts: false, sphereContacts: false };
	}

	/** Something that the reader must know. A mild one leaves the picture as it is. */
	say(text, mild) {
		const box = byId("message");
		box.textContent = text;
		box.hidden = !text;
		box.className = mild ? "mild" : "";
	}

	fail = (reason) => {
		this.errors.push(reason.message || String(reason));
		if (!(reason instanceof PageError))
			console.error(reason);
		const drawn = document.documentElement.dataset.state === "ready";
		this.playing = false;
		this.showPlay();
		this.say(reason instanceof PageError ? reason.message : `The viewer failed: ${reason.message}`, drawn);
		if (!drawn)
			document.documentElement.dataset.state = "error";
	};

	readHead() {
		const element = byId("carom-head");
		let head;
		try {
			head = JSON.parse(element.textContent);
		} catch (reason) {
			throw new PageError("This page is damaged: its head cannot be read. Export it again.");
		}
		if (head.format !== "carom-page")
			throw new PageError("This page holds no recording of carom.");
		if (head.version !== 1)
			throw new PageError(`This page's data are of version ${head.version}, made by ${head.made_by}; this viewer reads version 1.`);
		return head;
	}

	async start() {
		this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
		document.documentElement.dataset.state = "loading";
		this.head = this.readHead();
		if (typeof DecompressionStream === "undefined")
			throw new PageError("This browser cannot unpack data (it has no DecompressionStream). Browsers from 2023 on can.");
		this.renderer = new Renderer(byId("view"));
		if (this.head.second)
			this.showSecond();
		if (this.head.live) {
			this.live = new LiveRun(this.head, (thinned) => this.takeFrames(thinned), (how, lost) => this.endRun(how, lost));
			await this.live.begin();
		}
		this.scene = new Scene(this.page, this.head, this.live);
		this.scenes = [this.scene];
		if (this.head.second)
			this.scenes.push(new Scene(new SecondPage(this.page), this.head.second));
		for (const scene of this.scenes) {
			scene.fail = this.fail;
			await scene.load(scene === this.scene ? this.renderer : this.second);
			if (scene.head.detection)
				scene.detector = new Detector(scene.page, scene.head, scene);
		}
		this.master = this.chooseMaster();
		this.camera = new Camera(this.scene.up);
		this.placeCamera();
		this.setTheme(this.theme);
		this.fillTitle();
		this.listen();
		this.setTime(this.master.times[0]);
		this.follow(!!this.live);
		this.drawNow();
		document.documentElement.dataset.state = "ready";
		document.documentElement.dataset.firstPicture = Math.round(performance.now());
		const again = () => { this.tick(); requestAnimationFrame(again); };
		requestAnimationFrame(again);
		this.readTable().catch(this.fail);
		this.watchEnd().catch(this.fail);
	}

	// ---- The page ----

	/** Room for a second recording: each has half of the page. */
	showSecond() {
		document.documentElement.classList.add("pair");
		byId("view-second").hidden = byId("title-second").hidden = false;
		this.second = new Renderer(byId("view-second"));
	}

	get renderers() { return this.second ? [this.renderer, this.second] : [this.renderer]; }

	/** The track on whose frames the slider moves: that of the recording that ends last. */
	chooseMaster() {
		const end = (track) => track.times[track.frames - 1];
		return this.scenes.map((scene) => scene.master).reduce((best, track) => end(track) > end(best) ? track : best);
	}

	/** Complain when the end of the page does not come. */
	async watchEnd() {
		await new Promise((resolve, reject) => {
			const look = () => {
				if (this.page.ended)
					resolve();
				else if (this.page.read)
					reject(new PageError("This page was cut off: its end is missing. What is there can be looked at."));
				else
					this.page.wake.push(look);
			};
			look();
		});
		document.documentElement.dataset.whole = "yes";
	}

	async readTable() {
		const section = byId("charts");
		if (this.live) {
			this.charts = new Charts(section, (time) => this.setTime(time, true));
			return this.refreshTable();
		}
		const tables = await Promise.all(this.scenes.map((scene) => this.tableOf(scene)));
		if (tables.some((table) => table)) {
			this.table = tables[0];
			makeElement("h2", "stats.csv", section);
			this.charts = new Charts(section, (time) => this.setTime(time));
			this.charts.setTables(tables.map((table, i) => ({ table, color: i ? "--second" : "--accent" })).filter(({ table }) => table));
		} else {
			makeElement("p", "There is no stats.csv beside the recording.", section);
		}
		if (this.second)
			this.tellDifferences(tables);
		this.findEvents();
	}

	/** The table beside a recording; null when there is none. */
	async tableOf(scene) {
		const { page } = scene;
		await new Promise((resolve) => {
			const look = () => page.blocks.has("stats") || page.ended || page.read ? resolve() : page.wake.push(look);
			look();
		});
		return page.blocks.has("stats") ? readTable(new TextDecoder().decode(await readBlock(page, "stats"))) : null;
	}

	/** Where the tables of two recordings differ. */
	tellDifferences(tables) {
		const section = byId("differences");
		section.hidden = false;
		makeElement("h2", "Differences", section);
		if (tables.some((table) => !table))
			return makeElement("p", "They are not known, for a stats.csv is missing.", section);
		const found = findDifferences(...tables, tables.map((table) => findEvents(table)));
		const rows = tables.map((table) => table.rows);
		if (rows[0] !== rows[1])
			makeElement("p", `The first has ${tell(rows[0])} rows, the second ${tell(rows[1])}.`, section);
		if (!found.length)
			makeElement("p", "None: all columns are equal in all steps, but for times and memory of the machine.", section);
		for (const { time, text } of found)
			makeElement("button", `${tell(time)} s  ${text}`, section).addEventListener("click", () => this.setTime(time));
		document.documentElement.dataset.differences = found.length;
	}

	findEvents() {
		this.events = findEvents(this.table).filter((event) => event.time <= this.master.times[this.master.frames - 1] + 1e-9);
		this.drawEvents();
		this.dirty = true;
	}

	// ---- A run that goes on ----

	/** Show the newest frame from now on, or stay at the present one. */
	follow(on) {
		if (!this.live)
			return;
		this.following = on;
		if (on) {
			this.playing = false;
			this.time = this.master.times[this.master.frames - 1];
		}
		byId("live").classList.toggle("on", on);
		this.showPlay();
	}

	takeFrames(thinned) {
		if (!this.scene || !this.master)
			return;
		if (thinned) {
			this.scene.shown = {};
			this.drawnFrame = undefined;
			this.scene.foundOf = -1;
		}
		byId("scrub").max = this.master.frames - 1;
		byId("about").textContent = this.about();
		if (this.following)
			this.follow(true);
		document.documentElement.dataset.frames = this.master.frames;
		this.dirty = true;
		if (this.charts && !(performance.now() < this.tableDue))
			this.refreshTable();
	}

	refreshTable() {
		this.tableDue = performance.now() + 1000;
		this.table = readTable(this.live.table);
		this.charts.setTables([{ table: this.table, color: "--accent" }]);
		this.findEvents();
	}

	endRun(how, lost) {
		this.say(how, true);
		byId("live").hidden = true;
		document.documentElement.dataset.live = lost ? "lost" : "ended";
		if (this.master) {
			this.follow(false);
			this.refreshTable();
		}
	}

	/** One line about what is in the page. */
	about(scene = this.scene) {
		const parts = scene.head.label ? [scene.head.label] : [];
		const moving = scene.bodies.filter((body) => body.kind !== "static").length;
		if (scene.tracks.poses)
			parts.push(`${tell(moving)} moving ${moving === 1 ? "body" : "bodies"}`);
		if (scene.tracks.vertices)
			parts.push(`${tell(scene.triangles.length / 3)} deforming triangles`);
		if (scene.tracks.spheres)
			parts.push(`${tell(scene.radii.length)} spheres`);
		parts.push(`${tell(scene.master.frames)} frames`);
		if (this.live)
			parts.push(`step ${tell(this.live.frames[this.live.frames.length - 1].step)} of ${tell(this.head.steps)}`);
		return parts.join(" · ");
	}

	fillTitle() {
		const head = this.head, scene = this.scene, notes = this.scenes.flatMap((each) => each.head.notes || []);
		const every = this.master.info.every;
		if (every > 1)
			notes.push(`Each ${every}${every === 2 ? "nd" : every === 3 ? "rd" : "th"} frame of ${tell(this.master.info.recorded_frames)} is in this page.`);
		if (head.spheres_every > 1)
			notes.push(`${tell(head.recorded_spheres - scene.radii.length)} of ${tell(head.recorded_spheres)} spheres are left out of this page.`);
		document.querySelector("h1").textContent = head.title;
		if (this.second) {
			byId("title-second").querySelector("h1").textContent = head.second.title;
			byId("title-second").querySelector("p").textContent = this.about(this.scenes[1]);
		}
		byId("about").textContent = this.about();
		byId("live").hidden = !this.live;
		byId("notes").textContent = notes.join(" ");
		const has = { contacts: this.scenes.some((each) => each.hasContacts), bodies: this.scenes.some((each) => each.tracks.poses),
			normals: this.scenes.some((each) => each.hasContacts || each.hasAnyPoints), softs: this.scenes.some((each) => each.hasPoints("vertices")),
			spheres: this.scenes.some((each) => each.hasPoints("vertices") || each.hasPoints("spheres")) };
		const unknown = "None were recorded (--contacts).", reasons = { normals: "No contacts are in this page.", softs: unknown, spheres: unknown, contacts: "No contacts: none were recorded (--contacts), and the library is not in this page.", bodies: "Nothing rigid is in this page." };
		fillLayers(byId("layers"), this.state, has, reasons, (name, on) => this.setLayer(name, on));
		if (this.scenes.some((each) => each.detector)) {
			const button = makeElement("button", "Check this frame", byId("layers"));
			button.id = "check";
			button.title = "Find its contacts here, by WebAssembly, and compare them with those that the command found (C)";
			button.style.cssText = "width:100%;margin-top:8px";
			button.addEventListener("click", () => this.check().catch(this.fail));
		}
		fillKeys(byId("help"));
		byId("scrub").max = this.master.frames - 1;
	}

	placeCamera() {
		const given = this.head.camera, camera = this.camera, scene = this.scene;
		camera.reach = scene.radius;
		if (given)
			camera.stand(subtract(given.position, scene.origin), subtract(given.target, scene.origin), given.field_of_view);
		else
			camera.frame(scene.lower, scene.upper, this.renderer.resize());
		camera.sunHeading = camera.heading - 0.95;
	}

	setTheme(theme) {
		this.theme = theme;
		document.documentElement.classList.toggle("dark", theme === "dark");
		if (this.renderer)
			this.renderers.forEach((renderer) => { renderer.theme = theme; });
		this.dirty = true;
		this.drawEvents();
	}

	setLayer(name, on) {
		const box = byId(`layer-${name}`);
		if (box.disabled)
			return;
		box.checked = this.state[name] = on;
		this.scenes.forEach((scene) => { scene.layers[name] = on; });
		for (const renderer of this.renderers) {
			renderer.shadows = this.state.shadows;
			for (const batch of renderer.batches)
				batch.visible = this.state.bodies;
		}
		this.dirty = true;
		this.refreshOverlays();
	}

	// ---- Time ----

	/** by hand: a run that goes on is not followed any longer. */
	setTime(time, byHand) {
		if (byHand)
			this.follow(false);
		const times = this.master.times;
		this.time = Math.max(times[0], Math.min(times[times.length - 1], time));
		this.dirty = true;
	}

	get frame() { return this.master.at(this.time); }

	setFrame(frame) {
		if (this.live && !this.live.ended && frame >= this.master.frames - 1)
			return this.follow(true);
		this.setTime(this.master.times[Math.max(0, Math.min(this.master.frames - 1, frame))], true);
	}

	play(on) {
		const times = this.master.times, atEnd = this.time >= times[times.length - 1];
		if (on && atEnd && this.live && !this.live.ended)
			return this.follow(true);
		this.follow(false);
		if (on && atEnd)
			this.time = times[0];
		this.playing = on && times.length > 1;
		this.last = performance.now();
		this.showPlay();
	}

	showPlay() {
		byId("play").classList.toggle("on", this.playing || this.following);
		this.dirty = true;
	}

	jump(direction) {
		const now = this.time, frame = this.frame;
		const wanted = (this.events || []).filter((event) => direction > 0 ? this.master.at(event.time) > frame : this.master.at(event.time) < frame);
		const event = direction > 0 ? wanted[0] : wanted[wanted.length - 1];
		if (!event)
			return this.say(`No event ${direction > 0 ? "behind" : "before"} ${now.toFixed(3)} s.`, true);
		this.play(false);
		this.setTime(event.time, true);
		const texts = this.events.filter((other) => this.master.at(other.time) === this.master.at(event.time)).map((other) => other.text);
		this.say([...new Set(texts)].join("\n"), true);
		clearTimeout(this.silence);
		this.silence = setTimeout(() => this.say(""), 4000);
	}

	tick() {
		const now = performance.now();
		if (this.playing) {
			const times = this.master.times, end = times[times.length - 1];
			const before = this.time;
			this.time = Math.min(end, this.time + this.speed * (now - this.last) / 1000);
			if (!this.showAll())
				this.time = before; // wait for data rather than leave frames out
			if (this.time >= end)
				this.play(!!this.live && !this.live.ended);
			this.dirty = true;
		}
		this.last = now;
		if (this.dirty)
			this.drawNow();
	}

	/** Show the frames of the present time. Returns false while some are not unpacked yet. */
	showAll() { return this.scenes.map((scene) => scene.show(this.time)).every((there) => there); }

	drawNow() {
		const there = this.showAll();
		this.dirty = !there;
		this.scenes.forEach((scene) => this.refreshPointsOf(scene));
		const frame = this.frame;
		if (frame !== this.drawnFrame) {
			this.drawnFrame = frame;
			this.refreshOverlays();
		}
		this.scenes.forEach((scene, i) => this.renderers[i].draw(this.camera, { centre: scene.centre, radius: scene.radius, grounds: this.state.ground ? scene.grounds : [] }));
		byId("scrub").value = frame;
		byId("time").textContent = `${this.time.toFixed(3)} s · ${this.live ? this.live.frames[frame].step : frame * this.master.info.every}`;
		byId("scrub").setAttribute("aria-valuetext", byId("time").textContent.replace(" · ", ", step "));
		if (this.charts)
			this.charts.draw(this.time);
		if (this.picked)
			this.tellPicked();
		document.documentElement.dataset.frame = frame;
	}

	/** Find the contacts of this frame here, and compare their hash with the one that the command found. */
	async check() {
		this.say("Finding contacts …", true);
		const texts = [];
		let equal = true;
		for (const scene of this.scenes.filter((each) => each.detector)) {
			const { text, same } = await this.checkScene(scene);
			texts.push(text);
			equal = equal && same;
		}
		document.documentElement.dataset.check = equal ? "equal" : "different";
		this.say(texts.join("\n"), true);
	}

	async checkScene({ detector, tracks }) {
		await detector.start();
		const checks = await detector.checks(), track = tracks.poses, now = track.at(this.time);
		const frame = [...checks.keys()].reduce((best, other) => Math.abs(other - now) < Math.abs(best - now) ? other : best);
		this.play(false);
		this.setTime(track.times[frame]);
		const begin = performance.now(), { hash, contacts } = await detector.find(await track.ready(frame)), ms = performance.now() - begin;
		const same = hash === checks.get(frame), way = frame === now ? "" : " (the nearest frame that can be checked)";
		const text = same ? `Frame ${frame}${way}: ${tell(contacts.length)} contacts were found here, in ${ms.toFixed(0)} ms.\nThey are those that the command found, bit for bit: ${hash}` :
			`Frame ${frame}${way}: this browser finds other contacts than the command did.\nHere: ${hash}, there: ${checks.get(frame)}`;
		return { text, same };
	}

	/** Read the points of the frames that a scene shows, once. They are always read: the panel tells their number. */
	refreshPointsOf(scene) {
		const key = scene.pointsKey;
		if (scene.pointsOf === key || scene.readingPoints)
			return; // the answer to come asks again
		scene.readingPoints = true;
		scene.pointsOf = key;
		scene.readPoints().then((points) => {
			scene.points = points;
			const known = this.scenes.map((each) => each.points.totals).filter((totals) => totals);
			const totals = known.length ? POINT_LAYERS.map((layer, kind) => known.reduce((sum, each) => sum + each[kind], 0)) : null;
			tellPointCounts(totals);
			document.documentElement.dataset.points = totals ? totals.join(" ") : "";
			this.refreshOverlaysOf(scene);
			this.dirty = true;
		}).catch(this.fail).finally(() => { scene.readingPoints = false; });
	}

	/** Contacts of the frame, where layers want them, then all lines and dots. */
	refreshOverlays() {
		this.scenes.forEach((scene) => this.refreshOverlaysOf(scene));
	}

	refreshOverlaysOf(scene) {
		const wants = ["contacts", "normals", "depths", "pairs"].some((name) => this.state[name]) || scene.picked;
		const index = scene.shown.poses;
		if (!scene.hasContacts || !wants || index === undefined)
			return scene.showOverlays([]);
		if (scene.foundOf === index)
			return scene.showOverlays(scene.found);
		if (scene.finding)
			return; // the answer to come asks again
		scene.finding = true;
		scene.contacts(index).then((list) => {
			scene.finding = false;
			if (scene.shown.poses !== index)
				return this.refreshOverlaysOf(scene);
			scene.found = list;
			scene.foundOf = index;
			scene.showOverlays(list);
			const all = this.scenes.flatMap((each) => each.found);
			byId("deepest").textContent = `${tell(all.reduce((most, contact) => Math.max(most, contact.depth), 0))} m`;
			document.documentElement.dataset.contacts = all.length;
			this.dirty = true;
		}).catch(this.fail).finally(() => { scene.finding = false; });
	}

	drawEvents() {
		const canvas = byId("events"), events = this.events || [], ratio = window.devicePixelRatio || 1;
		if (!this.master || !canvas.clientWidth)
			return;
		const w = canvas.width = canvas.clientWidth * ratio, h = canvas.height = canvas.clientHeight * ratio, context = canvas.getContext("2d");
		const style = getComputedStyle(document.documentElement), thumb = 8 * ratio, last = Math.max(1, this.master.frames - 1);
		for (const event of events) {
			const x = thumb + (w - 2 * thumb) * this.master.at(event.time) / last;
			context.fillStyle = style.getPropertyValue(event.weight > 1 ? "--warn" : "--accent");
			context.fillRect(x - ratio / 2, h - 7 * ratio, 1.5 * ratio, 6 * ratio);
		}
	}

	// ---- Picking ----

	/** Pick what is at a place of a view; beside it, what has the same number in the other one. */
	pick(view, x, y) {
		this.showAll();
		const found = this.renderers[view].pick(this.camera, x, y);
		this.picked = found && { ...found, view };
		for (const scene of this.scenes) {
			const there = found && (scene === this.scenes[view] || (found.kind === "sphere" ? scene.radii && found.number < scene.radii.length : scene.bodies[found.number]));
			scene.picked = there ? found : null;
			scene.refresh();
		}
		byId("picked").hidden = !found;
		this.dirty = true;
		this.refreshOverlays();
	}

	tellPicked() {
		const { kind, number, view } = this.picked, scene = this.scenes[view], other = this.scenes[1 - view], section = byId("picked"), facts = [];
		const name = kind === "sphere" ? `Sphere ${number * (scene.head.spheres_every || 1)}` : `Body ${number}`;
		const place = this.placeOfPicked(scene), there = other && other.picked && this.placeOfPicked(other);
		facts.push(["place", places(place)]);
		if (there)
			facts.push(["in the other", places(there)], ["apart by", `${tell(norm(subtract(place, there)))} m`]);
		if (kind === "sphere") {
			facts.push(["radius", tell(scene.radii[number])]);
			fillPicked(section, name, facts, []);
			return;
		}
		const body = scene.bodies[number], row = body.rows[0];
		const form = body.rows.length > 1 ? `${body.rows.length} parts` : row.type === "mesh" || row.type === "hull" ? `${row.type} ${this.meshName(scene.head, row.mesh)}` : row.type;
		facts.unshift(["kind", body.kind], ["shape", form]);
		if (scene.head.body_ids) // of the program whose calls were recorded
			facts.unshift(["id", scene.head.body_ids[number]], ["user data", scene.head.body_user_data[number]]);
		facts.push(["turn x y z w", places(body.turn)]);
		const own = scene.foundOf === scene.shown.poses ? scene.found.filter((contact) => contact.a === number || contact.b === number) : [];
		const others = new Map();
		for (const contact of own) {
			const with_ = contact.a === number ? contact.b : contact.a;
			others.set(with_, Math.max(others.get(with_) || 0, contact.depth));
		}
		if (scene.hasContacts)
			facts.push(["contacts", String(own.length)]);
		fillPicked(section, name, facts, [...others].map(([with_, depth]) => `with ${with_}: ${tell(depth)} m deep`));
	}

	placeOfPicked(scene) {
		const { kind, number } = scene.picked;
		return add(kind === "sphere" ? [0, 1, 2].map((k) => scene.places[3 * number + k]) : scene.bodies[number].place, scene.origin);
	}

	meshName(head, mesh) {
		const names = head.meshes || [];
		return names[mesh % names.length] || "";
	}

	// ---- Hands ----

	listen() {
		byId("play").addEventListener("click", () => this.play(!(this.playing || this.following)));
		byId("live").addEventListener("click", () => this.follow(true));
		byId("before").addEventListener("click", () => this.jump(-1));
		byId("after").addEventListener("click", () => this.jump(1));
		byId("scrub").addEventListener("input", (event) => this.setFrame(+event.target.value));
		byId("speed").addEventListener("change", (event) => { this.speed = +event.target.value; });
		byId("theme").addEventListener("click", () => this.setTheme(this.theme === "dark" ? "light" : "dark"));
		for (const name of ["layers", "charts", "help"]) {
			const button = byId(`show-${name}`);
			button.addEventListener("click", () => this.showSection(name, byId(name).hidden));
		}
		if (innerWidth < 640)
			this.showSection("layers", false);
		addEventListener("resize", () => { this.dirty = true; this.drawEvents(); });
		addEventListener("keydown", (event) => this.onKey(event));
		this.renderers.forEach((renderer, view) => this.listenToPointers(renderer.canvas, view));
	}

	showSection(name, on) {
		byId(name).hidden = !on;
		byId(`show-${name}`).setAttribute("aria-expanded", String(on));
		this.dirty = true;
	}

	letGo() {
		this.picked = null;
		for (const scene of this.scenes) {
			scene.picked = null;
			scene.refresh();
		}
		byId("picked").hidden = true;
		this.refreshOverlays();
	}

	changeSpeed(by) {
		const select = byId("speed");
		select.selectedIndex = Math.max(0, Math.min(select.options.length - 1, select.selectedIndex + by));
		this.speed = +select.value;
	}

	frameAll() {
		const picked = this.scene.picked;
		const box = picked && picked.kind === "body" && this.scene.boxOf(this.scene.bodies[picked.number]);
		if (box)
			this.camera.frame(...around(box), this.renderer.resize());
		else
			this.camera.frame(...(this.live && this.scene.boxOfMoving() || [this.scene.lower, this.scene.upper]), this.renderer.resize());
		this.dirty = true;
	}

	onKey(event) {
		if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|TEXTAREA)$/.test(event.target.tagName))
			return;
		// Space and Enter are those of the control that has the focus; the picture turns by its own keys.
		if (/^[ ]$|^Enter$/.test(event.key) && event.target.closest("button, input:not([type=range])"))
			return;
		if (event.target === this.renderer.canvas && this.turnByKey(event.key))
			return event.preventDefault();
		const step = event.shiftKey ? 10 : 1, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
		const actions = {
			" ": () => this.play(!(this.playing || this.following)), ArrowRight: () => this.setFrame(this.frame + step), ArrowLeft: () => this.setFrame(this.frame - step),
			Home: () => this.setFrame(0), End: () => this.setFrame(this.master.frames - 1), n: () => this.jump(1), p: () => this.jump(-1),
			"+": () => this.changeSpeed(1), "=": () => this.changeSpeed(1), "-": () => this.changeSpeed(-1), f: () => this.frameAll(), c: () => this.scenes.some((scene) => scene.detector) && this.check().catch(this.fail),
			d: () => this.setTheme(this.theme === "dark" ? "light" : "dark"), h: () => this.showSection("help", byId("help").hidden),
			"?": () => this.showSection("help", byId("help").hidden),
			Escape: () => { this.letGo(); this.say(""); this.dirty = true; },
		};
		LAYERS.forEach((layer, i) => { actions[(layer.key || String(i + 1)).toLowerCase()] = () => this.setLayer(layer.name, !this.state[layer.name]); });
		if (!actions[key])
			return;
		if (key.startsWith("Arrow"))
			this.play(false);
		actions[key]();
		event.preventDefault();
	}

	/** Turn the camera, or bring it nearer; false where the key does neither. */
	turnByKey(key) {
		const turns = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }, zooms = { PageUp: 0.85, PageDown: 1 / 0.85 };
		if (turns[key])
			this.camera.rotate(...turns[key]);
		else if (zooms[key])
			this.camera.zoom(zooms[key]);
		else
			return false;
		this.dirty = true;
		return true;
	}

	listenToPointers(canvas, view) {
		const fingers = new Map();
		let moved = 0, gap = 0;
		const spread = () => {
			const [a, b] = [...fingers.values()];
			return Math.hypot(a[0] - b[0], a[1] - b[1]);
		};
		canvas.addEventListener("pointerdown", (event) => {
			canvas.setPointerCapture(event.pointerId);
			fingers.set(event.pointerId, [event.clientX, event.clientY]);
			moved = fingers.size > 1 ? 100 : 0;
			gap = fingers.size === 2 ? spread() : 0;
			canvas.classList.add("turning");
		});
		// A click leaves the arrow keys to the frames, and Space to the clock: the picture has the focus by the key Tab alone.
		canvas.addEventListener("mousedown", (event) => {
			document.activeElement.blur();
			event.preventDefault();
		});
		canvas.addEventListener("pointermove", (event) => {
			const before = fingers.get(event.pointerId);
			if (!before)
				return;
			const dx = event.clientX - before[0], dy = event.clientY - before[1], h = canvas.clientHeight;
			fingers.set(event.pointerId, [event.clientX, event.clientY]);
			moved += Math.hypot(dx, dy);
			if (fingers.size === 2) {
				const now = spread();
				this.camera.zoom(gap / (now || 1));
				this.camera.pan(dx / h / 2, dy / h / 2);
				gap = now;
			} else if (event.shiftKey || event.buttons & 6) {
				this.camera.pan(dx / h, dy / h);
			} else {
				this.camera.rotate(dx * 0.006, dy * 0.006);
			}
			this.dirty = true;
		});
		const end = (event) => {
			if (event.type === "pointerup" && fingers.size === 1 && moved < 5)
				this.pick(view, event.offsetX, event.offsetY);
			fingers.delete(event.pointerId);
			canvas.classList.remove("turning");
		};
		canvas.addEventListener("pointerup", end);
		canvas.addEventListener("pointercancel", end);
		canvas.addEventListener("contextmenu", (event) => event.preventDefault());
		canvas.addEventListener("wheel", (event) => {
			this.camera.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.0012)));
			this.dirty = true;
			event.preventDefault();
		}, { passive: false });
	}
}

const viewer = window.caromViewer = new Viewer(window.caromPage);
viewer.start().catch(viewer.fail);
