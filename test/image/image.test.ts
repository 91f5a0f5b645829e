// Goal: the image has what a node needs and nothing else, and its containers run a node under the restrictions of
// Kubernetes. Method: the bundle of this test run is packed as an image, which is unpacked, inspected and run by runc.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, normalize, relative, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { writeArchive } from '../../scripts/image/archive.ts';
import { imageOf } from '../../scripts/image/image.ts';
import { eventually } from '../support/eventually.ts';
import { HttpClient, jsonOf, type TransactionRecord } from '../support/http-client.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { tempDir } from '../support/temp-dir.ts';
import { endWithFile, testDir } from '../support/test-scope.ts';
import { builtComponent } from '../support/wasm/built.ts';
import { type UnpackedImage, unpackImage } from './archive.ts';
import { startContainer } from './container.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DIST = dirname(process.env[PRODUCT_VARIABLE] ?? join(ROOT, 'dist/main.js'));
const PROGRAM = 'opt/cairn';
const MAY_RUN = 0o111;
/** Set-user-ID and set-group-ID bits. */
const AS_ANOTHER = 0o6000;
const EVERY_RIGHT = 0o7777;
const LIBRARY = /\.so(?:\.|$)/;
const MODULE = /\.[cm]?js$/;
const LOADS = /(?:\bfrom|\bimport|\b(?:import|require)\()\s*(?<quote>["'])(?<name>[^"'\n]+)\k<quote>/g;
const PACKAGE = /^(?:@[\w-]+\/)?[\w-][\w./-]*$/;
const PACKAGE_FOLDER = /\/node_modules\/(?<name>(?:@[^/]+\/)?[^/]+)\/package\.json$/;
const COMMENT = /^\s*(?:\/\/|\*|\/\*)/;
const ENDINGS = ['', '.js', '.json', '.node', '/index.js'];
const MIB = 2 ** 20;
const ROOMY = { memoryBytes: 640 * MIB };
/** Less memory than a node needs, so that the log has the limit. */
const TIGHT = { memoryBytes: 256 * MIB };
describe.skipIf(lacksTool('runc', 'apt-get'))('the image', { timeout: 120_000 }, () => {
  const folder = tempDir();
  endWithFile(() => folder[Symbol.dispose]());
  let image: UnpackedImage;
  let files: ReadonlySet<string>;

  beforeAll(async () => {
    const { layers, config } = imageOf(ROOT, { dist: DIST });
    const archive = join(folder.path, 'cairn.tar');
    // The lowest compression level, because compression would take most of the time.
    await writeArchive(archive, layers, config, 1);
    image = unpackImage(archive, folder.path);
    files = new Set(filesBelow(image.rootfs));
  }, 120_000);

  it('has no programs except Node and the two commands, and none that runs as another user', () => {
    const modes = new Map([...files].map((file) => [file, statSync(join(image.rootfs, file)).mode]));
    const withMode = (bits: number): string[] => [...files].filter((file) => ((modes.get(file) ?? 0) & bits) !== 0);
    const programs = withMode(MAY_RUN).filter((file) => !LIBRARY.test(file));
    expect(programs.toSorted()).toEqual([
      `${PROGRAM}/dist/main.js`,
      `${PROGRAM}/dist/operator.js`,
      'usr/local/bin/node',
    ]);
    expect(withMode(AS_ANOTHER)).toEqual([]);
  });

  it('gives only its user access to the data directory', () => {
    const { uid, gid, mode } = statSync(join(image.rootfs, image.config.WorkingDir));
    expect(`${uid}:${gid}`).toBe(image.config.User);
    expect(mode & EVERY_RIGHT).toBe(0o700);
  });

  it('has every package that the bundle loads', () => {
    const packages = loadedBy(image.rootfs, `${PROGRAM}/dist`).filter(
      ({ name }) => PACKAGE.test(name) && !isBuiltin(name),
    );
    const names = new Set(packages.map(({ name }) => name.split('/', name.startsWith('@') ? 2 : 1).join('/')));
    expect(names).toContain('classic-level');
    expect([...names].filter((name) => !files.has(`${PROGRAM}/node_modules/${name}/package.json`))).toEqual([]);
  });

  it('has every file that a package loads from its own folder', () => {
    const own = loadedBy(image.rootfs, `${PROGRAM}/node_modules`).filter(({ name }) => name.startsWith('.'));
    const leftOut = own.filter(({ file, name }) => {
      const path = join(dirname(file), name);
      // A file that the checkout lacks as well is never loaded.
      const isLeftOut = (found: string): boolean =>
        !files.has(found) && isFile(join(ROOT, found.slice(PROGRAM.length)));
      return ENDINGS.some((end) => isLeftOut(normalize(path + end)));
    });
    expect(own.length).toBeGreaterThan(1000);
    expect(leftOut).toEqual([]);
  });

  it('has only packages that production depends on, and lists the licence of each', () => {
    const { components }: Materials = JSON.parse(readFileSync(join(image.rootfs, PROGRAM, 'cairn.cdx.json'), 'utf8'));
    const manifests = Map.groupBy(files, (file) => PACKAGE_FOLDER.exec(file)?.groups?.['name'] ?? '');
    const needed = new Set(Object.keys(manifestOf(join(ROOT, 'package.json')).dependencies ?? {}));
    for (const name of needed) {
      const found = manifests.get(name)?.map((file) => manifestOf(join(image.rootfs, file))) ?? [];
      for (const { dependencies = {} } of found) for (const other of Object.keys(dependencies)) needed.add(other);
    }
    const packages = components.filter(({ purl }) => purl.startsWith('pkg:npm/'));
    expect(packages.length).toBeGreaterThan(100);
    expect(packages.filter(({ name }) => !needed.has(name))).toEqual([]);

    const listed = readFileSync(join(image.rootfs, PROGRAM, 'THIRD-PARTY'), 'utf8')
      .trimEnd()
      .split('\n');
    const texts = listed.flatMap((line) => line.split('\t')[2]?.match(/\S+/g) ?? []);
    expect(texts).toContainEqual(expect.stringMatching(/\/classic-level\/deps\/leveldb\/.*LICENSE$/));
    expect(listed).toHaveLength(components.length + 1);
    expect(texts.filter((file) => !isFile(join(image.rootfs, file)))).toEqual([]);
    expect(components.filter(({ licenses }) => licenses[0]?.expression === 'NOASSERTION')).toEqual([]);
  });

  it('runs a node that publishes components, stops on SIGTERM, and has every acknowledged write after a restart', async () => {
    const dataDir = join(testDir(), 'data');
    const component = await builtComponent('examples/bank/accounts.ts');
    const fromMs = performance.now();
    const node = await startContainer(image, { ...ROOMY, dataDir, settings: ['--bootstrap=alone'] });
    await eventually(async () => expect(await fetch(new URL('/readyz', node.metrics))).toMatchObject({ ok: true }));
    process.stdout.write(`a container of the image is ready after ${Math.round(performance.now() - fromMs)} ms\n`);
    const client = new HttpClient(node.http);
    await client.create('bank');
    const published = await client.publish('bank/state-changes', { state_change_name: 'accounts' }, component);
    expect(published).toMatchObject({ status: 201 });
    expect(await revisionOf(client, '/accounts/a', { owner: 'ada' })).toBe(1);
    expect(node.log()).not.toContain('memory-too-small');
    expect(() => node.exec('cairn-operator', '--port=-1')).toThrow('--port is');
    expect(node.exec('cairn', '--version').trim()).toBe(manifestOf(join(ROOT, 'package.json')).version);
    expect(() => node.exec('sh')).toThrow('executable file not found');
    node.kill('SIGTERM');
    expect(await node.ended).toBe(0);

    const again = await startContainer(image, { ...TIGHT, dataDir });
    // The node finds the account that was opened before, with the component that was published before.
    expect(await revisionOf(new HttpClient(again.http), '/accounts/a/deposits', { cents: 5 })).toBe(2);
    // The node uses the memory limit of the container, not the memory of the machine.
    expect(again.log()).toContain(`"memoryBytes":${TIGHT.memoryBytes}`);
  });
});

/** Executes a command of the component and returns the revision after it. */
async function revisionOf(client: HttpClient, path: string, body: object): Promise<number> {
  const answer = await client.post('/api/v1/db/bank/state-changes/accounts/v1/execute', { path, body });
  if (answer.status !== 200) throw new Error(answer.text);
  const record = jsonOf(answer) as TransactionRecord;
  return record.transaction.revision;
}

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface Materials {
  readonly components: readonly {
    readonly name: string;
    readonly purl: string;
    readonly licenses: readonly { readonly expression: string }[];
  }[];
}

interface Load {
  readonly file: string;
  /** Specifier in the code. */
  readonly name: string;
}

/** Returns the modules that the code below a folder loads, as far as their specifiers are literals. */
function loadedBy(rootfs: string, folder: string): readonly Load[] {
  const modules = filesBelow(join(rootfs, folder)).filter((file) => MODULE.test(file));
  return modules.flatMap((file) => {
    const lines = readFileSync(join(rootfs, folder, file), 'utf8').split('\n');
    const names = lines.filter((line) => !COMMENT.test(line)).flatMap((line) => [...line.matchAll(LOADS)]);
    return names.map(({ groups }) => ({ file: join(folder, file), name: groups?.['name'] ?? '' }));
  });
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function manifestOf(file: string): Manifest {
  const manifest: Manifest = JSON.parse(readFileSync(file, 'utf8'));
  return manifest;
}
