// Goal: an operator who types something gets what was asked for, or a sentence that says what is wrong, and an exit
// code that a script can read. Method: the command, with answers made up.
import { describe, expect, it } from 'vitest';
import { DatabaseError, LEVELS, toDatabaseId, toGroupId, toLogIndex, toNodeId, toRevision } from '#base';
import type { AdminReply, AdminRequest, AskAdmin, ClusterDescription, NodeState } from '#cluster';
import type { ClientFiles } from '../../../../../src/main/commands/cluster/cluster-arguments.ts';
import { clusterCommand } from '../../../../../src/main/commands/cluster/cluster-command.ts';
import type { Environment } from '../../../../../src/main/commands/options.ts';
import type { PeerTlsFiles } from '../../../../../src/main/tls/peer-tls.ts';

function nodeOf(node: number, state: NodeState = 'active', copies = 1): ClusterDescription['nodes'][number] {
  return {
    node: toNodeId(node),
    name: `node-${node}`,
    zone: 'a',
    state,
    storeId: `0199a5c8-3c1e-7a2b-9f01-${String(node).padStart(12, '0')}`,
    peer: { host: '127.0.0.1', port: node === 3 ? 0 : 50_050 + node },
    grpc: node === 3 ? '' : `127.0.0.1:5005${node}`,
    http: '',
    levels: LEVELS,
    isLearner: false,
    answers: node !== 3,
    isDraining: false,
    copies,
    movableLeads: 0,
    lag: node === 2 ? 3 : 0,
    ...(node !== 3 && {
      own: {
        release: '0.1.0',
        catalogIndex: toLogIndex(9),
        unapplied: 0,
        diskUsedPercent: 0,
        components: [],
        refused: [],
      },
    }),
    leads: node === 1 ? 2 : 0,
    catalogRole: node === 3 ? 'learner' : 'voter',
  };
}

const CLUSTER: ClusterDescription = {
  node: toNodeId(2),
  clusterId: '0199a5c8-3c1e-7a2b-9f00-0123456789ab',
  catalogLeader: toNodeId(1),
  catalogIndex: toLogIndex(9),
  isConfirmed: true,
  diverged: [],
  otherClusters: [],
  level: LEVELS.max,
  nodes: [nodeOf(1), nodeOf(2), nodeOf(3, 'leaving')],
  databases: [
    database('shop', { leader: 1, lag: 3 }),
    database('moving', { leader: 1, lag: 0, isSettled: false }),
    database('gone', {}),
  ],
};

function database(
  name: string,
  {
    leader,
    lag,
    isSettled = true,
    copies = 0,
  }: { leader?: number; lag?: number; isSettled?: boolean; copies?: number },
): ClusterDescription['databases'][number] {
  return {
    name,
    databaseId: toDatabaseId('0198c0de-0000-7000-8000-000000000001'),
    group: toGroupId(1),
    copies,
    nodes: [toNodeId(1), toNodeId(2)],
    leaving: isSettled ? [] : [toNodeId(3)],
    isSettled,
    leader: leader === undefined ? undefined : toNodeId(leader),
    members: lag === undefined ? [] : [{ node: toNodeId(2), isVoter: true, standing: 'ready', lag }],
    recovery: undefined,
  };
}

const DESCRIBED: AdminReply = { kind: 'described', cluster: CLUSTER };
const LATER: AdminReply = { kind: 'later', reason: 'an election' };

function describedAs(more: Partial<ClusterDescription>): AdminReply {
  return { kind: 'described', cluster: { ...CLUSTER, ...more } };
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly asked: readonly [string, AdminRequest][];
  readonly secured: readonly PeerTlsFiles[];
  readonly clients: readonly ClientFiles[];
  readonly elapsedMs: number;
}

async function run(line: string, ...replies: readonly AdminReply[]): Promise<Ran> {
  return runIn({}, line, ...replies);
}

