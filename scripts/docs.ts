/**
 * npm run docs: writes the generated pages of the docs, and the generated parts of hand-written ones.
 * With the name of a block, as in npm run graph, it writes only that one.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withBlock } from './support/generated-block.ts';
import { generatedPages, generatedParts } from './support/generated-pages.ts';
import { cruiseTree, LAYER_GRAPH, layerGraph } from './support/layer-graph.ts';

const root = resolve(import.meta.dirname, '..');
const only = process.argv[2];

if (only === undefined) for (const { path, content } of generatedPages(root)) writeFileSync(join(root, path), content);

const graph = { ...LAYER_GRAPH, content: layerGraph(await cruiseTree(root)) };
for (const { page, block, content } of [...generatedParts(root), graph]) {
  if (only !== undefined && only !== block) continue;
  const path = join(root, page);
  writeFileSync(path, withBlock(readFileSync(path, 'utf8'), block, content));
}
