#!/usr/bin/env python3
"""Guide, reference, figures and internals as static pages that open from disk: build.py ROOT OUT.

Pages come from README.md, docs/*.md and the headers (headers.py). Each link that leads nowhere, each name that a page marks up and no header
declares, and each public declaration without a comment ends it with a message. Needs python3-markdown-it and python3-pygments.
"""

import html
import json
import posixpath
import re
import shutil
import sys
from pathlib import Path

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

import headers

ROOT, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
HERE = Path(__file__).resolve().parent
FORMATTER = HtmlFormatter(nowrap=True)
SKIPPED = {"carom.h"}  # it includes the others
problems, search, declared = [], [], {}


def complain(text):
    problems.append(text)


# ---- What there is, and its place in the list of pages ----


def title_of(path):
    return re.search(r"^# (.*)$", path.read_text(), re.M)[1].replace("`", "")


def linked(path, folder):
    """The pages of a folder in the order in which its README.md names them."""
    found = re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / folder / path).read_text())
    rest = sorted(file.name for file in (ROOT / folder).glob("*.md") if file.name not in found)
    return [f"{folder}/{name}" for name in ["README.md", *dict.fromkeys([*found, *rest])] if (ROOT / folder / name).is_file()]


def sections():
    how = ["contacts", "meshes", "bodies", "queries", "convex", "continuous", "sweep", "spheres", "temporal", "broad_phase", "recording"]
    use = ["command", "scenes", "rendering", "packages", "platforms"]
    docs = {path.stem: f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))}
    first = ["README.md", docs.pop("README"), docs.pop("limits"), "CHANGELOG.md", "CONTRIBUTING.md"]
    used = [docs.pop(name) for name in use if name in docs]
    explained = [docs.pop(name) for name in ["design", *how] if name in docs]
    return [("Start", first), ("Guide", [p for p in dict.fromkeys(linked("README.md", "docs/guide"))]), ("Command and packages", used),
            ("How it works", explained + list(docs.values())), ("Measured", list(dict.fromkeys(linked("README.md", "docs/measured")))),
            ("Internals", list(dict.fromkeys(linked("README.md", "docs/internals"))))]


def url_of(source):
    top = {"README.md": "index.html", "docs/README.md": "documents.html"}
    return top.get(source) or re.sub(r"\.md$", ".html", source.removeprefix("docs/")).replace("README", "index")


SECTIONS = sections()
PAGES = {source: url_of(source) for _, sources in SECTIONS for source in sources}
HEADERS = {path.name: headers.read_header(path) for path in sorted((ROOT / "include/carom").glob("*.h")) if path.name not in SKIPPED}
ORDER = ["world.h", "mesh.h", "shape.h", "results.h", "query.h", "batch.h", "mesh_query.h", "collide.h", "geometry.h", "sweep.h", "proximity.h",
         "spheres.h", "snapshot.h", "record.h", "vulkan.h", "math.h", "base.h", "lab.h"]
HEADER_ORDER = [name for name in ORDER if name in HEADERS] + [name for name in HEADERS if name not in ORDER]
for name in HEADER_ORDER:
    for entry in HEADERS[name][1]:
        if entry.kind != "heading":
            declared[entry.name] = f"reference/{name[:-2]}.html#{entry.name}"
            for member, _ in entry.members if entry.kind == "enum" else []:
                declared.setdefault(member, declared[entry.name])


def relative(url, page):
    path, _, anchor = url.partition("#")
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")


# ---- Words and code ----


def link_names(text, page):
    """Names of the interface in HTML become links; tags stay as they are."""
    parts = re.split(r"(<a\b.*?</a>|<[^>]*>)", text, flags=re.S)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\b(?:carom_|CAROM_)\w+\b",
                          lambda m: f'<a class="name" href="{relative(declared[m[0]], page)}">{m[0]}</a>' if m[0] in declared else m[0], parts[i])
    return "".join(parts)


def coloured(code, language, page):
    try:
        marked = highlight(code, get_lexer_by_name(language or "text", stripnl=False), FORMATTER)
    except ValueError:
        marked = html.escape(code)
    return f'<pre class="code"><code>{link_names(marked, page)}</code></pre>\n'


def anchor_of(text):
    return re.sub(r" ", "-", re.sub(r"[^a-z0-9_ -]", "", text.lower()))


def plain(text):
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text))).strip()


