/** What somebody may have meant who wrote a name that does not exist. */

/** Every variable begins with it, so that its letters do not count. */
const PREFIX = 'CAIRN_';
/** Edits for each of which a name must have three letters, so that a short name is not taken for every other one. */
const LETTERS_PER_EDIT = 3;
const EDITS_MAX = 3;

/** Which of the names was meant, as a question; `otherwise` when none is close. */
export function nearest(name: string, names: readonly string[], otherwise: string, prefix = ''): string {
  const [best] = names
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .toSorted((a, b) => a.distance - b.distance);
  if (best === undefined) return otherwise;
  const letters = best.candidate.replace(PREFIX, '').length;
  const isClose = best.distance <= Math.min(EDITS_MAX, Math.floor(letters / LETTERS_PER_EDIT));
  return isClose ? `did you mean ${prefix}${best.candidate}?` : otherwise;
}

/** Levenshtein's distance; the names are short. */
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
