// Goal: with peer TLS only peers of the authority can exchange messages (TP11), and others receive a reason. Method:
// nodes with certificates of two authorities.
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { askAdmin, askForCluster, PeerTls, refusalAt } from '#transport/peer';
import { writeHello } from '../../../../src/transport/peer/lane-words.ts';
import { hasOtherSecret } from '../../../../src/transport/peer/peer-tls.ts';
import { Authority, type Subject } from '../../../support/certificates.ts';
import { until } from '../../../support/eventually.ts';
import { CLUSTER, LinkedNode, type NodeOptions, placeOf, QUICK } from '../../../support/peer-nodes.ts';

const authority = new Authority();
const stranger = new Authority('another authority');

interface Shown extends Partial<Subject> {
  readonly by?: Authority;
  readonly takes?: Authority;
  readonly mode?: 'require' | 'prefer';
}

function tlsOf({ by = authority, takes = authority, mode, ...subject }: Shown = {}): PeerTls {
  return new PeerTls(materialOf(by, takes, subject), mode);
}

function materialOf(by: Authority, takes: Authority, subject: Partial<Subject> = {}): PeerTls['material'] {
  return { ...by.issue({ cn: 'a peer', names: ['IP:127.0.0.1'], ...subject }), ca: takes.cert };
}

function secured(number: number, shown: Shown = {}, options: NodeOptions = {}): Promise<LinkedNode> {
  return LinkedNode.open(placeOf(number), { ...options, tls: tlsOf(shown) });
}

const DESCRIBE = { order: { kind: 'describe' }, isPassedOn: false } as const;
const SPEAKS_NONE = /that port speaks no TLS/;

function reasonOf(reply: object): string {
  return 'reason' in reply ? String(reply.reason) : JSON.stringify(reply);
}

describe('TP11', () => {
  it.each([
    ['of another authority', { by: stranger }, /not one of the authority of peers here, .*UNABLE_TO_VERIFY/],
    ['of another authority without a subject', { by: stranger, cn: [] }, /the certificate of "" is not one of/],
    ['that has expired', { days: [-3, -1] }, /not one of the authority of peers here, .*CERT_HAS_EXPIRED/],
    ['that is not valid yet', { days: [1, 2] }, /CERT_NOT_YET_VALID/],
  ] as const)(
    'a node with a certificate %s receives the reason, for each kind of request',
    async (_which, shown, words) => {
      await using one = await secured(1);
      await using two = await secured(2, shown);
      two.links.setPeers([one.peer, two.peer]);
      await until(() => two.observed.notes.length > 0);
      expect(two.observed.notes[0]).toMatchObject({ event: 'peer-refuses', reason: expect.stringMatching(words) });
      expect(one.observed.notes[0]).toMatchObject({ event: 'peer-refused', reason: expect.stringMatching(words) });
      const tls = tlsOf(shown);
      expect(reasonOf(await askAdmin(one.peer, DESCRIBE, 5_000, tls))).toMatch(words);
      expect(await askForCluster(one.peer, 5_000, tls)).toBeUndefined();
      expect([two.reachable, one.arrived]).toEqual([[], []]);
      expect(new Set(one.observed.drops)).toEqual(new Set(['handshake']));
    },
  );

  it('nodes with different peer secrets name the setting, at both ends, until they have the same secret', async () => {
    const tlsOfOne = new PeerTls({ secret: Buffer.alloc(32, 1) });
    await using one = await LinkedNode.open(placeOf(1), { tls: tlsOfOne });
    await using two = await LinkedNode.open(placeOf(2), { tls: new PeerTls({ secret: Buffer.alloc(32, 2) }) });
    two.links.setPeers([one.peer, two.peer]);
    await until(() => two.observed.notes.length > 0 && one.observed.notes.length > 0);
    const reason = expect.stringContaining('that node has another --peer-secret-file');
    expect(two.observed.notes[0]).toMatchObject({ event: 'peer-refuses', reason });
    expect(one.observed.notes[0]).toMatchObject({ event: 'peer-refused', reason });
    tlsOfOne.use({ secret: Buffer.alloc(32, 2) });
    await until(() => two.reachable.length > 0);
    expect(two.observed.refusedBy).toContain(one.place.node);
  });

  it.each([
    new Error('write EPROTO C0F6:error:0A0003FC:SSL routines:ssl3_read_bytes:ssl/tls alert bad record mac'),
    new Error('0A000119:SSL routines:ssl3_get_record:decryption failed or bad record mac'),
    Object.assign(new Error('unknown'), { code: 'ERR_SSL_SSL/TLS_ALERT_BAD_RECORD_MAC' }),
  ])('detects different secrets in %s', (failure) => {
    expect(hasOtherSecret(failure)).toBe(true);
    expect(hasOtherSecret(new Error('connect ECONNREFUSED'))).toBe(false);
  });

  it('a client without a certificate receives the reason, and nothing from it is read', async () => {
    await using one = await secured(1);
    const header = { clusterId: CLUSTER, from: placeOf(2), to: placeOf(1) };
    const socket = connectSecurely({ host: '127.0.0.1', port: one.links.port, ca: authority.cert });
    socket.write(writeHello({ header, lane: 'beats', run: 1, address: undefined }));
    const [said] = await once(socket, 'data');
    expect(String(said)).toContain('no certificate was shown');
    await once(socket, 'close');
    expect(one.observed.drops).toEqual(['handshake']);
  });

  it('a client accepts only certificates of the authority, for the host that it dials', async () => {
    await using other = await secured(1, { by: stranger, takes: authority });
    await using elsewhere = await secured(3, { names: ['DNS:elsewhere.example'] });
    await using two = await secured(2);
    two.links.setPeers([two.peer, other.peer, elsewhere.peer]);
    await until(() => two.observed.notes.length === 2);
    const reasons = two.observed.notes.map(({ reason }) => reason).join('\n');
    expect(reasons).toMatch(
      /its certificate is not one of --peer-tls-ca-file, or is not valid: .*self-signed|unable to verify/,
    );
    expect(reasons).toMatch(/its certificate is not for 127\.0\.0\.1, by which it was dialled/);
    expect(reasonOf(await askAdmin(elsewhere.peer, DESCRIBE, 5_000, tlsOf()))).toMatch(/is not for 127\.0\.0\.1/);
    expect(two.reachable).toEqual([]);
  });

  it('a node with TLS at a plain port receives the reason, and so do other clients', async () => {
    await using one = await LinkedNode.open(placeOf(1));
    await using two = await secured(2);
    two.links.setPeers([one.peer, two.peer]);
    await until(() => two.observed.notes.length > 0);
    expect(two.observed.notes[0]).toMatchObject({ event: 'peer-refuses', reason: expect.stringMatching(SPEAKS_NONE) });
    expect(one.observed.notes[0]?.reason).toMatch(/it speaks TLS, and this node was started without/);
    expect(reasonOf(await askAdmin(one.peer, DESCRIBE, 5_000, tlsOf()))).toMatch(SPEAKS_NONE);
    expect(await refusalAt(one.peer, tlsOf())).toMatch(SPEAKS_NONE);
    expect(await refusalAt(one.peer)).toBeUndefined();
  });
});

