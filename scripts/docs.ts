/** npm run docs: writes the generated parts of the docs. With the name of a block, as in npm run graph, only that one. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withBlock } from './support/generated-block.ts';
import { generatedParts } from './support/generated-pages.ts';

const root = resolve(import.meta.dirname, '..');
const only = process.argv[2];

for (const { page, block, content } of await generatedParts(root)) {
  if (only !== undefined && only !== block) continue;
  const path = join(root, page);
  writeFileSync(path, withBlock(readFileSync(path, 'utf8'), block, content));
  console.log(`${page}: ${block}`);
}
