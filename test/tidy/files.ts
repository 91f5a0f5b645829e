/** Rules about files as such: their size and that of tests, their names, and a lock file that installs everywhere. */
import { type LockPackages, missingPlatforms } from '../../scripts/support/lock-platforms.ts';
import { type Fault, type Tree, under } from './tree.ts';

const LINES_MAX = 500;
const FUNCTION_LINES_MAX = 70;
const GENERATED = /\/gen\//;

/** A file of code is one idea: 500 lines at most. The linter sees only TypeScript; this sees the rest. */
export function filesAreShort(tree: Tree): readonly Fault[] {
  return [...under(tree, /\.(?:ts|mjs|cjs|proto)$|^\.ci\/run$/)].flatMap(([path, text]) => {
    const lines = text.trimEnd().split('\n').length;
    return lines <= LINES_MAX || GENERATED.test(path) ? [] : [`${path}: ${lines} lines; ${LINES_MAX} is the ceiling`];
  });
}

/** How a test or a function begins in a file of tests, as the formatter leaves it: it ends at the same column. */
const BLOCK = /^( *)(?:(?:it|test)\b.*[({]$|(?:async )?function\b.*[({]$|const \w+ = (?:async )?\(.*[({]$)/;

/** A test fits a screen, as functions do; to the linter a `describe` is a function, too. */
export function testsFitAScreen(tree: Tree): readonly Fault[] {
  return [...under(tree, /\.test\.ts$/)].flatMap(([path, text]) => {
    const lines = text.split('\n');
    return lines.flatMap((line, at) => {
      const indent = BLOCK.exec(line)?.[1];
      if (indent === undefined) return [];
      const isEnd = (each: string): boolean => each.startsWith(`${indent}}`) || each === `${indent});`;
      const end = lines.findIndex((each, place) => place > at && isEnd(each));
      const length = end - at + 1;
      const isLong = end !== -1 && length > FUNCTION_LINES_MAX;
      return isLong ? [`${path}:${at + 1}: a test of ${length} lines; ${FUNCTION_LINES_MAX} is the ceiling`] : [];
    });
  });
}

/** The formatter ends code at this column, and leaves comments alone. */
const COLUMNS_MAX = 120;
const COMMENT = /^\s*(?:\/?\*|\/\/)/;
const FENCE = /^\s*(?:\*|\/\/)\s*```/;
/** A drawing, a table, a command line, a link, or what a tool reads: they are as wide as they are. */
const WIDE = /[─-▿]|\S {3,}\S|\||^\s*\*\s+(?:node|npm|cairn|CAIRN_\S+) |https?:|biome-ignore|oxlint-disable/;

/** Comments end where code does. */
export function commentsAreNarrow(tree: Tree): readonly Fault[] {
  return [...under(tree, /\.(?:ts|mjs)$/)].flatMap(([path, text]) => {
    if (GENERATED.test(path)) return [];
    let isDrawn = false;
    return text.split('\n').flatMap((line, at) => {
      if (FENCE.test(line)) isDrawn = !isDrawn;
      const isWide = line.length > COLUMNS_MAX && COMMENT.test(line) && !isDrawn && !WIDE.test(line);
      return isWide ? [`${path}:${at + 1}: a comment of ${line.length} columns; ${COLUMNS_MAX} is the most`] : [];
    });
  });
}

/** Tests mirror src: a folder under test/unit is a layer, or `house` for the tools; those of operator/src alike. */
export function unitTestsMirrorLayers(tree: Tree): readonly Fault[] {
  const paths = [...tree.keys()];
  const layers = new Set(paths.flatMap((path) => /^(?:operator\/)?src\/[^/]+(?=\/)/.exec(path)?.[0] ?? []));
  return paths.flatMap((path) => {
    const [, place, folder = ''] = /^test\/(unit|operator)\/([^/]+)/.exec(path) ?? [];
    if (place === undefined || (place === 'unit' && folder === 'house')) return [];
    const src = place === 'unit' ? 'src' : 'operator/src';
    return layers.has(`${src}/${folder}`) ? [] : [`${path}: test/${place}/${folder} mirrors no layer of ${src}`];
  });
}

/** `npm ci` works on every platform: no optional package is left out of the lock file. */
export function lockFileIsWhole(tree: Tree): readonly Fault[] {
  const lock: { readonly packages: LockPackages } = JSON.parse(tree.get('package-lock.json') ?? '{"packages":{}}');
  return [...missingPlatforms(lock.packages).keys()].map(
    (path) => `package-lock.json: ${path} is missing: run npm run lock`,
  );
}

/** What we depend on is pinned exactly. */
export function versionsArePinned(tree: Tree): readonly Fault[] {
  const manifest = JSON.parse(tree.get('package.json') ?? '{}') as Partial<
    Record<string, Readonly<Record<string, string>>>
  >;
  const wanted = Object.entries({ ...manifest['dependencies'], ...manifest['devDependencies'] });
  return wanted.flatMap(([name, version]) =>
    /^\d+\.\d+\.\d+(?:-[\da-z]+(?:\.\d+)*)?$/.test(version) ? [] : [`package.json: ${name} ${version} is not pinned`],
  );
}
