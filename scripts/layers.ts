/** npm run layers: fails when an import breaks the layer law, and says which rule, where and what. */
import { resolve } from 'node:path';
import { brokenRules, cruiseTree } from './support/layer-graph.ts';

const cruised = await cruiseTree(resolve(import.meta.dirname, '..'));
const broken = brokenRules(cruised);
for (const line of broken) console.error(line);
console.log(`${broken.length} broken layer rules in ${cruised.summary.totalCruised} modules`);
process.exitCode = broken.length === 0 ? 0 : 1;
