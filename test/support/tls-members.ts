/**
 * Cluster nodes in separate processes that use TLS between each other, and the admin command with their certificates.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { Authority, type Subject } from './certificates.ts';
import { clusterCommandAt, describedAt } from './cluster-command.ts';
import { type Member, startMember } from './cluster-member.ts';
import { LOOPBACK_NAMES, TlsFiles } from './tls-files.ts';

export const authority: Authority = new Authority();
export const NAME = 'shop';
export const NODES: readonly string[] = ['one', 'two', 'three'];
export const PATIENCE = { timeout: 60_000, interval: 100 };

/** Creates TLS files in a new directory, with a certificate of an authority. */
export function filesIn(dir: string, name: string, by: Authority = authority, more: Partial<Subject> = {}): TlsFiles {
  const folder = join(dir, `${name}-files`);
  mkdirSync(folder);
  const files = new TlsFiles(folder);
  files.put(by.issue({ cn: name, names: LOOPBACK_NAMES, ...more }));
  return files;
}

interface Three {
  readonly members: readonly [Member, Member, Member];
  readonly files: readonly TlsFiles[];
  /** Arguments of the admin command. */
  readonly words: readonly string[];
}

/** Three nodes that vote, with a database that has a replica on each. */
export async function startThree(dir: string): Promise<Three> {
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

export async function untilHeldByThree(peer: string, words: readonly string[]): Promise<void> {
  const held = async (): Promise<number> => {
    const [database] = (await describedAt(peer, ...words))?.databases ?? [];
    return database?.members.filter(({ isVoter, standing }) => isVoter && standing === 'ready').length ?? 0;
  };
  await expect.poll(held, PATIENCE).toBe(3);
}

/** Error output of a refused command. */
export async function refusalOf(peer: string, ...words: readonly string[]): Promise<string> {
  const failed: unknown = await clusterCommandAt(peer, 'status', ...words).catch((failure: unknown) => failure);
  if (typeof failed !== 'object' || failed === null || !('stderr' in failed)) throw new Error('It was not refused');
  return String(failed.stderr);
}

export function portOf({ process }: Member): number {
  return Number(process.peer.split(':').at(-1));
}

export const SPEAKS_TLS: RegExp = /this port speaks TLS.*--peer-tls-cert-file/s;