def comment_html(comment, page):
    """A comment of a header: paragraphs, lists of dashes, indented code, `words`."""
    out = []
    for block in re.split(r"\n\s*\n", comment.strip("\n")):
        lines = block.split("\n")
        if all(line.startswith("    ") for line in lines):
            out.append(coloured("\n".join(line[4:] for line in lines) + "\n", "c", page))
            continue
        text = html.escape("\n".join(lines))
        paragraph, *items = re.split(r"(?:^|\n)- ", text)
        if paragraph:
            out.append(f"<p>{paragraph}</p>")
        if items:
            out.append("<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>")
    text = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", "\n".join(out))
    return link_names(text, page)


# ---- The frame of a page ----


def navigation(page):
    out = []
    groups = [(title, [(PAGES[source], title_of(ROOT / source)) for source in sources]) for title, sources in SECTIONS]
    reference = [("reference/index.html", "All names"), *((f"reference/{name[:-2]}.html", f"carom/{name}") for name in HEADER_ORDER)]
    groups.insert(2, ("Reference", reference))
    for title, links in groups:
        inside = any(url == page for url, _ in links)
        items = "".join(f'<li><a href="{relative(url, page)}"{" aria-current=page" if url == page else ""}>{html.escape(text)}</a></li>'
                        for url, text in links)
        out.append(f'<details{" open" if inside or title in ("Start", "Guide") else ""}><summary>{title}</summary><ul>{items}</ul></details>')
    return "".join(out)


def write_page(page, title, body, contents=()):
    path = OUT / page
    path.parent.mkdir(parents=True, exist_ok=True)
    root = relative("x", page)[:-1]
    aside = ""
    if len(contents) > 2:
        aside = "<nav class=contents aria-label='On this page'><b>On this page</b>" + "".join(
            f'<a class=l{level} href="#{anchor}">{html.escape(text).replace("_", "_<wbr>")}</a>' for level, anchor, text in contents) + "</nav>"
    path.write_text(f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)} - Carom</title><link rel="stylesheet" href="{root}style.css"><script src="{root}pages.js" data-root="{root}"></script></head>
