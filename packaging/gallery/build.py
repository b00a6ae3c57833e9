#!/usr/bin/env python3
"""Each scene of scenes/ as pictures and a few figures on one page that opens from disk.

    build.py CAROM SCENES OUT [--seconds N] [--films] [--only NAME]...

Runs `CAROM run` on each SCENES/*.json into OUT/runs/NAME, draws a third, two thirds and the end of what ran, and writes OUT/index.html.
A scene that takes more than N seconds (60) is interrupted: its pictures and figures are of the steps that were done, and the page says so.
A scene whose run is there already, of an equal scene file and finished, is not run again. Exit status 1: a scene failed; the page names it.
"""

import argparse
import html
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --panel: #f6f7f9; --ink: #1d2430; --quiet: #5b6675; --line: #dde2e8; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --paper: #12161c; --panel: #181d25; --ink: #dfe5ec; --quiet: #98a4b3; --line: #2b333e; --bad: #f2867e; } }
body { margin: 0 auto; max-width: 84rem; padding: 1.5rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
section { margin: 2rem 0; padding: 1rem; background: var(--panel); border: 1px solid var(--line); border-radius: 10px; }
h2 { margin: 0 0 0.3rem; }
p { margin: 0.3rem 0; max-width: 60rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 0.6rem; margin: 0.8rem 0; }
figure { margin: 0; }
img, video { display: block; width: 100%; height: auto; border-radius: 6px; }
figcaption, .figures, code { color: var(--quiet); font-size: 0.88rem; }
.failed { color: var(--bad); }
"""

# Figures of a summary that tell what a run was and whether it came out well.
FIGURES = [("bodies", "{:d} bodies"), ("spheres", "{:d} spheres"), ("triangles", "{:d} triangles"), ("contacts_peak", "at most {:d} contacts"),
           ("impacts", "{:d} impacts"), ("crossings_final", "{:d} crossing pairs of triangles at the end"),
           ("deepest_penetration_relative", "the deepest contact {:.2%} of its body"), ("final_penetration_relative", "{:.2%} at the end"),
           ("stretch_peak", "an edge at most {:.1%} longer than at rest"), ("kinetic_energy_final", "kinetic energy {:.3g} J at the end")]

# Scenes whose size is an option: at their own size they take hours, and a minute of them shows nothing.
SMALLER = {name: ["--count", "200000", "--snapshots", "20", "--steps", "4000"] for name in ("freefall", "turning_gravity", "radii_narrow", "radii_wide")}


def run(carom, scene, out, seconds):
    """Runs a scene; returns what went wrong, or nothing. An interrupted run is a good one: all that it wrote is whole."""
    wanted = scene.read_text() + " ".join(SMALLER.get(scene.stem, []))
    of = out / "ran.txt" # the scene and the options of the run that is there
    if (out / "summary.json").is_file() and of.is_file() and of.read_text() == wanted:
        return ""
    out.mkdir(parents=True, exist_ok=True)
    (out / "summary.json").unlink(missing_ok=True)
    with subprocess.Popen([carom, "run", scene, "--out", out, *SMALLER.get(scene.stem, [])], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            said = process.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
    if not (out / "summary.json").is_file():
        return said.strip().splitlines()[-1] if said.strip() else f"ended with status {process.returncode}"
    if process.returncode == 0:
        of.write_text(wanted)
    elif "interrupted after" not in said:
        return said.strip().splitlines()[-1]
    return ""


def call(*words):
    """Output of a command, as JSON; a failure raises RuntimeError with its last words."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no words"])[-1])
    return json.loads(done.stdout)


def draw(carom, out, films):
    """Pictures of a run: list of (file, time or None); and the film, or nothing."""
    tracks = call(carom, "info", out, "--json").get("tracks", [])
    if not tracks: # interrupted before the first frame
        return [(out / "last.png", None)], None
    track = max(tracks, key=lambda track: (track["name"] == "poses", track["frames"])) # what carom render counts
    frames = track["frames"]
    pictures = []
    for number, frame in enumerate(dict.fromkeys([frames // 3, 2 * frames // 3, frames - 1])):
        file = out / f"{number + 1}.png"
        call(carom, "render", out, "-o", file, "--frames", f"{frame}:{frame + 1}", "--size", "640x360", "--plain", "--json")
        share = frame / (frames - 1) if frames > 1 else 1
        pictures.append((file, track["from"] + share * (track["to"] - track["from"])))
    film = out / "film.mp4" if films else None
    if film:
        call(carom, "render", out, "-o", film, "--size", "640x360", "--plain", "--json")
    return pictures, film


def figures(summary):
    return "; ".join(words.format(summary[name]) for name, words in FIGURES if isinstance(summary.get(name), (int, float)))


def card(carom, scene, root, arguments):
    """The part of the page that is about a scene, and whether it failed."""
    out = root / "runs" / scene.stem
    description = json.loads(scene.read_text())
    lines = [f'<section id="{scene.stem}"><h2>{scene.stem}</h2>', f"<p>{html.escape(description.get('description', ''))}</p>"]
    wrong = run(carom, scene, out, arguments.seconds)
    pictures, film, summary = [], None, {}
    if not wrong:
        try:
            summary = json.loads((out / "summary.json").read_text())
            pictures, film = draw(carom, out, arguments.films)
        except RuntimeError as error:
            wrong = str(error)
    if pictures:
        lines.append('<div class="pictures">')
        for file, time in pictures:
            when = "the last step" if time is None else f"{time:.2f} s"
            lines.append(f'<figure><img src="{file.relative_to(root)}" alt="{scene.stem}, {when}" loading="lazy"><figcaption>{when}</figcaption></figure>')
        lines.append("</div>")
    if film:
        lines.append(f'<video src="{film.relative_to(root)}" controls preload="none"></video>')
    if wrong:
        lines.append(f'<p class="failed">{html.escape(wrong)}</p>')
    done, wanted = summary.get("steps"), description.get("steps")
    if done is not None:
        lines.append(f'<p class="figures">{done} of {wanted} steps. {figures(summary)}</p>')
    command = " ".join(["carom run", f"scenes/{scene.name}", *SMALLER.get(scene.stem, []), "--out", f"out/{scene.stem}"])
    lines.append(f"<code>{command}</code></section>")
    return "\n".join(lines), bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("carom")
    parser.add_argument("scenes", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--films", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    arguments = parser.parse_args()
    if not os.access(arguments.carom, os.X_OK):
        parser.error(f"{arguments.carom}: no such program")
    there = {scene.stem: scene for scene in sorted(arguments.scenes.glob("*.json"))}
    for name in arguments.only:
        if name not in there:
            parser.error(f"--only {name}: {arguments.scenes} has no such scene")
    names = arguments.only or list(there)
    arguments.out.mkdir(parents=True, exist_ok=True)
    cards, failed = [], []
    for name in names:
        print(f"gallery: {name}", file=sys.stderr)
        text, wrong = card(os.path.abspath(arguments.carom), there[name], arguments.out, arguments)
        cards.append(text)
        if wrong:
            failed.append(name)
    links = " · ".join(f'<a href="#{name}">{name}</a>' for name in names)
    (arguments.out / "index.html").write_text(f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Scenes of Carom</title>
<meta name="viewport" content="width=device-width"><style>{STYLE}</style>
<h1>Scenes of Carom</h1><p>{links}</p>
""" + "\n".join(cards) + "</html>\n")
    if failed:
        sys.exit(f"gallery: failed: {', '.join(failed)}")


main()
