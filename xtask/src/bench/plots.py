"""The plots of `cargo xtask bench`, as SVG: bars, heat maps and lines, wide enough for a column of a page and no wider.

The background is opaque, so that they can be read on light and on dark pages; each has a title for those who cannot see
it, and says what it was measured with.
"""

import html
import math

INK, GREY, GRID = "#1a1a1a", "#555555", "#e3e3e3"
COLOURS = ["#14528c", "#e69f00", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"]
WIDTH = 820


def text(x, y, words, size=12, anchor="start", fill=INK, weight=400):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" '
            f'font-weight="{weight}">{html.escape(words)}</text>')


def rect(x, y, width, height, fill):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" fill="{fill}"/>'


def picture(title, notes, height, body):
    """Returns a whole picture: its title, lines of notes, and what `body` draws below them."""
    top = 34 + 17 * len(notes)
    height += top
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img" font-family="system-ui, \'DejaVu Sans\', sans-serif">',
        f"<title>{html.escape(title)}</title>",
        f"<desc>{html.escape(' '.join(notes))}</desc>",
        f'<rect width="100%" height="100%" rx="6" fill="#ffffff"/>',
        text(14, 26, title, 17, weight=600),
        *(text(14, 45 + 17 * index, note, 12.5, fill=GREY) for index, note in enumerate(notes)),
        f'<g transform="translate(0 {top})">', *body, "</g>", "</svg>",
    ]
    return "\n".join(lines) + "\n"


def shown(ratio):
    return f"{ratio:.3g}" if ratio < 100 else f"{ratio:.0f}"


def bars(title, notes, groups):
    """Draws ratios as bars, in groups: a label, a formula, and pairs of a name and a ratio."""
    left, step = 330, 22
    longest = max(ratio for _, _, pairs in groups for _, ratio in pairs)
    scale = (WIDTH - left - 70) / longest
    body, y = [], 8
    for label, formula, pairs in groups:
        middle = y + step * len(pairs) / 2
        body.append(text(14, middle - 1, label, 13, weight=600))
        body.append(text(14, middle + 14, formula, 11.5, fill=GREY))
        for index, (name, ratio) in enumerate(pairs):
            top = y + step * index
            body.append(text(left - 8, top + 15, name, 11.5, "end", GREY))
            body.append(rect(left, top + 2, ratio * scale, step - 5, COLOURS[0] if ratio >= 1 else COLOURS[2]))
            body.append(text(left + ratio * scale + 6, top + 15, f"{shown(ratio)}×", 12.5, weight=600))
        y += max(step * len(pairs), 32) + 10
    one = left + scale
    body.insert(0, f'<line x1="{one:.1f}" x2="{one:.1f}" y1="0" y2="{y - 6}" stroke="{GREY}" stroke-dasharray="3 3"/>')
    body.append(text(one, y + 8, "the fastest other", 11, "middle", GREY))
    return picture(title, notes, y + 20, body)


def mixed(ratio):
    """Returns the colour of a ratio, from 1/8 over 1 to 8."""
    share = max(-1, min(1, math.log2(ratio) / 3))
    end = (0x14, 0x52, 0x8C) if share > 0 else (0xB3, 0x48, 0x0A)
    return "#" + "".join(f"{round(0xF7 + (channel - 0xF7) * abs(share)):02x}" for channel in end)


def heat_maps(title, notes, panels):
    """Draws ratios as coloured cells, a panel below the other: a title, rows, columns, and ratios by row and column."""
    left, step, body, y = 150, 22, [], 4
    for name, rows, columns, ratios in panels:
        width = (WIDTH - left - 14) / max(len(columns), 5)
        body.append(text(14, y + 12, name, 13, weight=600))
        y += 18
        body += [text(left + width * (x + 0.5), y + 12, column, 10.5, "middle", GREY) for x, column in enumerate(columns)]
        y += 18
        for row in rows:
            body.append(text(left - 8, y + 15, row.replace("_", " ").replace(">", " → "), 12, "end"))
            for x, column in enumerate(columns):
                if ratio := ratios.get((row, column)):
                    ink = "#ffffff" if abs(math.log2(ratio)) > 2 else INK
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
        body.append(rect(14 + 110 * index, y + 4, 18, 5, COLOURS[index]))
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
            body.append(f'<line x1="{left}" x2="{WIDTH - 24}" y1="{at:.1f}" y2="{at:.1f}" stroke="{GRID}"/>')
            body.append(text(left - 6, at + 4, f"{10 ** (power - unit[1])} {unit[0]}", 11, "end", GREY))
        places = sorted({x for x, _ in points})
        for x in places[::5] if is_logarithmic else places:
            exponent = math.log2(x)
            word = f"{x >> 10 * int(exponent // 10)}{['', ' K', ' M'][int(exponent // 10)]}" if is_logarithmic else f"{x}"
            body.append(text(across(x), y + height + 38, word, 11, "middle", GREY))
        body.append(text((left + WIDTH) / 2, y + height + 54, axis, 11.5, "middle", GREY))
        for index, library in enumerate(names):
            path = " ".join(f"{across(x):.1f},{down(time):.1f}" for x, time in series.get(library, []))
            width = 2.6 if index == 0 else 1.5
            body.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[index]}" stroke-width="{width}"/>')
        y += height + 76
    return picture(title, notes, y, body)
