// Goal: containers of the Dockerfile start as those of `npm run image` do, and it copies all that it builds from.
// Method: the instructions of its last stage, held against the configuration of the archive.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { containerConfig } from '../../scripts/image/image.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replaceAll(/\\\n\s*/g, '');
const last = text.slice(text.lastIndexOf('\nFROM '));

function instruction(name: string): string {
  return new RegExp(`^${name} (?<rest>.*)$`, 'm').exec(last)?.groups?.['rest'] ?? '';
}

it('has every folder of sources that the build compiles', () => {
  const allowed = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  const { include }: { readonly include: readonly string[] } = JSON.parse(
    readFileSync(join(ROOT, 'tsconfig.build.json'), 'utf8'),
  );
  for (const folder of [...include, 'proto/gen']) expect(allowed).toContain(`!${folder}`);
});

it('starts a container as the archive does', () => {
  const { User, Env, Entrypoint, WorkingDir, Volumes, ExposedPorts, StopSignal } = containerConfig({});
  expect({
    User: instruction('USER'),
    // The base has a PATH.
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
