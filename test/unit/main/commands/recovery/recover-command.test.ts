// Goal: an operator who has one node left is shown all that there is before anything changes, is refused with a
// sentence that says why, and gets an exit code that a script can read. Method: the command over real data directories.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatAddress, replicaOf, toNodeId } from '#base';
import { encodeCatalogEntry } from '#database';
import { Ledger, openLevelStore } from '#storage';
import { JOINING_KEY, writeJoining } from '../../../../../src/cluster/store/node-rows.ts';
import { recoverCommand } from '../../../../../src/main/commands/recovery/recover-command.ts';
import {
  createEntry,
  groupOf,
  IDENTITY,
  registerEntry,
  StoppedDirectory,
  storeOf,
} from '../../../../support/cluster/stopped-node.ts';
import { testDir } from '../../../../support/test-scope.ts';

const NODE_3 = replicaOf(toNodeId(3));
const OTHERS = [1, 2].map((node) => replicaOf(toNodeId(node)));
const TEXTS = ['t1', 't2', 't3', 't4', 't5'];

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface World {
  readonly environment?: Readonly<Record<string, string>>;
  /** The clusters of those who answer, by address. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Answers of nodes that refuse the question. */
  readonly refusals?: Readonly<Record<string, string>>;
}

async function run(args: readonly string[], world: World = {}): Promise<Ran> {
  const { environment = {}, answers = {}, refusals = {} } = world;
  let [out, err] = ['', ''];
  const code = await recoverCommand(args, {
    asking: (files) => ({
      askForCluster: (address) => Promise.resolve(files === undefined ? answers[formatAddress(address)] : undefined),
      refusalAt: (address) => Promise.resolve(refusals[formatAddress(address)]),
    }),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    environment,
  });
  return { code, out, err };
}

/** Node 3 with one database, without another, and with three catalog entries of unknown commit. */
async function nodeThree(): Promise<string> {
  const directory = testDir();
  await using node = await StoppedDirectory.begin(directory);
  const committed = [
    ...[1, 2, 3].map((each) => registerEntry(each, 50_050 + each)),
    createEntry(1, 'shop'),
    createEntry(2, 'carts', OTHERS),
    createEntry(3, 'old', [NODE_3]),
  ];
  await node.catalog([...committed, encodeCatalogEntry({ kind: 'delete', name: 'old' })], committed.length);
  await node.database({ group: groupOf(1), name: 'shop', texts: TEXTS, applied: 4 });
  await node.database({ group: groupOf(3), name: 'old', replicas: [NODE_3], texts: ['t1'] });
  return directory;
}

function codeIn({ out }: Ran): string {
  return /--accept-loss ([0-9a-f]{8})$/m.exec(out)?.[1] ?? 'none';
}

