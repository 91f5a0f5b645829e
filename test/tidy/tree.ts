// The repository as a map from path to text. A rule is a function from this tree to faults, so that its test can pass
// it a tree of two lines.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Tree = ReadonlyMap<string, string>;

/** One broken rule, as `path: what is wrong` or `path:line: what is wrong`. */
export type Fault = string;

export type Rule = (tree: Tree) => readonly Fault[];

/** Reads each text file that is tracked by git or not ignored. Paths contain "/" on every platform. */
export function readTree(root: string): Tree {
  // Git lists a clone of another user, as in a container, only with this setting.
  const git = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const listing = execFileSync('git', git, { cwd: root });
  const paths = listing
    .toString('utf8')
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(root, path)));
  const texts = paths.map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
  return new Map(texts.filter(([_path, text]) => !text.includes('\0')));
}

/** A tree for a test. */
export function treeOf(files: Readonly<Record<string, string>>): Tree {
  return new Map(Object.entries(files));
}

/** The part of the tree whose paths match. */
export function under(tree: Tree, pattern: RegExp): Tree {
  return new Map([...tree].filter(([path]) => pattern.test(path)));
}

/** TypeScript code of the server and its operator, without generated files. */
export function sources(tree: Tree): Tree {
  return new Map([...under(tree, /^(?:operator\/)?src\/.*\.ts$/)].filter(([path]) => !path.includes('/gen/')));
}

export function tests(tree: Tree): Tree {
  return under(tree, /^test\/.*\.ts$/);
}

/** Returns each line that matches as a fault with its position. */
export function faultyLines(tree: Tree, pattern: RegExp, what: string): readonly Fault[] {
  return [...tree].flatMap(([path, text]) =>
    text
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${what}: ${line.trim()}`] : [])),
  );
}
