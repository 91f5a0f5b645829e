// Goal: containers of the Dockerfile start like those of `npm run image`, and it copies every source that the build
// needs. Method: the instructions of its last stage are compared with the configuration of the archive.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { containerConfig, labelsOf } from '../../scripts/image/image.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DIST = dirname(process.env[PRODUCT_VARIABLE] ?? join(ROOT, 'dist/main.js'));
const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replaceAll(/\\\n\s*/g, '');
const last = text.slice(text.lastIndexOf('\nFROM '));

function instruction(name: string): string {
  return new RegExp(`^${name} (?<rest>.*)$`, 'm').exec(last)?.groups?.['rest'] ?? '';
}

it('copies every source of the bundles', () => {
  const allowed = [...readFileSync(join(ROOT, '.dockerignore'), 'utf8').matchAll(/^!(.*)$/gm)].map(([, name]) => name);
  const sources = readdirSync(DIST).flatMap((file) => (file.endsWith('.js.map') ? sourcesOf(join(DIST, file)) : []));
  expect(sources.length).toBeGreaterThan(500);
  expect(sources.filter((path) => !allowed.some((folder) => path.startsWith(`${folder}/`)))).toEqual([]);
});

/** Sources in the map of a bundle, as paths in the repository. */
function sourcesOf(map: string): readonly string[] {
  const { sources }: { readonly sources: readonly string[] } = JSON.parse(readFileSync(map, 'utf8'));
  return sources.filter((name) => name.startsWith('.')).map((name) => relative(ROOT, resolve(DIST, name)));
}

it('has the labels of the archive, with revision and time as arguments', () => {
  const labels = Object.fromEntries(
    [...instruction('LABEL').matchAll(/([\w.]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
  const wanted = { ...labelsOf(ROOT, '${COMMIT}'), created: '${CREATED}' };
  expect(labels).toEqual(containerConfig(wanted).Labels);
});

it('starts a container as the archive does', () => {
  const { User, Env, Entrypoint, WorkingDir, Volumes, ExposedPorts, StopSignal } = containerConfig({});
  expect({
    User: instruction('USER'),
    // The base image sets PATH.
    Env: instruction('ENV').split(' ').toSorted(),
    Entrypoint: JSON.parse(instruction('ENTRYPOINT')),
    WorkingDir: instruction('WORKDIR'),
    Volumes: [instruction('VOLUME')],
    ExposedPorts: instruction('EXPOSE')
      .split(' ')
      .map((port) => `${port}/tcp`),
    StopSignal: instruction('STOPSIGNAL'),
  }).toEqual({
    User,
    Env: Env.filter((variable) => !variable.startsWith('PATH=')).toSorted(),
    Entrypoint,
    WorkingDir,
    Volumes: Object.keys(Volumes),
    ExposedPorts: Object.keys(ExposedPorts),
    StopSignal,
  });
});
