/** The commands that README.md shows behind `npm run dev`. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export function readmeWalk(): string {
  const page = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
  const [, behind = ''] = page.split('npm run dev\n```\n');
  const walk = /^```sh\n(.*?)^```$/ms.exec(behind)?.[1];
  if (walk === undefined) throw new Error('README.md shows no commands behind `npm run dev`');
  return walk;
}
