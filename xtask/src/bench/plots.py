"""The plots of `cargo xtask bench`, as SVG: bars, heat maps and lines, wide enough for a column of a page and no wider.

Their colours follow the reader's preference for light or dark pages; each has a title for those who cannot see it, and
says what it was measured with.
"""

import html
import math

WIDTH = 820
# What is drawn has a class, and a class has a colour on light and on dark pages. The series s0, s1 and so on are those of
# the libraries, s0 is bitlane's.
COLOURS = {
    "card": ("#ffffff", "#0d1117"), "ink": ("#1a1a1a", "#e6edf3"), "grey": ("#555555", "#9aa4ae"),
    "grid": ("#e3e3e3", "#30363d"), "other": ("#a8b0b8", "#59636e"), "dark": ("#1a1a1a", "#1a1a1a"),
    "light": ("#ffffff", "#ffffff"),
    "s0": ("#14528c", "#58a6ff"), "s1": ("#e69f00", "#e3b341"), "s2": ("#d55e00", "#f0883e"),
    "s3": ("#009e73", "#3fb950"), "s4": ("#cc79a7", "#db8fc1"), "s5": ("#56b4e9", "#a5d6ff"),
}


def style():
    rules = [
        "".join(f".{name}{{fill:{pair[dark]}}}.{name}-line{{stroke:{pair[dark]}}}" for name, pair in COLOURS.items())
        for dark in (0, 1)
    ]
    return f"<style>{rules[0]}@media(prefers-color-scheme:dark){{{rules[1]}}}</style>"


def text(x, y, words, size=12, anchor="start", kind="ink", weight=400):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" class="{kind}" '
            f'font-weight="{weight}">{html.escape(words)}</text>')


def rect(x, y, width, height, kind):
    colour = f'fill="{kind}"' if kind.startswith("#") else f'class="{kind}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" {colour}/>'


def picture(title, notes, height, body):
    """Returns a whole picture: its title, lines of notes, and what `body` draws below them."""
    top = 34 + 17 * len(notes)
    height += top
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img" font-family="system-ui, \'DejaVu Sans\', sans-serif">',
        f"<title>{html.escape(title)}</title>",
        f"<desc>{html.escape(' '.join(notes))}</desc>",
        style(),
        '<rect width="100%" height="100%" rx="6" class="card"/>',
        text(14, 26, title, 17, weight=600),
        *(text(14, 45 + 17 * index, note, 12.5, kind="grey") for index, note in enumerate(notes)),
        f'<g transform="translate(0 {top})">', *body, "</g>", "</svg>",
    ]
    return "\n".join(lines) + "\n"


def shown(ratio):
    return f"{ratio:.3g}" if ratio < 100 else f"{ratio:.0f}"


def duration(microseconds):
    unit, size = next((pair for pair in [("s", 1e6), ("ms", 1e3)] if microseconds >= pair[1]), ("µs", 1))
    return f"{shown(microseconds / size)} {unit}"


def races(title, notes, panels):
    """Draws times as bars, a panel for each job: its name, its formula, and pairs of a library and its microseconds. The
    first library is this crate."""
    left, step = 130, 25
    body, y = [], 4
    for label, formula, pairs in panels:
        body.append(text(14, y + 14, label, 14, weight=600))
        body.append(text(14, y + 31, formula, 12, kind="grey"))
        y += 40
        scale = (WIDTH - left - 90) / max(time for _, time in pairs)
        ours = pairs[0][0]
        for library, time in sorted(pairs, key=lambda pair: pair[1]):
            weight, kind = (600, "s0") if library == ours else (400, "other")
            body.append(text(left - 8, y + 16, library, 12.5, "end", weight=weight))
            body.append(rect(left, y + 2, max(time * scale, 1), step - 6, kind))
            body.append(text(left + time * scale + 6, y + 16, duration(time), 12.5, weight=weight))
            y += step
        y += 18
    return picture(title, notes, y, body)


def bars(title, notes, groups):
    """Draws ratios as bars, in groups: a label, a formula, and pairs of a name and a ratio."""
    left, step = 420, 22
    longest = max(ratio for _, _, pairs in groups for _, ratio in pairs)
    scale = (WIDTH - left - 70) / longest
    body, y = [], 8
    for label, formula, pairs in groups:
        middle = y + step * len(pairs) / 2
        body.append(text(14, middle - 1, label, 13, weight=600))
        body.append(text(14, middle + 14, formula, 11.5, kind="grey"))
        for index, (name, ratio) in enumerate(pairs):
            top = y + step * index
            body.append(text(left - 8, top + 15, name, 11.5, "end", "grey"))
            body.append(rect(left, top + 2, ratio * scale, step - 5, "s0" if ratio >= 1 else "s2"))
            body.append(text(left + ratio * scale + 6, top + 15, f"{shown(ratio)}×", 12.5, weight=600))
        y += max(step * len(pairs), 32) + 10
    one = left + scale
    line = f'<line x1="{one:.1f}" x2="{one:.1f}" y1="0" y2="{y - 6}" class="grey-line" stroke-dasharray="3 3"/>'
    body.insert(0, line)
    body.append(text(one, y + 8, "the fastest other", 11, "middle", "grey"))
    return picture(title, notes, y + 20, body)