async function runIn(environment: Environment, line: string, ...replies: readonly AdminReply[]): Promise<Ran> {
  let nowMs = 0;
  const asked: [string, AdminRequest][] = [];
  const secured: PeerTlsFiles[] = [];
  const clients: ClientFiles[] = [];
  let [out, err] = ['', ''];
  const ask: AskAdmin = async ({ host, port, ip }, request) => {
    asked.push([`${host}:${port}${ip === undefined || ip === host ? '' : ` by ${ip}`}`, request]);
    return replies[Math.min(asked.length, replies.length) - 1] ?? { kind: 'later', reason: 'nobody is there' };
  };
  const code = await clusterCommand(line.split(' ').filter(Boolean), {
    ask,
    askSecurely: (files) => {
      if (files.peerTlsCertFile === 'wrong') throw new DatabaseError('invalid_argument', 'The file wrong is wrong');
      secured.push(files);
      return ask;
    },
    askAsClient: (files) => {
      clients.push(files);
      return ask;
    },
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    environment,
    pause: async (ms) => void (nowMs += ms),
    monotonicMs: () => nowMs,
  });
  return { code, out, err, asked, secured, clients, elapsedMs: nowMs };
}

describe('cairn cluster', () => {
  it('asks by TLS with the files that it is given, of which there are all three', async () => {
    const files = '--peer-tls-cert-file c --peer-tls-key-file k --peer-tls-ca-file a';
    expect((await run('status', DESCRIBED)).secured).toEqual([]);
    const given = { peerTlsCertFile: 'c', peerTlsKeyFile: 'k', peerTlsCaFile: 'a' };
    const asked = await run(`status ${files}`, DESCRIBED);
    expect(asked).toMatchObject({ code: 0, secured: [given], asked: [{ length: 2 }] });
    const wrong = await run(`status ${files.replace('file c', 'file wrong')}`, DESCRIBED);
    expect(wrong).toMatchObject({ code: 1, err: 'cairn cluster: The file wrong is wrong\n' });
    const missing = '--peer-tls-cert-file and --peer-tls-key-file are missing; TLS needs all three files';
    const refused = await run('status --peer-tls-ca-file a', DESCRIBED);
    expect(refused).toMatchObject({ code: 2, asked: [], err: expect.stringContaining(missing) });
  });

  it('status shows nodes and databases, the ones that need attention first', async () => {
    const { code, out, asked } = await run('status', DESCRIBED);
    expect(code).toBe(0);
    expect(asked).toEqual([['127.0.0.1:50052', { order: { kind: 'describe' }, isPassedOn: false }]]);
    expect(out).toBe(`cluster 0199a5c8-3c1e-7a2b-9f00-0123456789ab; node 1 leads its catalog; reported by node 2

NODE  NAME    STATE    ZONE  ANSWERS  CATALOG  COPIES  LEADS  LAG  RELEASE  PEER             GRPC
1     node-1  active   a     yes      voter    1       2      0    0.1.0    127.0.0.1:50051  127.0.0.1:50051
2     node-2  active   a     yes      voter    1       0      3    0.1.0    127.0.0.1:50052  127.0.0.1:50052
3     node-3  leaving  a     no       learner  1       0      -    -        -                -

3 databases, 1 moving, 1 without a known leader

DATABASE  ON              LEADER  LAG  STATE
gone      1 2             -       -    settled
moving    1 2 (leaves 3)  1       0    moving
shop      1 2             1       3    settled
`);
  });

  it('status shows a database with a diverged replica as such, before the others', async () => {
    const standings = ['ready', 'diverged'] as const;
    const members = standings.map((standing, at) => ({ node: toNodeId(at + 1), isVoter: true, standing, lag: 9 * at }));
    const diverged = { node: toNodeId(2), group: toGroupId(0), title: 'catalog', reason: 'the terms differ' };
    const databases = [database('shop', { leader: 1, lag: 3 }), { ...database('split', { leader: 1 }), members }];
    const { out } = await run('status', describedAs({ databases, diverged: [diverged] }));
    expect(out).toContain('2     node-2  active   a     yes      DIVERGED ');
    expect(out).toContain(`
2 databases, 0 moving, 0 without a known leader, 1 with a diverged replica

DATABASE  ON   LEADER  LAG  STATE
split     1 2  1       0    DIVERGED on 2
shop      1 2  1       3    settled
`);
  });

  it('status shows which node contradicts another cluster', async () => {
    const otherClusters = [{ node: toNodeId(1), reason: 'Node 3 of another cluster dials the address of this node' }];
    const { out } = await run('status', describedAs({ otherClusters }));
    expect(out).toMatch(/\n\nOTHER CLUSTER: node 1 says: Node 3 of another cluster dials the address of this node\n$/);
  });

  it('status --json prints all that is known', async () => {
    const { out } = await run('status --json --at [::1]:7', DESCRIBED);
    expect(JSON.parse(out)).toEqual(JSON.parse(JSON.stringify(CLUSTER)));
  });

  it.each([
    ['decommission 3', { kind: 'decommission', node: 3 }],
    ['recommission 3 --at a:1', { kind: 'recommission', node: 3 }],
    ['replace 3', { kind: 'replace', node: 3, by: undefined }],
    ['replace 3 --by 4', { kind: 'replace', node: 3, by: 4 }],
  ])('%s asks for it, and says what becomes of the node', async (line, order) => {
    const { code, out, asked } = await run(line, { kind: 'done', node: nodeOf(3, 'leaving') });
    expect(asked.map(([, request]) => request)).toEqual([{ order, isPassedOn: false }]);
    const says = 'node 3 is leaving: its replicas move to other nodes, then it is removed\n';
    expect({ code, out }).toEqual({ code: 0, out: says });
  });

  it.each([
    ['recover shop --from 3', undefined],
    ['recover shop --from 3 --accept-revision 0', 0],
    ['recover shop --from=3 --accept-revision=812', 812],
  ])('%s asks for it, and says what the name means now', async (line, acceptRevision) => {
    const shop = {
      name: 'shop',
      databaseId: toDatabaseId('0198c0de-0000-7000-8000-000000000001'),
      before: toDatabaseId('0198c0de-0000-7000-8000-000000000002'),
      node: toNodeId(3),
      revision: toRevision(812),
      chainHash: new Uint8Array(32).fill(0xab),
    };
    const { code, out, asked } = await run(line, { kind: 'recovered', database: shop });
    const order = { kind: 'recover', name: 'shop', from: 3, acceptRevision };
    expect(asked.map(([, request]) => request)).toEqual([{ order, isPassedOn: false }]);
    const hash = 'ab'.repeat(32);
    const says = `shop is recovered: its name now means 0198c0de-0000-7000-8000-000000000001, which continues from revision 812 of node 3
its chain hash is ${hash}; the previous instance 0198c0de-0000-7000-8000-000000000002 is discarded
`;
    expect({ code, out }).toEqual({ code: 0, out: says });
    const json = await run(`${line} --json`, { kind: 'recovered', database: shop });
    expect(JSON.parse(json.out)).toEqual({ ...shop, chainHash: hash });
  });

  it.each([
    ['copies shop 5', 5],
    ['copies shop default', 0],
  ])('%s asks for it, and says that replicas move later', async (line, copies) => {
    const { code, out, asked } = await run(line, { kind: 'copies-set' });
    const order = { kind: 'set-copies', name: 'shop', databaseId: undefined, copies };
    expect(asked.map(([, request]) => request)).toEqual([{ order, isPassedOn: false }]);
    expect({ code, out }).toEqual({
      code: 0,
      out: 'the number is stored; replicas move in the background, as status shows\n',
    });
  });

  it('status shows which databases ask for a number of their own', async () => {
    const { out } = await run('status', describedAs({ databases: [database('shop', { leader: 1, copies: 5 })] }));
    expect(out).toContain('shop      1 2  1       -    settled, asks for 5\n');
  });

  it('says why it is refused, with exit code 1', async () => {
    const { code, err } = await run('decommission 3', { kind: 'faulty', code: 'failed_precondition', reason: 'no' });
    expect({ code, err }).toEqual({ code: 1, err: 'cairn cluster: no\n' });
    const away = await run('status');
    const why = expect.stringContaining('no answer from 127.0.0.1:50052 (nobody is there)');
    expect(away).toMatchObject({ code: 1, err: why });
  });

  it('waits until the node is removed, and not for one that is active again', async () => {
    const done: AdminReply = { kind: 'done', node: nodeOf(3, 'leaving') };
    const described = (state: NodeState): AdminReply => describedAs({ nodes: [nodeOf(3, state)] });
    const removed = await run('decommission 3 --wait', done, described('leaving'), LATER, described('removed'));
    expect(removed).toMatchObject({ code: 0, err: 'node 3 still holds 1 databases\n' });
    expect(removed.out).toContain('node 3 is removed; its data directory can be deleted\n');
    const behind = [described('active'), described('active'), described('leaving'), described('active')];
    expect(await run('decommission 3 --wait', done, ...behind, described('removed'))).toMatchObject({ code: 0 });
    const kept = await run('decommission 3 --wait', done, ...Array.from({ length: 5 }, () => described('active')));
    expect(kept).toMatchObject({ code: 1, err: expect.stringContaining('it was recommissioned') });
    const again = await run('decommission 3 --wait', { kind: 'done', node: nodeOf(3, 'removed') });
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining('is removed') });
  });

  it('shows whose clock is off, and which recorded times are ahead of theirs', async () => {
    const ahead = (clockAheadMs: number) => ({ ...nodeOf(2), clockAheadMs });
    const nodes = [{ ...nodeOf(1), isDraining: true, clockAheadMs: -4000 }, ahead(3650 * 86_400_000), ahead(400)];
    const databases = [{ ...database('shop', { leader: 1 }), recordedAheadMs: 7_200_000 }];
    const { out } = await run('status', describedAs({ nodes, databases }));
    for (const state of ['active, drains, clock 4.0 s behind', 'active, clock 3650 days ahead', 'active  ']) {
      expect(out).toContain(`  ${state}  `);
    }
    expect(out).toContain('settled, recorded time 2.0 h ahead');
  });

  it.each([
    ['has ended', { answers: false, isDraining: false }],
    ['has ended, and is back', { answers: true, isDraining: false }],
  ])('waits until a node that drains %s, and asks others when that is the one that it asked', async (words, end) => {
    const done: AdminReply = { kind: 'done', node: nodeOf(2) };
    const described = (state: { readonly answers: boolean; readonly isDraining: boolean }): AdminReply => {
      return describedAs({ nodes: [nodeOf(1), { ...nodeOf(2), ...state }] });
    };
    const drains = described({ answers: true, isDraining: true });
    const before = described({ answers: true, isDraining: false });
    const ran = await run('drain 2 --wait', before, done, drains, LATER, described(end));
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out).toBe(`node 2 transfers its leaderships, then it exits\nnode 2 ${words}\n`);
    expect(ran.asked.map(([place]) => place).slice(-2)).toEqual(['127.0.0.1:50052', '127.0.0.1:50051']);
    const alone = await run('drain 2 --wait', LATER, done, LATER);
    expect(alone).toMatchObject({ code: 1, err: expect.stringContaining('no node answers any more') });
    expect(await run('drain 2 --wait', before, LATER)).toMatchObject({ code: 1 });
  });

  const DRAINED = { ...nodeOf(2), isDraining: true };
  const left = (movableLeads: number): AdminReply => ({ kind: 'done', node: { ...DRAINED, movableLeads } });
  const drainOf = (isDryRun: boolean): AdminRequest => {
    return { order: { kind: 'drain', node: toNodeId(2), isGranted: false, stays: true, isDryRun }, isPassedOn: false };
  };
  const noQuorum: AdminReply = { kind: 'faulty', code: 'failed_precondition', reason: 'no quorum' };
  const WHO: AdminRequest = { order: { kind: 'describe' }, isPassedOn: false };

  it('drain --stay drains the node that is asked, once, and ends when it has no leaderships left', async () => {
    const ran = await run('drain --stay', DESCRIBED, LATER, DESCRIBED, left(2), left(2), LATER, left(1), left(0));
    expect(ran).toMatchObject({ code: 0, out: 'node 2 is drained: it has no leaderships, and is not ready\n' });
    expect(ran.err).toBe('node 2 has 2 leaderships to transfer\nnode 2 has 1 leaderships to transfer\n');
    const looks = Array.from({ length: 4 }, () => drainOf(true));
    const orders = [WHO, drainOf(false), WHO, drainOf(false), ...looks];
    expect(ran.asked.map(([, request]) => request)).toEqual(orders);
    const again = await run('drain 2 --stay --json', left(0));
    expect(JSON.parse(again.out)).toMatchObject({ node: 2, isDraining: true, movableLeads: 0 });
    expect(again.asked).toHaveLength(1);
  });

  it.each<[string, readonly AdminReply[], number, string]>([
    ['something would have no quorum', [noQuorum], 3, 'no quorum'],
    ['there is no such node', [{ kind: 'faulty', code: 'not_found', reason: 'no node 2' }], 1, 'no node 2'],
    ['some are left when its time is over', [left(3)], 4, 'node 2 has 3 leaderships left after 30 s'],
    ['no node answers', [], 1, 'no answer from 127.0.0.1:50052 (nobody is there)'],
    [
      'the node was started again meanwhile',
      [left(3), { kind: 'done', node: nodeOf(2) }],
      1,
      'node 2 does not drain any more: it was restarted, or undrained',
    ],
  ])('drain --stay says so, with an exit code of its own, when %s', async (_name, replies, code, why) => {
    const ran = await run('drain 2 --stay', ...replies);
    expect({ code: ran.code, last: ran.err.split('\n').at(-2) }).toEqual({ code, last: `cairn cluster: ${why}` });
  });

  it('drain --stay ends at once when its own node is not in service, which has nothing to hand over', async () => {
    const refused: AdminReply = { kind: 'later', reason: 'connect ECONNREFUSED 127.0.0.1:50052' };
    const { code, err, asked, elapsedMs } = await run('drain --stay --linger 5', refused);
    expect({ code, asked: asked.length, elapsedMs }).toEqual({ code: 1, asked: 1, elapsedMs: 0 });
    expect(err).toBe(
      'cairn cluster: no node is in service at 127.0.0.1:50052 (connect ECONNREFUSED 127.0.0.1:50052): it is starting, it was removed, or it has another peer address\n',
    );
  });

  it('drain --stay ends when no node has led the catalog for as long as an election may take', async () => {
    const alone = await run('drain 2 --stay --timeout 80 --linger 5', LATER);
    expect(alone).toMatchObject({ code: 1, elapsedMs: 15_000 });
    const elections = Array.from({ length: 50 }, () => LATER);
    const ran = await run('drain 2 --stay --timeout 80', ...elections, left(1), ...elections, left(0));
    expect(ran).toMatchObject({ code: 0, elapsedMs: 25_250 });
  });

  const nodesAre = (...nodes: ClusterDescription['nodes']): AdminReply => describedAs({ nodes });

  it.each<[string, number, readonly AdminReply[]]>([
    ['0', 0, [left(0)]],
    ['5', 5_000, [left(0)]],
    ['5', 5_000, [noQuorum]],
    ['5', 5_000, [noQuorum, nodesAre(nodeOf(2), nodeOf(3))]],
    // No other node takes its clients.
    ['5', 0, [noQuorum, nodesAre(nodeOf(2), nodeOf(3, 'removed'))]],
    ['1', 2_000, [...Array<AdminReply>(8).fill(left(1)), left(0)]],
  ])('drain --stay --linger %s ends after %i ms, when load balancers have noticed', async (linger, ms, replies) => {
    const { elapsedMs } = await run(`drain 2 --stay --linger ${linger}`, ...replies);
    expect(elapsedMs).toBe(ms);
  });

  it('a drain that would leave no quorum has the exit code 3, also without --stay', async () => {
    const refused = await run('drain 2', noQuorum);
    expect(refused).toMatchObject({ code: 3, err: 'cairn cluster: no quorum\n' });
  });

  it('drain --dry-run and undrain say what would be handed over, and that the node is in service', async () => {
    const may = await run('drain 2 --dry-run', { kind: 'done', node: { ...nodeOf(2), movableLeads: 7 } });
    expect(may).toMatchObject({ code: 0, out: 'node 2 may drain; it would transfer 7 leaderships\n' });
    expect(may.asked.map(([, request]) => request)).toEqual([drainOf(true)]);
    const back = await run('undrain', DESCRIBED, { kind: 'done', node: nodeOf(2) });
    expect(back).toMatchObject({ code: 0, out: 'node 2 accepts leaderships and clients\n' });
    const order = { order: { kind: 'undrain', node: 2 }, isPassedOn: false };
    expect(back.asked.map(([, request]) => request)).toEqual([WHO, order]);
    const ends = await run('undrain 2', { kind: 'faulty', code: 'failed_precondition', reason: 'about to end' });
    expect(ends).toMatchObject({ code: 1, err: 'cairn cluster: about to end\n' });
  });

  it('with --address asks as a client, and other nodes at their gRPC addresses', async () => {
    const done: AdminReply = { kind: 'done', node: nodeOf(3, 'leaving') };
    const removed = describedAs({ nodes: [nodeOf(3, 'removed')] });
    const line = 'decommission 3 --wait --address cairn:50051 --key-file k';
    const ran = await runIn({ CAIRN_PEER_SECRET_FILE: '/secret' }, line, done, DESCRIBED, LATER, removed);
    expect(ran.asked.map(([place]) => place)).toEqual([...Array(3).fill('cairn:50051'), '127.0.0.1:50051']);
    expect([ran.code, ran.secured]).toEqual([0, []]);
    const none = { keyFile: undefined, tlsCaFile: undefined, tlsCertFile: undefined, tlsKeyFile: undefined };
    expect(ran.clients).toEqual([{ ...none, keyFile: 'k', isTls: false }]);
    const secured = await run('status --address https://cairn:443', DESCRIBED);
    expect([secured.asked[0]?.[0], secured.clients]).toEqual(['cairn:443', [{ ...none, isTls: true }]]);
    const files = '--tls-ca-file a --tls-cert-file c --tls-key-file p';
    const shown = await run(`status --address cairn:443 ${files}`, DESCRIBED);
    expect(shown.clients).toEqual([{ ...none, tlsCaFile: 'a', tlsCertFile: 'c', tlsKeyFile: 'p', isTls: true }]);
  });

  it('without --at asks the node of the same environment, with its files', async () => {
    const environment = {
      CAIRN_HOST: '0.0.0.0',
      CAIRN_PEER_PORT: '7002',
      CAIRN_ADVERTISE_HOST: 'cairn-0.cairn.shop.svc',
      CAIRN_PEER_SECRET_FILE: '/secret',
    };
    const ran = await runIn(environment, 'status', DESCRIBED);
    expect(ran.asked).toEqual([['cairn-0.cairn.shop.svc:7002 by 127.0.0.1', WHO]]);
    expect(ran.secured).toMatchObject([{ peerSecretFile: '/secret' }]);
    const own = await runIn({ CAIRN_HOST: '10.0.0.7', CAIRN_PEER_PORT: 'tcp://10.0.0.1:1' }, 'status', DESCRIBED);
    expect([own.asked, own.secured]).toEqual([[['10.0.0.7:50052', WHO]], []]);
    const named = await runIn(environment, 'status --at b:1', DESCRIBED);
    expect(named.asked).toEqual([['b:1', WHO]]);
  });

  it.each([
    [
      '',
      'unknown command ""; commands are status, decommission, replace, recommission, drain, undrain, finalize, recover, copies',
    ],
    ['evict 3', 'unknown command "evict"'],
    ['decommission', 'decommission needs a node: "" is not a node number'],
    ['decommission node-3', '"node-3" is not a node number; status shows them'],
    ['drain', 'drain needs a node: "" is not a node number'],
    ['drain 3 --by 4', '--by is only for replace'],
    ['drain --wait', 'drain needs a node: "" is not a node number'],
    ['drain 3 --stay --timeout 1m', '--timeout is "1m"; it must be seconds, 0 to 3600'],
    ['drain 3 --stay --linger x', '--linger is "x"; it must be seconds, 0 to 3600'],
    ['undrain x', 'undrain: "x" is not a node number'],
    ['undrain 3 --stay', '--stay is only for drain'],
    ['status --dry-run', '--dry-run is only for drain'],
    ['decommission 3 4', 'unexpected argument "4"'],
    ['decommission 3 --by 4', '--by is only for replace'],
    ['replace 3 --by x', '--by: "x" is not a node number'],
    ['recover --from 3', 'recover needs the name of a database'],
    ['recover shop', '--from: "" is not a node number'],
    ['recover shop --from 3 --accept-revision 1e3', '--accept-revision is "1e3"; it must be a revision'],
    ['recover shop --from 3 --accept-revision 07', 'it must be a revision, without a leading zero'],
    ['copies', 'copies needs the name of a database'],
    ['copies shop', 'copies is ""; it must be a number from 1 to 7, or default'],
    ['copies shop 0', 'copies is "0"; it must be a number from 1 to 7, or default'],
    ['copies shop 8', 'copies is "8"; it must be'],
    ['copies shop 3 4', 'unexpected argument "4"'],
    ['status --from 3', '--from is only for recover'],
    ['status --accept-revision 3', '--accept-revision is only for recover'],
    ['status 3', 'status applies to the whole cluster'],
    ['finalize 3', 'finalize applies to the whole cluster'],
    ['status --at nowhere', '--at is "nowhere"; it must be host:port'],
    ['status --address http://a:1', '--address is "http://a:1"; it must be host:port or https://host:port'],
    ['status --address a:1 --at b:2', '--at is the peer address and --address the gRPC address: give one of the two'],
    ['status --key-file k', '--key-file is only with --address'],
    ['status --address a:1 --tls-cert-file c', '--tls-cert-file and --tls-key-file must be given together'],
    [
      'status --loud',
      'unknown option "--loud"; options are --accept-revision, --address, --at, --by, --dry-run, --from, --json, --key-file, --linger, --stay, --timeout, --tls-ca-file, --tls-cert-file, --tls-key-file, --wait, --peer-tls-ca-file, --peer-tls-cert-file, --peer-tls-key-file',
    ],
    ['status --jsn', 'unknown option "--jsn"; did you mean --json?'],
    ['status --json=1', '--json takes no value'],
    ['status --at', '--at has no value; write --at VALUE'],
    ['replace 3 --by --wait', '--by has no value; write --by VALUE'],
  ])('%s is a mistake, with exit code 2, and nobody is asked', async (line, fault) => {
    const { code, err, asked } = await run(line);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(err).toContain(fault);
  });
});
