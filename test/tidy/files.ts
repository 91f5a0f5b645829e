/** Rules about files: their length, the length of tests, their place, and a lock file that works on every platform. */
import { type LockPackages, missingPlatforms } from '../../scripts/support/lock-platforms.ts';
import { type Fault, type Tree, under } from './tree.ts';

const LINES_MAX = 500;
const FUNCTION_LINES_MAX = 70;
const GENERATED = /\/gen\//;

/** A file has at most 500 lines. The linter checks only TypeScript; this rule includes scripts and proto files. */
export function filesAreShort(tree: Tree): readonly Fault[] {
  return [...under(tree, /\.(?:ts|mjs|cjs|proto)$|^\.ci\/run$/)].flatMap(([path, text]) => {
    const lines = text.trimEnd().split('\n').length;
    return lines <= LINES_MAX || GENERATED.test(path) ? [] : [`${path}: ${lines} lines; ${LINES_MAX} is the ceiling`];
  });
}

/** First line of a test or function as the formatter writes it; its last line has the same indentation. */
const BLOCK = /^( *)(?:(?:it|test)\b.*[({]$|(?:async )?function\b.*[({]$|const \w+ = (?:async )?\(.*[({]$)/;

/** A test has at most 70 lines. The linter cannot check this, because it counts a `describe` as a function. */
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

/** Width of a line. The formatter wraps code at this column, but not comments. */
const COLUMNS_MAX = 120;
const COMMENT = /^\s*(?:\/?\*|\/\/)/;
const FENCE = /^\s*(?:\*|\/\/)\s*```/;
/** Lines that may be wider: drawings, tables, command lines, links, and directives for tools. */
const WIDE = /[─-▿]|\S {3,}\S|\||^\s*\*\s+(?:node|npm|cairn|CAIRN_\S+) |https?:|biome-ignore|oxlint-disable/;

/** Comments end at the column where code ends. */
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

/** Each folder of test/unit or test/operator has the name of a layer of src or operator/src, or is test/unit/house. */
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

/** The lock file lists each optional package for every platform, so that `npm ci` works everywhere. */
export function lockFileIsWhole(tree: Tree): readonly Fault[] {
  const lock: { readonly packages: LockPackages } = JSON.parse(tree.get('package-lock.json') ?? '{"packages":{}}');
  return [...missingPlatforms(lock.packages).keys()].map(
    (path) => `package-lock.json: ${path} is missing: run npm run lock`,
  );
}

/** Dependencies have exact versions. */
export function versionsArePinned(tree: Tree): readonly Fault[] {
  const manifest = JSON.parse(tree.get('package.json') ?? '{}') as Partial<
    Record<string, Readonly<Record<string, string>>>
  >;
  const wanted = Object.entries({ ...manifest['dependencies'], ...manifest['devDependencies'] });
  return wanted.flatMap(([name, version]) =>
    /^\d+\.\d+\.\d+(?:-[\da-z]+(?:\.\d+)*)?$/.test(version) ? [] : [`package.json: ${name} ${version} is not pinned`],
  );
}
