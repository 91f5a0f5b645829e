// A cluster changes peer certificates and TLS settings node by node.
import { once } from 'node:events';
import { connect as connectPlainly, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { expect, it } from 'vitest';
import { writeHello } from '../../src/transport/peer/lane-words.ts';
import { Authority } from '../support/certificates.ts';
import { describedAt } from '../support/cluster-command.ts';
import { type Member, startMember, writeAt } from '../support/cluster-member.ts';
import { eventually } from '../support/eventually.ts';
import { OTHER_CLUSTER, placeOf } from '../support/peer-nodes.ts';
import { testDir } from '../support/test-scope.ts';
import { LOOPBACK_NAMES } from '../support/tls-files.ts';
import {
  authority,
  filesIn,
  NAME,
  NODES,
  PATIENCE,
  portOf,
  refusalOf,
  SPEAKS_TLS,
  startThree,
  untilHeldByThree,
} from '../support/tls-members.ts';

it('SPEC-TLS-PEERS silent connections do not block new ones', { timeout: 120_000 }, async () => {
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

it('SPEC-TLS-PEERS-RELOAD new connections use the new files, and old ones continue', {
  timeout: 120_000,
}, async () => {
  const dir = testDir();
  const { members, files, words } = await startThree(dir);
  const [one] = members;
  const { peer } = one.process;
  const next = new Authority('the next authority');
  // First the nodes trust both authorities, then they show certificates of the new one, then they no longer trust the
  // old one.
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

it('SPEC-TLS-PEERS-CHANGE a cluster is changed node by node, and takes writes after each', {
  timeout: 240_000,
}, async () => {
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

const HEADER = { clusterId: OTHER_CLUSTER, from: placeOf(1), to: placeOf(2) };

async function shownAt(member: Member, by: Authority): Promise<string> {
  const shown = by.issue({ cn: 'a test', names: LOOPBACK_NAMES });
  const socket = connect({ host: '127.0.0.1', port: portOf(member), ...shown, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const { subject = '' } = socket.getPeerX509Certificate() ?? {};
  socket.write(writeHello({ header: HEADER, lane: 'beats', run: 1, address: undefined }));
  const [answer] = await once(socket, 'data');
  socket.destroy();
  return /the receiver, node \d+, to the cluster/.test(String(answer)) ? subject : String(answer);
}
