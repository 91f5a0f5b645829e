/** Every generated part of the docs, and what it should contain now. */
import { join } from 'node:path';
import { adrIndex } from './adr-index.ts';
import { cruiseTree, layerPicture } from './layer-graph.ts';

export interface GeneratedPart {
  readonly page: string;
  readonly block: string;
  readonly content: string;
}

export async function generatedParts(root: string): Promise<readonly GeneratedPart[]> {
  const picture = layerPicture(await cruiseTree(root));
  return [
    { page: 'docs/architecture.md', block: 'layer-graph', content: `\`\`\`mermaid\n${picture}\n\`\`\`` },
    { page: 'docs/adr/README.md', block: 'adr-index', content: adrIndex(join(root, 'docs/adr')) },
  ];
}
