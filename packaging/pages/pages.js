// Light or dark, the list of pages on small screens, and search. All works from file://: the index is a script that is loaded when it is wanted.
"use strict";
(() => {
	const root = document.currentScript.dataset.root;
	const page = document.documentElement;
	const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* not kept */ } };
	try { page.dataset.theme = localStorage.getItem("carom-theme") ?? ""; } catch { /* the system's */ }

	let places = null, waiting = null;
	globalThis.caromSearch = (list) => { places = list.map((place) => [...place, place[0].toLowerCase(), place[2].toLowerCase()]); waiting?.(); };
	function load(then) {
		if (places) return then();
		if (!waiting) {
			const script = document.createElement("script");
			script.src = `${root}search.js`;
			document.head.append(script);
		}
		waiting = then;
	}

	// How well a place answers: all words must occur; titles count more than texts, and the beginning of a name most.
	function score(place, words) {
		let sum = 0;
		for (const word of words) {
			const at = place[4].indexOf(word);
			if (at >= 0) sum += 100 - Math.min(at, 40) - Math.min(place[4].length, 60) / 2 + (place[4] === word ? 200 : 0) + (place[3] ? 0 : 5);
			else if (place[5].includes(word)) sum += 10;
			else return 0;
		}
		return sum;
	}

	function find(text) {
		const words = text.toLowerCase().split(/\s+/).filter(Boolean);
		if (!words.length) return [];
		return places.map((place) => [score(place, words), place]).filter((a) => a[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 30).map((a) => a[1]);
	}

	document.addEventListener("DOMContentLoaded", () => {
		const input = document.getElementById("search"), found = document.getElementById("found");
		const menu = document.getElementById("menu"), pages = document.querySelector(".pages");
		let chosen = -1;
		function show() {
			const list = find(input.value);
			chosen = -1;
			found.replaceChildren(...list.map(([title, url, text]) => {
				const link = document.createElement("a"), name = document.createElement("b"), words = document.createElement("span");
				link.href = root + url;
				name.textContent = title;
				words.textContent = text;
				link.append(name, words);
				link.addEventListener("click", () => { found.hidden = true; });
				return link;
			}));
			if (!list.length) found.append(Object.assign(document.createElement("p"), { textContent: "Nothing was found." }));
			found.hidden = !input.value.trim();
		}
		input.addEventListener("input", () => load(show));
		input.addEventListener("focus", () => load(() => {}));
		input.addEventListener("keydown", (event) => {
			const links = found.querySelectorAll("a");
			if (event.key === "Escape") { found.hidden = true; input.blur(); }
			if (event.key === "Enter" && links.length) links[Math.max(chosen, 0)].click();
			if ((event.key === "ArrowDown" || event.key === "ArrowUp") && links.length) {
				event.preventDefault();
				chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + links.length) % links.length;
				links.forEach((link, i) => link.classList.toggle("chosen", i === chosen));
				links[chosen].scrollIntoView({ block: "nearest" });
			}
		});
		document.addEventListener("click", (event) => { if (!event.target.closest(".search")) found.hidden = true; });
		document.addEventListener("keydown", (event) => {
			if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); input.focus(); }
		});
		menu.addEventListener("click", () => menu.setAttribute("aria-expanded", pages.classList.toggle("open")));
		document.getElementById("theme").addEventListener("click", () => {
			const dark = page.dataset.theme ? page.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
			page.dataset.theme = dark ? "light" : "dark";
			keep("carom-theme", page.dataset.theme);
		});
		pages.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
	});
})();
