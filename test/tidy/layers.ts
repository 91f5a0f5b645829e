/** Rules about the shape of src and operator/src: doors, headers, and no way around the layer law. */
import { type Fault, faultyLines, sources, type Tree } from './tree.ts';

const MAIN = 'src/main';
const HEADER_LINES_MIN = 10;
const HEADER_LINES_MAX = 30;

/** Every layer folder has a door, and the door introduces it in 10 to 30 lines. Main has an entry instead. */
export function layersHaveDoors(tree: Tree): readonly Fault[] {
  const files = sources(tree);
  const layers = new Set([...files.keys()].flatMap((path) => /^(?:operator\/)?src\/[^/]+(?=\/)/.exec(path)?.[0] ?? []));
  return [...layers].flatMap((layer) => {
    const door = layer === MAIN ? `${layer}/main.ts` : `${layer}/index.ts`;
    const text = files.get(door);
    if (text === undefined && layer === MAIN) return [];
    if (text === undefined) return [`${door}: the layer has no door`];
    const lines = headerOf(text).length;
    const fits = lines >= HEADER_LINES_MIN && lines <= HEADER_LINES_MAX;
    return fits ? [] : [`${door}: its header has ${lines} lines; a door introduces its layer in 10 to 30`];
  });
}

/** Every module says at its top what it is for; one with a single export may say it there instead. */
export function modulesHaveHeaders(tree: Tree): readonly Fault[] {
  return [...sources(tree)].flatMap(([path, text]) => {
    const exported = text.match(/^export /gm) ?? [];
    const isIntroduced = headerOf(text).length > 0 || (exported.length === 1 && text.includes('*/\nexport '));
    return isIntroduced ? [] : [`${path}: the module does not begin with a header comment`];
  });
}

/** Doors name what they offer. */
export function noExportStar(tree: Tree): readonly Fault[] {
  return faultyLines(sources(tree), /^export (?:type )?\*/, 'name what is exported');
}

/** Threads are started from the own layer: a path to a file is an import that the layer rules cannot see. */
export function threadsStayInTheirLayer(tree: Tree): readonly Fault[] {
  return faultyLines(sources(tree), /new URL\(\s*[`'"][^`'"]*\.\.\/[^'"`]*\.[jt]s\b/, 'this path leaves its folder');
}

// A shebang may stand above it.
function headerOf(text: string): readonly string[] {
  const header = /^(?:#!.*\n)?\/\*\*[\s\S]*?\*\//.exec(text);
  return header === null ? [] : header[0].split('\n');
}
