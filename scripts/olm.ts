/**
 * npm run olm: writes the bundle of the operator for the Operator Lifecycle Manager. It needs Helm.
 *
 *   npm run olm -- --image registry.example.com/team/cairn@sha256:... [--out dist-olm]
 *
 * --image names the image of Cairn, by its digest or a tag. `docker build --file bundle.Dockerfile .` in the folder
 * makes the image of the bundle.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { findKubeBinaries } from './kube/binaries.ts';
import { bundleFiles } from './olm/bundle.ts';
import { readOptions, refuse } from './support/command-line.ts';

const IMAGE = /^(?<repository>[^@\s]+?)(?:@(?<digest>sha256:[0-9a-f]{64})|:(?<tag>[\w.-]+))$/;

const root = resolve(import.meta.dirname, '..');
const { image = '', out = '' } = readOptions({ image: undefined, out: 'dist-olm' });
const named = IMAGE.exec(image)?.groups;
if (named === undefined) refuse('--image takes the image of Cairn with its digest or a tag');

const chart = join(root, 'charts/cairn-operator');
const values = ['--set-json', JSON.stringify({ image: named })];
// Without a folder, Helm is that of the path.
const helm = join(findKubeBinaries() ?? '', 'helm');
const rendered = execFileSync(helm, ['template', 'cairn-operator', chart, ...values], { encoding: 'utf8' });
const files = bundleFiles({
  rendered,
  chart: readFileSync(join(chart, 'Chart.yaml'), 'utf8'),
  page: readFileSync(join(root, 'docs/operations/operator.md'), 'utf8'),
});
for (const { path, content } of files) {
  const file = join(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
console.log(`${out}: ${files.length} files`);
