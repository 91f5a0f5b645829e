/** Compares two folders by the bytes of their files; for checking committed output against fresh output. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** One line for each file that is missing in, left over in, or different in `committed`; empty when they are equal. */
export function compareTrees(committed: string, fresh: string): readonly string[] {
  const left = filesOf(committed);
  const right = filesOf(fresh);
  const paths = [...new Set([...left, ...right])].toSorted();
  return paths.flatMap((path) => {
    if (!left.has(path)) return [`${path}: missing`];
    if (!right.has(path)) return [`${path}: left over`];
    const same = readFileSync(join(committed, path)).equals(readFileSync(join(fresh, path)));
    return same ? [] : [`${path}: differs`];
  });
}

function filesOf(folder: string): ReadonlySet<string> {
  if (!existsSync(folder)) return new Set();
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Set(paths.filter((path) => statSync(join(folder, path)).isFile()));
}