describe('cairn recover', () => {
  it('shows all that there is, and changes nothing', async () => {
    const directory = await nodeThree();
    const shown = await run(['--data-dir', directory]);
    expect(shown).toMatchObject({ code: 1 });
    const hash = /chain hash ([0-9a-f]{64})/.exec(shown.out)?.[1];
    const code = codeIn(shown);
    const how = `To continue with the data of this node: cairn recover --data-dir ${directory} --accept-loss ${code}`;
    expect(shown.out.replace(hash ?? '', 'HASH')).toBe(`\
Node 3 of the cluster ${IDENTITY.clusterId}, store ${IDENTITY.storeId}
The log of the catalog ends with entry 8 of term 4.
The last entry is not known to be committed, but may have been acknowledged: it is kept. It deletes old.

NODE  NAME    STATE   ZONE  CATALOG  PEER
1     node-1  active        voter    127.0.0.1:50051
2     node-2  active        voter    127.0.0.1:50052
3     node-3  active        voter    127.0.0.1:50053

It has these databases. Each continues as a new instance with the same history; cursors and subscriptions end:

  shop (0198c0de-0000-7000-8000-000000000001)
    revision 4 of 2025-10-09T08:53:24.000Z, chain hash HASH
    Its log has 1 more entry, which may have been acknowledged: it is kept.
    Its log ends with entry 6 of term 4. Also on nodes 1, 2.

It has no data of these databases. They are lost with the nodes that had them, and their names are free again:

DATABASE  ON   DATABASE_ID
carts     1 2  0198c0de-0000-7000-8000-000000000002

Data that only other nodes had is lost for good, including acknowledged transactions. Never start these nodes again with
their old disks.

cairn recover: nothing was changed. ${how}
`);
    expect(await run([`--data-dir=${directory}`])).toEqual(shown);
    expect(await run([], { environment: { CAIRN_DATA_DIR: directory } })).toEqual(shown);
    const json = await run([`--data-dir=${directory}`, '--json']);
    const databases = [{ name: 'shop', chainHash: hash }];
    expect(JSON.parse(json.out)).toMatchObject({ node: 3, acceptLoss: code, databases });
    const other = code === '00000000' ? '11111111' : '00000000';
    const refused = await run([`--data-dir=${directory}`, `--accept-loss=${other}`]);
    const why = `nothing was changed: ${other} is not the code of the current data`;
    expect(refused).toEqual({ code: 1, out: shown.out.replace('nothing was changed', why), err: '' });
  });

  it('founds a cluster from the data of the node when the loss is accepted, and reports it when it is called again', async () => {
    const directory = await nodeThree();
    const words = [`--data-dir=${directory}`, `--accept-loss=${codeIn(await run([`--data-dir=${directory}`]))}`];
    const done = await run(words);
    expect(done).toMatchObject({ code: 0, err: '' });
    expect(done.out).toMatch(
      /^This node is now node 3 of the cluster \S{36}, and the only one\.\nshop now means \S{36}, which continues from revision 4\ncarts is lost: its name is free\nStart it as before/,
    );
    const again = await run(words);
    expect(again).toMatchObject({ code: 0, err: '' });
    const why = `which began with what it held of the cluster ${IDENTITY.clusterId}: there is nothing to recover`;
    expect(again.out).toContain(why);
    expect(await run([`--data-dir=${directory}`])).toMatchObject({ code: 1, out: '' });
    const json = await run([...words, '--json']);
    expect(JSON.parse(json.out)).toMatchObject({ identity: { node: 3 }, bindings: [{ name: 'shop' }] });
  });

  it('is refused while so many of the others answer that the catalog has its quorum', async () => {
    const directory = await nodeThree();
    const other = '0199a5c8-3c1e-7a2b-9f00-ffffffffffff';
    const answers = { '127.0.0.1:50052': IDENTITY.clusterId, '127.0.0.1:50051': other };
    const err =
      'cairn recover: node 2 at 127.0.0.1:50052 answers, so with this node the catalog has a quorum: start the node, there is nothing to recover\n';
    expect(await run([`--data-dir=${directory}`], { answers })).toEqual({ code: 1, out: '', err });
    const strangers = { '127.0.0.1:50052': other };
    expect((await run([`--data-dir=${directory}`], { answers: strangers })).out).toContain('nothing was changed');
    // These nodes answer without TLS only.
    const environment = { CAIRN_PEER_SECRET_FILE: '/etc/cairn/peer/peer-secret' };
    expect((await run([`--data-dir=${directory}`], { answers, environment })).out).toContain('nothing was changed');
  });

  it('is refused on a store that was never part of a cluster, or has nothing of its catalog', async () => {
    const asking = testDir();
    await (await openLevelStore(join(asking, 'store'))).close();
    const ledger = await Ledger.open(asking);
    await ledger.write([{ key: JOINING_KEY, value: writeJoining(storeOf(4)) }]);
    ledger.close();
    const joined = testDir();
    await (await StoppedDirectory.begin(joined))[Symbol.asyncDispose]();
    const err = expect.stringContaining('was never part of a cluster, or never received its catalog');
    for (const directory of [asking, joined])
      expect(await run([`--data-dir=${directory}`])).toMatchObject({ code: 1, out: '', err });
    expect(existsSync(join(asking, 'log'))).toBe(false);
  });

  it('is malformed without a directory, and with what it does not know', async () => {
    for (const args of [[], ['--data-dir='], ['--data-dir=x', '--yes'], ['--data-dir=x', 'shop'], ['--accept-loss']]) {
      const { code, out, err } = await run(args);
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(/^cairn recover: .+\nSee cairn recover --help\.\n$/);
    }
    const out = expect.stringContaining('--accept-loss CODE');
    expect(await run(['--help'])).toMatchObject({ code: 0, out, err: '' });
  });
});
