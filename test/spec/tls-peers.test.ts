// Goal: nodes that speak TLS to each other form a cluster, go on without one of them and with other certificates; and
// nobody gets in at the port of peers without a certificate of their authority, or in silence's way.
// Method: real nodes as processes of their own, with certificates of several authorities, and the command of operators.
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { connect as connectPlainly, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { writeHello } from '../../src/transport/peer/lane-words.ts';
import { Authority, type Subject } from '../support/certificates.ts';
import { clusterCommandAt, describedAt } from '../support/cluster-command.ts';
import { type Member, startMember, writeAt } from '../support/cluster-member.ts';
import { eventually } from '../support/eventually.ts';
import { OTHER_CLUSTER, placeOf } from '../support/peer-nodes.ts';
import { testDir } from '../support/test-scope.ts';
import { LOOPBACK_NAMES, TlsFiles } from '../support/tls-files.ts';

const authority = new Authority();
const stranger = new Authority('another authority');
const NAME = 'shop';
const NODES: readonly string[] = ['one', 'two', 'three'];
const PATIENCE = { timeout: 60_000, interval: 100 };
/** A node that is not let in says so soon. */
const SOON = '--join-wait-ms=1000';

/** Files of their own in a directory, with a certificate of an authority. */
function filesIn(dir: string, name: string, by: Authority = authority, subject: Partial<Subject> = {}): TlsFiles {
  const folder = join(dir, `${name}-files`);
  mkdirSync(folder);
  const files = new TlsFiles(folder);
  files.put(by.issue({ cn: name, names: LOOPBACK_NAMES, ...subject }));
  return files;
}

interface Three {
  readonly members: readonly [Member, Member, Member];
  readonly files: readonly TlsFiles[];
  /** For an operator. */
  readonly words: readonly string[];
}

/** Three nodes that vote, with a database that all of them hold. */
async function startThree(dir: string): Promise<Three> {
  const files = NODES.map((name) => filesIn(dir, name));
  const [ofOne = [], ofTwo = [], ofThree = []] = files.map((each) => each.peerSettings(authority));
  const one = await startMember(dir, 'one', undefined, ofOne);
  const { peer } = one.process;
  const rest = await Promise.all([startMember(dir, 'two', peer, ofTwo), startMember(dir, 'three', peer, ofThree)]);
  const words = filesIn(dir, 'operator').peerSettings(authority);
  await one.client.send('createDatabase', { databaseName: NAME });
  await untilHeldByThree(peer, words);
  return { members: [one, ...rest], files, words };
}

async function untilHeldByThree(peer: string, words: readonly string[]): Promise<void> {
  const held = async (): Promise<number> => {
    const [database] = (await describedAt(peer, ...words))?.databases ?? [];
    return database?.members.filter(({ isVoter, standing }) => isVoter && standing === 'ready').length ?? 0;
  };
  await expect.poll(held, PATIENCE).toBe(3);
}

/** What the command says that is refused. */
async function refusalOf(peer: string, ...words: readonly string[]): Promise<string> {
  const failed: unknown = await clusterCommandAt(peer, 'status', ...words).catch((failure: unknown) => failure);
  if (typeof failed !== 'object' || failed === null || !('stderr' in failed)) throw new Error('It was not refused');
  return String(failed.stderr);
}

function portOf({ process }: Member): number {
  return Number(process.peer.split(':').at(-1));
}

const SPEAKS_TLS = /this port speaks TLS.*--peer-tls-cert-file/s;
const NOT_OURS = /is not one of the authority of peers here, or is not valid/;

/** Each starts several processes. */
describe('SPEC-TLS-PEERS', { timeout: 120_000 }, () => {
  it('three nodes form a cluster, and go on when the leader is killed; nobody else gets in', async () => {
    const dir = testDir();
    const { members, words } = await startThree(dir);
    const [one] = members;
    const { peer } = one.process;
    expect(await writeAt(one, NAME, 'a', PATIENCE)).toBe(1);

    const plain = await startMember(dir, 'plain', peer, [SOON]).catch(String);
    expect(plain).toMatch(SPEAKS_TLS);
    const settings = filesIn(dir, 'stranger', stranger).peerSettings(authority);
    expect(await startMember(dir, 'stranger', peer, [SOON, ...settings]).catch(String)).toMatch(NOT_OURS);
    const wary = filesIn(dir, 'wary').peerSettings(stranger);
    expect(await startMember(dir, 'wary', peer, [SOON, ...wary]).catch(String)).toMatch(
      /not one of --peer-tls-ca-file/,
    );
    expect(await refusalOf(peer)).toMatch(SPEAKS_TLS);
    expect(await refusalOf(peer, ...settings)).toMatch(NOT_OURS);
    const old = filesIn(dir, 'old', authority, { days: [-3, -1] }).peerSettings(authority);
    expect(await refusalOf(peer, ...old)).toMatch(/CERT_HAS_EXPIRED/);
    expect((await describedAt(peer, ...words))?.nodes.length).toBe(3);
    const unknown = { stderr: expect.stringContaining('there is no node 9') };
    await expect(clusterCommandAt(peer, 'recommission', '9', ...words)).rejects.toMatchObject(unknown);
    expect(one.process.log()).toMatch(/"act":"recommission-node","principal":"peer-certificate:operator"/);

    const cluster = await describedAt(peer, ...words);
    const leader = cluster?.nodes.find(({ node }) => node === cluster.databases[0]?.leader)?.name ?? '';
    const killed = NODES.indexOf(leader);
    members[killed]?.process.kill('SIGKILL');
    await members[killed]?.process.ended;
    const left = members.filter((_, at) => at !== killed);
    expect(left.length).toBe(2);
    for (const [at, member] of left.entries()) expect(await writeAt(member, NAME, `b${at}`, PATIENCE)).toBe(2 + at);
  });

  it('silent connections leave the way to those who come', async () => {
    const dir = testDir();
    const { members, words } = await startThree(dir);
    const [one] = members;
    const crowd: Socket[] = Array.from({ length: 400 }, () =>
      connectPlainly(portOf(one), '127.0.0.1').on('error', () => undefined),
    );
    const four = await startMember(dir, 'four', one.process.peer, filesIn(dir, 'four').peerSettings(authority));
    expect((await describedAt(one.process.peer, ...words))?.nodes.filter(({ answers }) => answers).length).toBe(4);
    expect(await writeAt(four, NAME, 'a', PATIENCE)).toBe(1);
    for (const socket of crowd) socket.destroy();
  });

  it('nodes with TLS and without are told of each other', async () => {
    const dir = testDir();
    const one = await startMember(dir, 'one');
    const settings = filesIn(dir, 'two').peerSettings(authority);
    const two = await startMember(dir, 'two', one.process.peer, [SOON, ...settings]).catch(String);
    expect(two).toMatch(/that port speaks no TLS.*--peer-tls-cert-file/);
    expect(await refusalOf(one.process.peer, ...settings)).toMatch(/that port speaks no TLS/);
    expect((await describedAt(one.process.peer))?.nodes.length).toBe(1);
  });
});

describe('SPEC-TLS-PEERS-RELOAD', { timeout: 120_000 }, () => {
  it('new connections are judged by new files, and old ones go on', async () => {
    const dir = testDir();
    const { members, files, words } = await startThree(dir);
    const [one] = members;
    const { peer } = one.process;
    const next = new Authority('the next authority');
    // First both are taken, then the new one is shown, then the old one is gone.
    for (const each of files) each.peerSettings(authority, next);
    await eventually(async () => expect(await shownAt(one, next)).toBe('CN=one'), { interval: 200 });
    files.forEach((each, at) => each.put(next.issue({ cn: `next-${at}`, names: LOOPBACK_NAMES })));
    for (const [at, member] of members.entries()) {
      await eventually(async () => expect(await shownAt(member, next)).toBe(`CN=next-${at}`), { interval: 200 });
    }
    expect((await describedAt(peer, ...filesIn(dir, 'both').peerSettings(authority, next)))?.nodes.length).toBe(3);
    for (const each of files) each.peerSettings(next);
    const renewed = filesIn(dir, 'renewed', next).peerSettings(next);
    await eventually(async () => expect(await refusalOf(peer, ...words)).toMatch(/not one of/), { interval: 200 });
    const answering = async (): Promise<number> =>
      (await describedAt(peer, ...renewed))?.nodes.filter(({ answers }) => answers).length ?? 0;
    await expect.poll(answering, PATIENCE).toBe(3);
    expect(await writeAt(one, NAME, 'a', PATIENCE)).toBe(1);
    expect(one.process.log()).not.toContain('peer-lost');
  });
});

describe('SPEC-TLS-PEERS-CHANGE', { timeout: 240_000 }, () => {
  it('a cluster is changed node by node, and takes writes after each', async () => {
    const dir = testDir();
    const settings = NODES.map((name) => filesIn(dir, name).peerSettings(authority));
    const words = filesIn(dir, 'operator').peerSettings(authority);
    const one = await startMember(dir, 'one');
    const others = await Promise.all(['two', 'three'].map((name) => startMember(dir, name, one.process.peer)));
    const members = [one, ...others];
    await one.client.send('createDatabase', { databaseName: NAME });
    await untilHeldByThree(one.process.peer, []);
    let written = 0;
    for (const mode of [['--peer-tls=prefer'], []]) {
      for (const [at, name] of NODES.entries()) {
        members[at]?.process.kill('SIGTERM');
        await members[at]?.process.ended;
        const member = await startMember(dir, name, undefined, [...(settings[at] ?? []), ...mode]);
        members[at] = member;
        written += 1;
        expect(await writeAt(member, NAME, `${name}-${written}`, PATIENCE)).toBe(written);
        await untilHeldByThree(member.process.peer, words);
      }
    }
    expect(await refusalOf(members[0]?.process.peer ?? '')).toMatch(SPEAKS_TLS);
  });
});

const HEADER = { clusterId: OTHER_CLUSTER, from: placeOf(1), to: placeOf(2) };

/** The subject of the certificate at the peer port, for whoever shows one of that authority. */
async function shownAt(member: Member, by: Authority): Promise<string> {
  const shown = by.issue({ cn: 'a test', names: LOOPBACK_NAMES });
  const socket = connect({ host: '127.0.0.1', port: portOf(member), ...shown, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const { subject = '' } = socket.getPeerX509Certificate() ?? {};
  // Whoever is let in is told that this is another cluster.
  socket.write(writeHello({ header: HEADER, lane: 'beats', address: undefined }));
  const [answer] = await once(socket, 'data');
  socket.destroy();
  return /this node is of/.test(String(answer)) ? subject : String(answer);
}
