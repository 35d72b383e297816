# A file goes in, a new one comes out:
#   ./caisson run --file examples/files/sales.csv --out result examples/files/summarise.py
import collections
import csv

totals = collections.Counter()
with open("sales.csv", newline="") as source:
    for row in csv.DictReader(source):
        totals[row["city"]] += int(row["amount"])

with open("totals.csv", "w", newline="") as target:
    writer = csv.writer(target)
    writer.writerow(["city", "amount"])
    writer.writerows(sorted(totals.items()))

print(f"{len(totals)} cities written to totals.csv")
