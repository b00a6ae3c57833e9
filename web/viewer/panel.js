// The panels at the side: layers, the picked body, keys. They write to the document, and know nothing of drawing.

const LAYERS = [
	{ name: "bodies", text: "Bodies" },
	{ name: "ground", text: "Ground" },
	{ name: "shadows", text: "Shadows" },
	{ name: "contacts", text: "Contacts", needs: "contacts" },
	{ name: "normals", text: "Normals", needs: "normals" },
	{ name: "depths", text: "Depths, 20 times", needs: "normals" },
	{ name: "pairs", text: "Pairs in contact", needs: "contacts" },
	{ name: "boxes", text: "Boxes", needs: "bodies" },
	{ name: "impacts", text: "Impacts of deforming bodies", needs: "softs" },
	{ name: "softContacts", text: "Contacts of deforming bodies", needs: "softs", key: "0" },
	{ name: "sphereContacts", text: "Contacts of spheres", needs: "spheres", key: "S" },
];

const KEYS = [
	["space", "play or pause"], ["← →", "a frame back, ahead (with shift: ten)"], ["home end", "first, last frame"], ["N P", "next event, event before"],
	["+ −", "faster, slower"], ["1 – 9, 0, S", "layers, in their order"], ["F", "frame all, or the picked body"], ["C", "check this frame"], ["D", "dark or light"], ["Esc", "let the picked body go"],
	["H", "these keys"], ["tab, arrows", "to the picture, and turn it; page up and down: nearer, further"], ["drag", "turn; with shift, or two fingers: move"], ["wheel, pinch", "nearer, further"], ["click", "pick a body"],
];

function makeElement(tag, text, parent) {
	const element = document.createElement(tag);
	element.textContent = text;
	if (parent)
		parent.append(element);
	return element;
}

/** Tell how many points there are of each kind, [kinds] or null while they are not known. */
function tellPointCounts(totals) {
	POINT_LAYERS.forEach((layer, kind) => {
		document.getElementById(`count-${layer.name}`).textContent = totals ? tell(totals[kind]) : "";
	});
}

/** Fill the list of layers. has: which data there are; reasons: why others are not. */
function fillLayers(element, state, has, reasons, onChange) {
	makeElement("h2", "Layers", element);
	LAYERS.forEach((layer, i) => {
		const label = makeElement("label", "", element), box = makeElement("input", "", label);
		box.type = "checkbox";
		box.id = `layer-${layer.name}`;
		box.checked = state[layer.name];
		makeElement("span", layer.text, label);
		const points = POINT_LAYERS.find((each) => each.name === layer.name);
		if (points) {
			box.style.accentColor = points.color;
			const count = makeElement("span", "", label);
			count.id = `count-${layer.name}`;
			count.className = "count";
			count.style.color = points.color;
		}
		makeElement("kbd", layer.key || String(i + 1), label);
		if (layer.needs && !has[layer.needs]) {
			box.disabled = true;
			label.className = "off";
			label.title = reasons[layer.needs];
		}
		box.addEventListener("change", () => onChange(layer.name, box.checked));
	});
	if (has.contacts) {
		makeElement("div", "", element).className = "scale";
		const ends = makeElement("div", "", element);
		ends.className = "ends";
		makeElement("span", "touching", ends);
		makeElement("span", "", ends).id = "deepest";
	} else if (has.bodies) {
		const note = makeElement("p", reasons.contacts, element);
		note.id = "no-contacts";
		note.style.cssText = "margin:6px 0 0;color:var(--soft);font-size:12px";
	}
}

function fillKeys(element) {
	makeElement("h2", "Keys and gestures", element);
	const list = makeElement("dl", "", element);
	for (const [key, text] of KEYS) {
		makeElement("kbd", key, makeElement("dt", "", list));
		makeElement("dd", text, list);
	}
}

const places = (v) => v.map((c) => tell(c)).join(", ");

/** Tell what is picked: facts is a list of [name, text], lines follow it. */
function fillPicked(element, title, facts, lines) {
	element.replaceChildren();
	makeElement("h2", title, element);
	const list = makeElement("dl", "", element);
	for (const [name, text] of facts) {
		makeElement("dt", name, list);
		makeElement("dd", text, list);
	}
	const further = makeElement("ul", "", element);
	for (const line of lines)
		makeElement("li", line, further);
}