it('with preferred TLS, nodes with and without it, and nodes that require it, reach each other', async () => {
  await using plain = await LinkedNode.open(placeOf(1));
  await using between = await secured(2, { mode: 'prefer' });
  await using strict = await secured(3);
  const peers = [plain.peer, between.peer, strict.peer];
  for (const node of [plain, between, strict]) node.links.setPeers(peers);
  await until(() => between.reachable.toSorted((a, b) => a - b).join() === '1,3');
  await until(() => plain.reachable.includes(between.place.node) && strict.reachable.includes(between.place.node));
  expect([plain.reachable, strict.reachable]).toEqual([[2], [2]]);
  for (const tls of [undefined, tlsOf(), tlsOf({ mode: 'prefer' })]) {
    expect(await askForCluster(between.peer, 5_000, tls)).toBe(CLUSTER);
  }
  expect(await askForCluster(plain.peer, 5_000, tlsOf({ mode: 'prefer' }))).toBe(CLUSTER);
  expect(await askForCluster(strict.peer, 5_000, tlsOf({ mode: 'prefer' }))).toBe(CLUSTER);
});

it('silent connections are closed after the time of a handshake', async () => {
  await using one = await secured(1, {}, { limits: { ...QUICK, handshakeMs: 20 } });
  const silent = connect(one.links.port, '127.0.0.1').resume();
  await once(silent, 'close');
  // A handshake that has begun counts as well.
  const slow = connect(one.links.port, '127.0.0.1').resume();
  slow.on('error', () => undefined).write(Uint8Array.of(0x16, 3, 1, 2, 0, 1));
  await once(slow, 'close');
  await until(() => one.observed.drops.length === 2);
  expect(one.observed.notes[0]?.reason).toMatch(/it was not through its handshake in 20 ms/);
});

it('the number of handshakes per second is limited', async () => {
  await using one = await secured(1, {}, { limits: { ...QUICK, handshakesPerSecondMax: 3 } });
  const answers = await Promise.all(Array.from({ length: 8 }, () => askForCluster(one.peer, 5_000, tlsOf())));
  expect(answers.filter((cluster) => cluster === CLUSTER).length).toBeGreaterThan(0);
  expect(answers).toContain(undefined);
  expect(one.observed.drops).toContain('crowded');
});
