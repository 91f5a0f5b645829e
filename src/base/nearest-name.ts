/** Finds the known name that a misspelt one probably means, for error messages. */

/**
 * The known name that takes the fewest edits (insert, delete or replace a letter) to become `name`, up to a third of
 * its letters or `editsMax`; else a name that `name` extends (`type` for `event_type` and `eventType`). Capitals,
 * hyphens and underscores do not count. Undefined when no known name is near.
 */
export function nearestName(name: string, known: readonly string[], editsMax?: number): string | undefined {
  const letters = lettersOf(name);
  let nearest: { readonly each: string; readonly edits: number } | undefined;
  for (const each of known) {
    const wanted = lettersOf(each);
    const most = editsMax ?? Math.ceil(wanted.length / 3);
    if (Math.abs(wanted.length - letters.length) > most) continue;
    const edits = editCount(letters, wanted);
    if (edits <= most && edits < (nearest?.edits ?? Number.POSITIVE_INFINITY)) nearest = { each, edits };
  }
  if (nearest !== undefined || editsMax !== undefined) return nearest?.each;
  return known.find((each) => letters.endsWith(lettersOf(each)) || letters.startsWith(lettersOf(each)));
}

const LETTERS_MAX = 64;

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '').slice(0, LETTERS_MAX);
}

/** Levenshtein distance, row by row. */
function editCount(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[to.length] ?? 0;
}
