/** The commands that docs/cluster-tour.md shows after `npm run dev`. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export function clusterTour(): string {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/cluster-tour.md'), 'utf8');
  const [, after = ''] = page.split('npm run dev\n```\n');
  const commands = /^```sh\n(.*?)^```$/ms.exec(after)?.[1];
  if (commands === undefined) throw new Error('docs/cluster-tour.md shows no commands after `npm run dev`');
  return commands;
}
