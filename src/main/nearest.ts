/** Suggests an existing name for a misspelled one. */

/** Prefix of every variable, which does not count in the comparison. */
const PREFIX = 'CAIRN_';
/** A name needs this many letters per edit, so that short names do not match everything. */
const LETTERS_PER_EDIT = 3;
const EDITS_MAX = 3;

/** Suggests the closest name as a question; returns `otherwise` when none is close. */
export function nearest(name: string, names: readonly string[], otherwise: string, prefix = ''): string {
  const [best] = names
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .toSorted((a, b) => a.distance - b.distance);
  if (best === undefined) return otherwise;
  const letters = best.candidate.replace(PREFIX, '').length;
  const isClose = best.distance <= Math.min(EDITS_MAX, Math.floor(letters / LETTERS_PER_EDIT));
  return isClose ? `did you mean ${prefix}${best.candidate}?` : otherwise;
}

/** Levenshtein distance; the names are short. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substituted, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
