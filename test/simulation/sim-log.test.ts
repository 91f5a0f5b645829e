/**
 * The simulated log does what the thread of the log does: a batch is what has arrived when the disk is free, and each
 * has a completion of its own, once it is on disk.
 */
import { describe, expect, it } from 'vitest';
import { toGroupId, toTerm } from '#base';
import { RecordWriter } from '#storage';
import { SimDisk } from './disk/sim-disk.ts';
import { Isolate } from './engine/isolate.ts';
import { Rng } from './engine/random.ts';
import { Simulator } from './engine/simulator.ts';
import { SimLog } from './node/sim-log.ts';

const IDENTITY = { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) };

class Stage {
  readonly simulator = new Simulator(1);
  readonly disk = new SimDisk(new Rng(1, 'disk'));
  readonly completions: number[] = [];
  readonly failures: string[] = [];
  readonly log: SimLog;
  #term = 0;

  constructor() {
    const isolate = (name: string): Isolate => new Isolate(this.simulator, name, new Rng(1, name), () => undefined);
    const [thread, user] = [isolate('log'), isolate('core')];
    this.disk.attach({ onCut: () => undefined, sleep: (delayUs) => thread.sleep(delayUs, 'disk') });
    const parts = { directory: 'log', identity: IDENTITY, segmentBytes: 32_768, disk: this.disk, thread, user };
    this.log = SimLog.open({ ...parts, latencyUs: () => 1 }).log;
    this.log.onPersisted((through) => this.completions.push(through));
    this.log.onFatal(({ message }) => this.failures.push(message));
  }

  append(): void {
    this.#term += 1;
    const writer = new RecordWriter();
    writer.hardState(toGroupId(1), { term: toTerm(this.#term), vote: 0 });
    this.log.append(writer.take());
  }

  async pass(us: number): Promise<void> {
    await this.simulator.runUntil(() => false, this.simulator.nowUs + us);
  }
}

describe('SimLog', () => {
  it('takes a batch when the disk is free, and completes what came meanwhile by the next one', async () => {
    const stage = new Stage();
    stage.disk.slowness = 1000;
    stage.append();
    await stage.pass(10);
    stage.append();
    stage.append();
    await stage.simulator.runUntil(() => stage.completions.length > 0, 60_000_000);
    expect(stage.completions).toEqual([1]);
    await stage.pass(60_000_000);
    expect(stage.completions).toEqual([1, 3]);
  });

  it('completes nothing that failed, and nothing behind it', async () => {
    const stage = new Stage();
    stage.disk.arm({ mishap: 'error', kinds: ['sync'], after: 0 });
    stage.append();
    await stage.pass(10);
    stage.append();
    await stage.pass(60_000_000);
    expect(stage.completions).toEqual([]);
    expect(stage.failures).toHaveLength(1);
  });

  it('closes when all is written', async () => {
    const stage = new Stage();
    stage.disk.slowness = 1000;
    stage.append();
    stage.append();
    const order: string[] = [];
    void stage.log.close().then(() => order.push(`closed after ${stage.completions.at(-1)}`));
    await stage.pass(60_000_000);
    expect(order).toEqual(['closed after 2']);
  });
});
