// Goal: each layer rule finds its violations, also in type-only imports, and the diagram shows the imports of the code.
// Method: a small tree in a temporary folder with one violation of each rule, read by the real rules.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { brokenRules, cruiseTree, layerPicture } from '../../../scripts/support/layer-graph.ts';
import { tempDir } from '../../support/temp-dir.ts';

const root = resolve(import.meta.dirname, '../../..');
const MANIFEST = {
  type: 'module',
  imports: { '#*': './src/*/index.ts' },
  dependencies: { pino: '10.4.0', fastify: '5.12.8', '@peculiar/x509': '2.2.0' },
  devDependencies: { vitest: '5.1.1' },
};

// Imports of each file, and the rule that each import violates.
const VIOLATIONS = [
  ['src/raft/types.ts', "import type { storage } from '#storage';", 'layer-raft'],
  ['src/raft/disk.ts', "import { readFileSync } from 'node:fs';", 'pure-no-node'],
  ['src/raft/log.ts', "import type { Logger } from 'pino';", 'pure-no-npm'],
  ['src/raft/using.ts', "async function f() { await using a = await import('#storage'); }", 'layer-raft'],
  ['src/service/deep.ts', "import { error } from '../base/error.ts';", 'door-only'],
  ['src/service/reexport.ts', "export { error } from '../base/error.ts';", 'door-only'],
  ['src/service/stray.ts', "import '../stray/a.ts';", 'known-layer'],
  ['src/service/web.ts', "import type { FastifyInstance } from 'fastify';", 'home-of-fastify'],
  ['src/service/tests.ts', "import '../../test/support/a.ts';", 'src-knows-no-outside'],
  ['src/service/runner.ts', "import { it } from 'vitest';", 'no-dev-package'],
  ['src/service/nowhere.ts', "import './nowhere-at-all.ts';", 'resolvable'],
  ['src/service/ring-a.ts', "import type { b } from './ring-b.ts';", 'no-cycle'],
  ['src/transport/grpc/http.ts', "import { http } from '../http/http.ts';", 'transports-are-strangers'],
  ['src/transport/http/messages.ts', "import { messages } from '../../../proto/gen/a.ts';", 'messages-of-grpc'],
  ['src/transport/http/paging.ts', "import './pages/a.ts';", 'folders-have-a-direction'],
  ['src/transport/http/pages/a.ts', "import { http } from '../http.ts';", 'folders-have-a-direction'],
  ['src/cluster/group/a.ts', "import '../peer/b.ts';", 'folders-have-a-direction'],
  ['src/cluster/peer/a.ts', "import '../store/b.ts';", 'folders-have-a-direction'],
  ['src/cluster/store/a.ts', "import '../group/b.ts';", 'folders-have-a-direction'],
  ['operator/src/plan/a.ts', "import { raft } from '#raft';", 'operator-is-a-client'],
  ['operator/src/plan/b.ts', "import '../../../test/support/a.ts';", 'operator-knows-no-outside'],
  ['operator/src/plan/c.ts', "import '../kube/api.ts';", 'operator-door-only'],
  ['operator/src/plan/d.ts', "import type { Name } from '@peculiar/x509';", 'home-of-@peculiar/x509'],
  ['operator/src/plan/e.ts', "import { it } from 'vitest';", 'no-dev-package'],
  ['operator/src/kube/e.ts', "import type { Plan } from '../plan/index.ts';", 'operator-kube-is-below'],
] as const;

const CLEAN = {
  'src/base/index.ts': "export { error } from './error.ts';",
  'src/base/error.ts': 'export const error = 1;',
  'src/raft/index.ts': "import { error } from '#base'; export const raft = error;",
  'src/storage/index.ts':
    "import { raft } from '#raft'; import { error } from '#base'; export const storage = [raft, error];",
  'src/service/ring-b.ts': "import type { a } from './ring-a.ts'; export type b = 1;",
  'src/transport/http/http.ts': "import fastify from 'fastify'; export const http = fastify;",
  'src/transport/peer/index.ts': 'export const links = 1;',
  'src/main/node/core-worker.ts': "await import('#transport/peer');",
  'src/stray/a.ts': 'export {};',
  'src/cluster/group/b.ts': 'export {};',
  'src/cluster/peer/b.ts': 'export {};',
  'src/cluster/store/b.ts': 'export {};',
  'operator/src/kube/index.ts': "export { api } from './api.ts';",
  'operator/src/kube/api.ts': "import { messages } from '../../../proto/gen/a.ts'; export const api = messages;",
  'operator/src/plan/index.ts': "import { api } from '../kube/index.ts'; export type Plan = typeof api;",
  'proto/gen/a.ts': 'export const messages = 1;',
  'test/support/a.ts': 'export {};',
};

const tree = tempDir();
let broken: readonly string[] = [];
let picture = '';

beforeAll(async () => {
  write('package.json', JSON.stringify(MANIFEST));
  symlinkSync(join(root, 'node_modules'), join(tree.path, 'node_modules'));
  for (const [path, text] of [...Object.entries(CLEAN), ...VIOLATIONS]) write(path, text);
  const cruised = await cruiseTree(tree.path);
  broken = brokenRules(cruised);
  picture = layerPicture(cruised);
});

afterAll(() => tree[Symbol.dispose]());

it('the layer rules find each file that violates them, and no others', () => {
  for (const [path, , rule] of VIOLATIONS) {
    expect(broken).toContainEqual(expect.stringMatching(`^${rule}: ${path.replaceAll('.', '\\.')} -> `));
  }
  const guilty = new Set<string>([...VIOLATIONS.map(([path]) => path), 'src/service/ring-b.ts']);
  expect(broken.filter((line) => !guilty.has(line.split(' ')[1] ?? ''))).toEqual([]);
});

it('the diagram has a node for each layer and an arrow for each import, also of types', () => {
  expect(picture.split('\n')).toEqual(
    expect.arrayContaining(['flowchart TD', '  base', '  raft --> base', '  raft --> storage', '  storage --> raft']),
  );
  expect(picture).not.toContain('base --> base');
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(tree.path, path)), { recursive: true });
  writeFileSync(join(tree.path, path), text);
}
