/** Rules about the layers of src and operator/src: index files, headers, and imports that other rules cannot see. */
import { type Fault, faultyLines, sources, type Tree } from './tree.ts';

const MAIN = 'src/main';
const HEADER_LINES_MIN = 10;
const HEADER_LINES_MAX = 30;

/** Each layer has an index.ts whose header of 10 to 30 lines introduces the layer. Main has main.ts instead. */
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

/** Each module has a header, or a doc comment at its only export. */
export function modulesHaveHeaders(tree: Tree): readonly Fault[] {
  return [...sources(tree)].flatMap(([path, text]) => {
    const exported = text.match(/^export /gm) ?? [];
    const isIntroduced = headerOf(text).length > 0 || (exported.length === 1 && text.includes('*/\nexport '));
    return isIntroduced ? [] : [`${path}: the module does not begin with a header comment`];
  });
}

/** Index files name each export. */
export function noExportStar(tree: Tree): readonly Fault[] {
  return faultyLines(sources(tree), /^export (?:type )?\*/, 'name what is exported');
}

/** A path to the file of a thread stays in its layer: it is an import that the layer rules cannot see. */
export function threadsStayInTheirLayer(tree: Tree): readonly Fault[] {
  return faultyLines(sources(tree), /new URL\(\s*[`'"][^`'"]*\.\.\/[^'"`]*\.[jt]s\b/, 'this path leaves its folder');
}

// A shebang may precede the header.
function headerOf(text: string): readonly string[] {
  const header = /^(?:#!.*\n)?\/\*\*[\s\S]*?\*\//.exec(text);
  return header === null ? [] : header[0].split('\n');
}
