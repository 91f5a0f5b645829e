// A cluster of three processes that archives in a bucket of S3 whose calls fail (s3-server.ts), and its faults.
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { endOf, openArchive } from '#archive';
import { archiveAt } from '../../../src/main/archive/archive-place.ts';
import { describedAt, holdersAt } from '../cluster-command.ts';
import { factsAt, type Member, writeAt } from '../cluster-member.ts';
import { TestClient } from '../grpc-client.ts';
import { event, transaction } from '../grpc-requests.ts';
import { startOwnNode } from '../own-node.ts';

export const BUCKET = 'archives';
export const ARCHIVE: string = `s3://${BUCKET}/cluster`;
export const SHOP = 'shop';
export const POLL: { readonly timeout: number; readonly interval: number } = { timeout: 240_000, interval: 250 };

/** Three nodes, and what was written and archived. */
export class ArchivedCluster {
  readonly members: Map<number, Member> = new Map();
  readonly ids: string[] = [];
  /** Names of the nodes that wrote the newest manifest. */
  readonly writers: Set<string> = new Set();
  databaseId = '';
  readonly #dir: string;
  readonly #failingUrl: string;

  constructor(dir: string, failingUrl: string) {
    this.#dir = dir;
    this.#failingUrl = failingUrl;
  }

  get any(): Member {
    const [first] = this.members.values();
    if (first === undefined) throw new Error('a node is left');
    return first;
  }

  /** Nodes of the cluster archive; a restored one does not. */
  async start(name: string, seed?: string, archive: readonly string[] = []): Promise<Member> {
    const place = [`--node-name=${name}`, ...(seed === undefined ? [] : [`--join=${seed}`])];
    const under = ['env', `AWS_ENDPOINT_URL_S3=${this.#failingUrl}`];
    const process = await startOwnNode(join(this.#dir, name), ['--peer-port=0', ...place, ...archive], { under });
    const client = new TestClient(process.grpc);
    onTestFinished(() => client[Symbol.asyncDispose]());
    return { process, client };
  }

  async add(number: number, seed?: string): Promise<void> {
    this.members.set(number, await this.start(`node-${number}`, seed, [`--archive=${ARCHIVE}`]));
  }

  async begin(): Promise<void> {
    await this.add(1);
    await this.any.client.send('createDatabase', { databaseName: SHOP });
    for (const number of [2, 3]) await this.add(number, this.any.process.peer);
    await this.#untilWhole();
    await this.write(1);
    this.databaseId = (await factsAt(this.any, SHOP, 1))?.databaseId ?? '';
  }

  async write(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const id = `e${this.ids.length}`;
      await writeAt(this.any, SHOP, id, POLL);
      this.ids.push(id);
    }
  }

  /** Writes all the time; ends when the signal comes. */
  async writeUntil(signal: AbortSignal): Promise<void> {
    const { client } = this.any;
    while (!signal.aborted) {
      const id = `e${this.ids.length}`;
      const request = transaction(SHOP, [event({ id })], { transactionId: crypto.randomUUID() });
      const write = (): Promise<unknown> => client.call('transact', request).catch(() => undefined);
      let reply: unknown;
      while (reply === undefined && !signal.aborted) reply = await write();
      if (reply !== undefined) this.ids.push(id);
    }
  }

  async untilArchived(): Promise<void> {
    await untilIs(() => this.#archived(), this.ids.length);
  }

  /** Stops the leader by a signal, writes, and continues with the leader. */
  async without(signal: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
    await this.write(1);
    const leader = await untilLed(this.any.process.peer);
    const stopped = this.members.get(leader);
    this.members.delete(leader);
    stopped?.process.kill(signal);
    await this.write(5);
    await this.untilArchived();
    if (signal === 'SIGKILL' || stopped === undefined) {
      await stopped?.process.ended;
      await this.add(leader);
    } else {
      stopped.process.kill('SIGCONT');
      this.members.set(leader, stopped);
    }
    await this.#untilWhole();
    await this.write(1);
    await this.untilArchived();
  }

  async #untilWhole(): Promise<void> {
    await untilIs(() => holdersAt(this.any.process.peer), '1,2,3');
  }

  /** The last archived revision. */
  async #archived(): Promise<number> {
    const { newest } = await openArchive(await archiveAt(ARCHIVE), this.databaseId);
    if (newest === undefined) return 0;
    this.writers.add(newest.manifest.writer);
    return endOf(newest.manifest).revision;
  }
}

async function untilIs<Value>(read: () => Promise<Value>, value: Value): Promise<void> {
  await expect.poll(read, POLL).toBe(value);
}

/** Number of the node that leads the database. */
async function untilLed(peer: string): Promise<number> {
  let leader: number | undefined;
  const read = async (): Promise<number | undefined> => (leader = (await describedAt(peer))?.databases[0]?.leader);
  await expect.poll(read, POLL).toBeDefined();
  return leader ?? 0;
}

/** When the last round began that archived everything, in milliseconds since 1970. */
export async function successMs({ members }: ArchivedCluster): Promise<number> {
  const texts = await Promise.all(
    [...members.values()].map(async ({ process }) => (await fetch(process.metrics)).text()),
  );
  const found = texts.map((text) => /^cairn_archive_last_success_\w+{database="shop"} (\S+)$/m.exec(text)?.[1] ?? 0);
  return 1_000 * Math.max(...found.map(Number));
}
