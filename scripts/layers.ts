/**
 * npm run layers: fails when an import breaks the layer law, and says which rule, where and what; and when the picture
 * in docs/architecture.md is not what the imports are.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readBlock } from './support/generated-block.ts';
import { brokenRules, cruiseTree, LAYER_GRAPH, layerGraph } from './support/layer-graph.ts';

const root = resolve(import.meta.dirname, '..');
const cruised = await cruiseTree(root);
const broken = brokenRules(cruised);
const { page, block } = LAYER_GRAPH;
const isFresh = readBlock(readFileSync(join(root, page), 'utf8'), block) === layerGraph(cruised);
for (const line of broken) console.error(line);
if (!isFresh) console.error(`${page}: the block "${block}" is stale: run npm run docs`);
console.log(`${broken.length} broken layer rules in ${cruised.summary.totalCruised} modules`);
process.exitCode = broken.length === 0 && isFresh ? 0 : 1;
