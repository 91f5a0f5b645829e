// Three nodes with peer TLS form a cluster, and refuse every other certificate. Unit tests cover the parts.
import { describe, expect, it } from 'vitest';
import { Authority } from '../support/certificates.ts';
import { clusterCommandAt, describedAt } from '../support/cluster-command.ts';
import { startMember, writeAt } from '../support/cluster-member.ts';
import { testDir } from '../support/test-scope.ts';
import {
  authority,
  filesIn,
  NAME,
  NODES,
  PATIENCE,
  refusalOf,
  SPEAKS_TLS,
  startThree,
} from '../support/tls-members.ts';

const stranger = new Authority('another authority');
const SOON = '--join-wait-ms=1000';
const NOT_OURS = /is not one of the authority of peers here, or is not valid/;

describe('SPEC-TLS-PEERS', { timeout: 120_000 }, () => {
  it('three nodes form a cluster, and continue when the leader is killed; other nodes are refused', async () => {
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
    const seen = await startMember(dir, 'wary', peer, [SOON, ...wary]).catch(String);
    expect(seen).toMatch(/not one of --peer-tls-ca-file/);
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

  it('nodes with TLS and without it refuse each other with a message that names the setting', async () => {
    const dir = testDir();
    const one = await startMember(dir, 'one');
    const settings = filesIn(dir, 'two').peerSettings(authority);
    const two = await startMember(dir, 'two', one.process.peer, [SOON, ...settings]).catch(String);
    expect(two).toMatch(/that port speaks no TLS.*--peer-tls-cert-file/);
    expect(await refusalOf(one.process.peer, ...settings)).toMatch(/that port speaks no TLS/);
    expect((await describedAt(one.process.peer))?.nodes.length).toBe(1);
  });
});