def mixed(ratio):
    """Returns the colour of a ratio, from 1/8 over 1 to 8."""
    share = max(-1, min(1, math.log2(ratio) / 3))
    end = (0x14, 0x52, 0x8C) if share > 0 else (0xB3, 0x48, 0x0A)
    return "#" + "".join(f"{round(0xF7 + (channel - 0xF7) * abs(share)):02x}" for channel in end)


def heat_maps(title, notes, panels):
    """Draws ratios as coloured cells, a panel below the other: a title, rows, columns, and ratios by row and column. Rows
    and columns are pairs of a key and its words, of which those of columns may have two lines."""
    left, step, body, y = 150, 22, [], 4
    for name, rows, columns, ratios in panels:
        width = (WIDTH - left - 14) / max(len(columns), 5)
        body.append(text(14, y + 12, name, 13, weight=600))
        y += 18
        heads = [words.split("\n") for _, words in columns]
        for x, head in enumerate(heads):
            for index, line in enumerate(head):
                body.append(text(left + width * (x + 0.5), y + 12 + 13 * index, line, 10.5, "middle", "grey"))
        y += 5 + 13 * max(map(len, heads))
        for row, words in rows:
            body.append(text(left - 8, y + 15, words, 12, "end"))
            for x, (column, _) in enumerate(columns):
                if ratio := ratios.get((row, column)):
                    ink = "light" if abs(math.log2(ratio)) > 2 else "dark"
                    body.append(rect(left + width * x + 1, y + 1, width - 2, step - 2, mixed(ratio)))
                    body.append(text(left + width * (x + 0.5), y + 15, shown(ratio), 11, "middle", ink))
            y += step
        y += 16
    return picture(title, notes, y, body)


def lines(title, notes, panels):
    """Draws times on logarithmic scales: a title, the name of the axis, whether it is logarithmic, and points by library."""
    left, height, body, y = 76, 210, [], 4
    names = list(dict.fromkeys(library for *_, series in panels for library in series))
    for index, name in enumerate(names):
        body.append(rect(14 + 110 * index, y + 4, 18, 5, f"s{index}"))
        body.append(text(38 + 110 * index, y + 11, name, 12.5))
    y += 32
    for name, axis, is_logarithmic, series in panels:
        points = [point for line in series.values() for point in line]
        low, high = (bound(math.log10(time) for _, time in points) for bound in (min, max))
        low, high = math.floor(low), math.ceil(high)
        place = math.log2 if is_logarithmic else float
        first, last = (bound(place(x) for x, _ in points) for bound in (min, max))
        across = lambda x: left + (place(x) - first) / (last - first) * (WIDTH - left - 24)
        down = lambda time: y + 22 + height * (high - math.log10(time)) / (high - low)
        body.append(text(14, y + 12, name, 13, weight=600))
        for power in range(low, high + 1):
            at = down(10.0 ** power)
            unit = next((u, s) for u, s in [("s", 6), ("ms", 3), ("µs", 0), ("ns", -3)] if power >= s or s == -3)
            body.append(f'<line x1="{left}" x2="{WIDTH - 24}" y1="{at:.1f}" y2="{at:.1f}" class="grid-line"/>')
            body.append(text(left - 6, at + 4, f"{10 ** (power - unit[1])} {unit[0]}", 11, "end", "grey"))
        places = sorted({x for x, _ in points})
        for x in places[::5] if is_logarithmic else places:
            exponent = math.log2(x)
            word = f"{x >> 10 * int(exponent // 10)}{['', ' K', ' M'][int(exponent // 10)]}" if is_logarithmic else f"{x}"
            body.append(text(across(x), y + height + 38, word, 11, "middle", "grey"))
        body.append(text((left + WIDTH) / 2, y + height + 54, axis, 11.5, "middle", "grey"))
        for index, library in enumerate(names):
            path = " ".join(f"{across(x):.1f},{down(time):.1f}" for x, time in series.get(library, []))
            width = 2.6 if index == 0 else 1.5
            body.append(f'<polyline points="{path}" fill="none" class="s{index}-line" stroke-width="{width}"/>')
        y += height + 76
    return picture(title, notes, y, body)
