"""Reads sales.csv and draws chart.svg, with the standard library only.

glovebox run examples/csv-to-chart.py --file examples/sales.csv --out chart.svg
"""

import csv
from xml.sax.saxutils import escape

BAR_HEIGHT, GAP, LABEL_WIDTH, CHART_WIDTH = 24, 8, 100, 400

with open("sales.csv", newline="") as file:
    rows = [(row["month"], float(row["sales"])) for row in csv.DictReader(file)]

largest = max(value for _, value in rows)
bars = []
for number, (label, value) in enumerate(rows):
    top = GAP + number * (BAR_HEIGHT + GAP)
    width = round(CHART_WIDTH * value / largest)
    bars.append(f'<text x="4" y="{top + 17}">{escape(label)}</text>')
    bars.append(f'<rect x="{LABEL_WIDTH}" y="{top}" width="{width}" height="{BAR_HEIGHT}" fill="#2a6f97"/>')

height = GAP + len(rows) * (BAR_HEIGHT + GAP)
with open("chart.svg", "w") as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABEL_WIDTH + CHART_WIDTH}" height="{height}" ')
    file.write('font-family="sans-serif" font-size="14">\n')
    file.write("\n".join(bars))
    file.write("\n</svg>\n")

print(f"Drew {len(rows)} bars; the largest is {largest:g}.")