<body><header><button id="menu" aria-label="List of pages" aria-expanded="false">&#9776;</button><a class="brand" href="{root}index.html">Carom</a>
<div class="search"><input id="search" type="search" placeholder="Search (press /)" aria-label="Search" autocomplete="off" spellcheck="false">
<div id="found" role="listbox" hidden></div></div><button id="theme" aria-label="Light or dark">&#9680;</button></header>
<div class="columns"><nav class="pages" aria-label="Pages">{navigation(page)}</nav><main>{body}</main>{aside}</div></body></html>
""")


# ---- Pages from Markdown ----


def resolve(source, link):
    """Where a link of a document leads, among the pages; files that are no pages are copied into files/."""
    path, _, anchor = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
    anchor = f"#{anchor}" if anchor else ""
    if target in PAGES:
        return PAGES[target] + anchor
    if target.startswith("include/carom"):
        name = posixpath.basename(target)
        return f"reference/{name[:-2]}.html" if name in HEADERS else "reference/index.html"
    if (ROOT / target).is_dir():
        return PAGES.get(f"{target}/README.md")
    if (ROOT / target).is_file():
        (OUT / "files" / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / target, OUT / "files" / target)
        return f"files/{target}"
    complain(f"{source}: there is no {link}")
    return None


def write_document(source):
    page, contents, sought = PAGES[source], [], []
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = markdown.parse((ROOT / source).read_text())
    for i, token in enumerate(tokens):
        if token.type == "heading_open":
            text = plain(markdown.renderer.render(tokens[i + 1].children, markdown.options, {}))
            anchor = anchor_of(tokens[i + 1].content)
            token.attrSet("id", anchor)
            if token.tag in ("h2", "h3"):
                contents.append((token.tag[1], anchor, text))
            sought.append([text, anchor, ""])
        for child in token.children or []:
            for attribute in ("href", "src"):
                link = child.attrGet(attribute)
                if link and not re.match(r"[a-z]+:", link):
                    target = resolve(source, link)
                    if target is None and child.type == "link_open":
                        child.attrSet("href", "")
                    else:
                        child.attrSet(attribute, relative(target, page))
        if token.type == "inline" and sought and tokens[i - 1].type != "heading_open":
            sought[-1][2] += " " + plain(markdown.renderer.render(token.children, markdown.options, {}))
    markdown.add_render_rule("fence", lambda self, tokens, i, options, env: coloured(tokens[i].content, tokens[i].info.strip(), page))
    markdown.add_render_rule("code_inline", lambda self, tokens, i, options, env:
                             link_names(f"<code>{html.escape(tokens[i].content)}</code>", page))
    body = markdown.renderer.render(tokens, markdown.options, {})
    body = re.sub(r'<a href="">(.*?)</a>', r"\1", body, flags=re.S)
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    write_page(page, title_of(ROOT / source), body, contents)
    top = title_of(ROOT / source)
    for text, anchor, words in sought:
        search.append([text if text == top else f"{text} · {top}", f"{page}#{anchor}", words.strip()[:400], 1])


# ---- Reference ----


def write_header(name):
    about, entries = HEADERS[name]
    page, contents = f"reference/{name[:-2]}.html", []
    about = re.sub(r"^@file .*\n", "", about)
    body = [f"<h1>carom/{name}</h1><div class=about>{comment_html(about, page)}</div>"]
    open_entry = False
    for entry in entries:
        if open_entry and not (entry.kind != "heading" and entry.shared):
            body.append("</section>")
            open_entry = False
        if entry.kind == "heading":
            contents.append((2, anchor_of(entry.name), entry.name))
            body.append(f'<h2 id="{anchor_of(entry.name)}">{html.escape(entry.name)}</h2>{comment_html(entry.comment, page) if entry.comment else ""}')
            continue
        if not open_entry:
            body.append('<section class="entry">')
            open_entry = True
        contents.append((3, entry.name, entry.name))
        code = coloured(entry.code + "\n", "c", page)
        body.append(f'<h3 id="{entry.name}"><a href="#{entry.name}">{entry.name}</a> <small>{entry.kind}</small></h3>{code}'
                    + (comment_html(entry.comment, page) if entry.comment else "<p class=shared>See the text above.</p>"))
        search.append([entry.name, f"{page}#{entry.name}", plain(entry.comment)[:300], 0])
        for member, _ in entry.members if entry.kind == "enum" else []:
            search.append([member, f"{page}#{entry.name}", f"value of {entry.name}", 0])
    body.append("</section>" if open_entry else "")
    write_page(page, f"carom/{name}", "".join(body), contents)


def write_names():
    page, body = "reference/index.html", ["<h1>Reference</h1>"]
    for name in HEADER_ORDER:
        about, entries = HEADERS[name]
        first = re.split(r"\n\s*\n|(?<=[.:]) ", re.sub(r"^@file .*\n", "", about))[0].rstrip(":").replace("\n", " ")
        body.append(f'<h2><a href="{relative(f"reference/{name[:-2]}.html", page)}">carom/{name}</a></h2><p>{html.escape(first)}</p><ul class=names>')
        body += [f'<li><a href="{relative(declared[entry.name], page)}">{entry.name}</a></li>' for entry in entries if entry.kind != "heading"]
        body.append("</ul>")
    write_page(page, "Reference", "".join(body))


# ---- All of it ----


def check_links():
    """Each link of each page leads to a file, and each part of a page that is named is there."""
    texts = {path.relative_to(OUT).as_posix(): path.read_text() for path in OUT.rglob("*.html") if "files" not in path.parts}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    for page, text in texts.items():
        for link in set(re.findall(r'\b(?:href|src)="([^"]*)"', text)):
            path, _, anchor = html.unescape(link).partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
            if not (OUT / target).is_file():
                complain(f"{page}: {link} leads nowhere")
            elif anchor and target in anchors and anchor not in anchors[target]:
                complain(f"{page}: {target} has no part {anchor}")


def main():
    if OUT.exists():
        shutil.rmtree(OUT)
    OUT.mkdir(parents=True)
    for path in sorted((ROOT / "include/carom").glob("*.h")):
        problems.extend(fault.replace(f"{ROOT}/", "") for fault in headers.faults(path))
    for source in PAGES:
        write_document(source)
    for name in HEADER_ORDER:
        write_header(name)
    write_names()
    for name in ("style.css", "pages.js"):
        shutil.copyfile(HERE / name, OUT / name)
    (OUT / "search.js").write_text(f"caromSearch({json.dumps(search, ensure_ascii=False, separators=(',', ':'))});\n")
    check_links()
    if problems:
        sys.exit("\n".join(problems))
    size = sum(path.stat().st_size for path in OUT.rglob("*") if path.is_file())
    print(f"{len(PAGES) + len(HEADER_ORDER) + 1} pages, {len(declared)} names, {len(search)} places to find, {size / 1e6:.1f} MB: {OUT}/index.html")


main()
