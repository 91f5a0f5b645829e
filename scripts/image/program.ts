/**
 * The program: the bundle, the packages that it loads, and Node.
 *
 * Packages are those of package-lock.json that are no tools of development, as node_modules has them. Of each is left
 * out what no program loads: types, maps, pages, tests, sources of machine code, and machine code for other systems.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Software } from './sbom.ts';
import { type Entry, entriesOf, textFile } from './tar.ts';

export const PROGRAM_FOLDER = '/opt/cairn';
const NODE = '/usr/local/bin/node';
export const COMMAND = '/usr/local/bin/cairn';
const OPERATOR_COMMAND = '/usr/local/bin/cairn-operator';
/** Bundles that are commands. */
const ENTRIES: Readonly<Record<string, string>> = { [COMMAND]: 'main.js', [OPERATOR_COMMAND]: 'operator.js' };

interface LockedPackage {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: true;
  readonly devOptional?: true;
  readonly optional?: true;
}

interface Part {
  readonly entries: readonly Entry[];
  readonly software: readonly Software[];
}

const LICENSE_FILE = /(?:^|\/)(?:licen[cs]e|copying|notice)[^/]*$/i;
/** Native code that packages ship, one folder for each system. */
const PREBUILDS = /^prebuilds\/(?<system>[^/]+)\/(?<file>.*)$/;
const LEFT_OUT = [
  /\.(?:[cm]?ts|map|md|markdown|c|cc|cpp|h|gypi?)$/,
  /^(?:test|tests|docs|examples?|benchmarks?|\.github)\//,
  // Packages in it have their own lines in package-lock.json.
  /(?:^|\/)node_modules\//,
];

/** Versions of Node that are those of interfaces, or its own. */
const NO_SOFTWARE = new Set(['node', 'modules', 'napi']);

/** In a layer of its own, which stays the same as long as package-lock.json does. */
export function packages(root: string): Part {
  const lock: { readonly packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  const shipped = Object.entries(lock.packages).filter(
    ([path, { dev, devOptional, optional }]) =>
      // An optional package may be one for another system.
      path !== '' && dev !== true && devOptional !== true && (optional !== true || existsSync(join(root, path))),
  );
  const parts = shipped.map(([path, locked]) => onePackage(root, path, locked));
  return { entries: parts.flatMap(({ entries }) => entries), software: parts.flatMap(({ software }) => software) };
}

function onePackage(root: string, path: string, { version, license, integrity }: LockedPackage): Part {
  const at = `${PROGRAM_FOLDER.slice(1)}/${path}`;
  const entries = entriesOf(join(root, path), at, isShipped).map((entry) => ({ ...entry, isProgram: false }));
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  // Also the licences of bundled code, such as LevelDB in the native module of classic-level.
  const licenseFiles = entries.filter((entry) => LICENSE_FILE.test(entry.path.slice(at.length)));
  const [alg, content = ''] = (integrity ?? '').split('-');
  return {
    entries,
    software: [
      {
        name,
        version,
        license: license ?? 'NOASSERTION',
        licenseFiles: licenseFiles.map((entry) => `/${entry.path}`),
        purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
        ...(alg === 'sha512'
          ? { hash: { alg: 'SHA-512', content: Buffer.from(content, 'base64').toString('hex') } as const }
          : {}),
      },
    ],
  };
}

function isShipped(name: string): boolean {
  const { system, file = '' } = PREBUILDS.exec(name)?.groups ?? {};
  if (system !== undefined) return system === `linux-${process.arch}` && !file.includes('.musl.');
  return (
    (LICENSE_FILE.test(name) && !name.includes('node_modules/')) || !LEFT_OUT.some((pattern) => pattern.test(name))
  );
}

/** The Node that runs this, which is that of node_modules. */
export function node(root: string): Part {
  const version = process.versions.node;
  const parts = Object.entries(process.versions).flatMap(([name, value]) =>
    value === undefined || NO_SOFTWARE.has(name) ? [] : [[name, value] as const],
  );
  const licenseFile = '/usr/local/share/doc/node/LICENSE';
  const source = join(root, `node_modules/node/node_modules/node-linux-${process.arch}/LICENSE`);
  return {
    entries: [
      { kind: 'file', path: NODE.slice(1), bytes: readFileSync(process.execPath), isProgram: true },
      textFile(licenseFile.slice(1), readFileSync(source, 'utf8')),
    ],
    software: [
      {
        name: 'node',
        version,
        license: 'MIT',
        licenseFiles: [licenseFile],
        purl: `pkg:generic/node@${version}`,
        parts: Object.fromEntries(parts),
      },
    ],
  };
}

/** The bundles, with their commands, and the pages that agents may read (docs). */
export function program(root: string, dist: string): readonly Entry[] {
  const at = PROGRAM_FOLDER.slice(1);
  // The file in which scripts/bootstrap.mjs notes when the sources were changed differs from one checkout to the next.
  const bundle = entriesOf(dist, `${at}/dist`, (name) => !name.startsWith('.'));
  return [
    ...bundle.map(asCommand),
    ...entriesOf(join(root, 'docs'), `${at}/docs`, () => true),
    ...['package.json', 'LICENSE'].map((name) => textFile(`${at}/${name}`, readFileSync(join(root, name), 'utf8'))),
    ...Object.entries(ENTRIES).map(([command, file]) => {
      return { kind: 'link', path: command.slice(1), target: `${PROGRAM_FOLDER}/dist/${file}` } as const;
    }),
  ];
}

/** There is no `env` in the image that would look for Node. */
function asCommand(entry: Entry): Entry {
  const isEntry = Object.values(ENTRIES).some((file) => entry.path.endsWith(`/dist/${file}`));
  if (entry.kind !== 'file' || !isEntry) return entry;
  const text = Buffer.from(entry.bytes).toString();
  return { ...entry, bytes: Buffer.from(text.replace('#!/usr/bin/env node\n', `#!${NODE}\n`)), isProgram: true };
}
