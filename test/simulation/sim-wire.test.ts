/** Simulated sockets: what arrives, what is held back, and how the two sides find out that it is over. */
import { describe, expect, it } from 'vitest';
import { concatBytes } from '#base';
import { Isolate } from './engine/isolate.ts';
import { Simulator } from './engine/simulator.ts';
import { CALM_PEERS, PeerExchange, type Station } from './peers/exchange.ts';
import { NO_HARM } from './peers/lane-harm.ts';
import { type SimWire, SimWorld } from './peers/sim-wire.ts';

const SECOND_US = 1_000_000;
const BUFFERED_BYTES = 128 * 1024;

/** A process at each of two hosts; the second one listens. */
class Stage {
  readonly simulator = new Simulator(1);
  readonly exchange = new PeerExchange(this.simulator);
  readonly south: SimWorld = this.#world('south');
  readonly north: SimWorld = this.#world('north');
  readonly listening = { host: 'south', lost: () => undefined } as unknown as Station;
  readonly accepted: SimWire[] = [];
  readonly heard: Uint8Array[] = [];
  /** What the two sides of the connection are told of its end. */
  readonly ends: string[] = [];
  believedCount = 0;

  constructor() {
    this.listen(this.south);
  }

  listen(world: SimWorld): void {
    const accept = (): SimWire => {
      const wire = world.open();
      this.accepted.push(wire);
      this.#watch('south', wire);
      wire.on('data', (chunk) => this.heard.push(chunk));
      return wire;
    };
    this.exchange.enter(Object.assign(this.listening, { accept }));
  }

  dial(): SimWire {
    const wire = this.north.connect({ host: 'south', port: 1 });
    this.#watch('north', wire);
    return wire;
  }

  async pass(us = SECOND_US): Promise<void> {
    await this.simulator.runUntil(() => false, this.simulator.nowUs + us);
  }

  get text(): string {
    return Buffer.from(concatBytes(this.heard)).toString();
  }

  #watch(name: string, wire: SimWire): void {
    wire.on('error', ({ message }) => this.ends.push(`${name}: ${message}`));
    wire.on('close', () => this.ends.push(`${name} is closed`));
  }

  #world(host: string): SimWorld {
    const { simulator, exchange } = this;
    const thread = new Isolate(simulator, host, simulator.random(host), () => undefined);
    const onBelieved = (): void => {
      this.believedCount += 1;
    };
    return new SimWorld({ simulator, exchange, thread, host, onBelieved });
  }
}

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** A connection by which something has come. */
async function connected(): Promise<{ readonly stage: Stage; readonly wire: SimWire }> {
  const stage = new Stage();
  const wire = stage.dial();
  wire.write(bytesOf('hello '));
  await stage.pass();
  return { stage, wire };
}

describe('a simulated socket', () => {
  it('brings everything once and in order, in pieces, also what was lost and was written before it was connected', async () => {
    const { stage, wire } = await connected();
    stage.exchange.conditions = { ...CALM_PEERS, lossShare: 0.3 };
    const words = Array.from({ length: 500 }, (_, at) => `word ${at} `.repeat(50));
    for (const word of words) {
      wire.write(bytesOf(word));
      await stage.pass(1000);
    }
    await stage.pass(60 * SECOND_US);
    expect(stage.text).toBe(`hello ${words.join('')}`);
    expect(new Set(stage.heard.map(({ length }) => length)).size).toBeGreaterThan(20);
  });

  it('holds back what nobody reads, and is rid of it when somebody does', async () => {
    const { stage, wire } = await connected();
    stage.accepted[0]?.pause();
    let taken = 0;
    const piece = new Uint8Array(16 * 1024);
    for (let count = 0; count < 20; count += 1) {
      wire.write(piece, () => {
        taken += 1;
      });
    }
    await stage.pass(10 * SECOND_US);
    expect(taken).toBe(BUFFERED_BYTES / piece.length);
    stage.accepted[0]?.resume();
    await stage.pass();
    expect(taken).toBe(20);
    expect(concatBytes(stage.heard)).toHaveLength(6 + 20 * piece.length);
  });

  it('waits while a way is closed, and goes on when it is open again', async () => {
    const { stage, wire } = await connected();
    stage.exchange.close('north', 'south');
    wire.write(bytesOf('again'));
    await stage.pass(5 * SECOND_US);
    expect(stage.text).toBe('hello ');
    stage.exchange.open();
    await stage.pass(5 * SECOND_US);
    expect([stage.text, stage.ends]).toEqual(['hello again', []]);
  });

  it('ends when everything was read, or at once with what was not taken yet', async () => {
    const { stage, wire } = await connected();
    wire.write(bytesOf('bye'));
    wire.end();
    await stage.pass();
    expect([stage.text, stage.ends.toSorted()]).toEqual(['hello bye', ['north is closed', 'south is closed']]);
    const next = await connected();
    const told: unknown[] = [];
    next.stage.accepted[0]?.pause();
    for (let count = 0; count < 3; count += 1) {
      next.wire.write(new Uint8Array(BUFFERED_BYTES), (failure) => told.push(failure?.message));
    }
    next.wire.destroy(new Error('given up'));
    await next.stage.pass();
    expect([told, next.stage.ends]).toEqual([
      ['given up', 'given up', 'given up'],
      ['north: given up', 'north is closed'],
    ]);
  });

  it('tells of a process that has ended, and of a machine without power only when it is there again', async () => {
    const { stage } = await connected();
    stage.south.end(false);
    await stage.pass();
    expect(stage.ends).toEqual(['north is closed']);
    const next = await connected();
    next.stage.exchange.leave(next.stage.listening, true);
    next.stage.south.end(true);
    next.wire.write(bytesOf('lost'));
    await next.stage.pass(5 * SECOND_US);
    // Nobody is there to whom it could be sent again.
    expect(next.stage.ends).toEqual([]);
    next.stage.listen(next.stage.south);
    await next.stage.pass(10 * SECOND_US);
    expect(next.stage.ends).toEqual(['north: read ECONNRESET', 'north is closed']);
  });

  it('is broken in the middle of what was written by a network that breaks connections', async () => {
    const { stage, wire } = await connected();
    stage.exchange.conditions = { ...CALM_PEERS, duplicateShare: 1 };
    for (let count = 0; count < 1000 && !wire.destroyed; count += 1) {
      wire.write(bytesOf('x'.repeat(1000)));
      await stage.pass(1000);
    }
    await stage.pass();
    expect(stage.ends.filter((end) => end.endsWith('ECONNRESET'))).toHaveLength(2);
  });

  it('turns a bit here and there, and no more than that', async () => {
    const { stage, wire } = await connected();
    stage.exchange.conditions = { ...CALM_PEERS, flipShare: 1 };
    wire.write(bytesOf('abc'));
    await stage.pass();
    const said = [...concatBytes(stage.heard)].slice(6);
    const turned = said.map((byte, at) => byte ^ ('abc'.codePointAt(at) ?? 0)).filter((bits) => bits !== 0);
    expect(said).toHaveLength(3);
    expect(turned.every((bits) => (bits & (bits - 1)) === 0)).toBe(true);
    expect(turned.length).toBeGreaterThan(0);
  });
});

/** How many bits differ, of each part. */
const turnedIn = (heard: string, said: string): number =>
  [...bytesOf(said)].reduce((sum, byte, at) => sum + bitsOf(byte ^ (bytesOf(heard)[at] ?? 0)), 0);

const bitsOf = (byte: number): number => byte.toString(2).replaceAll('0', '').length;

describe('harm to a simulated socket', () => {
  const long = 'a word that is too long for a head';

  it('turns one bit of what is said first, and tells when who has dialled goes on all the same', async () => {
    const stage = new Stage();
    stage.exchange.harm = { ...NO_HARM, firstShare: 1 };
    const wire = stage.dial();
    wire.write(bytesOf('hello '));
    await stage.pass();
    expect([turnedIn(stage.text, 'hello '), stage.believedCount]).toEqual([1, 0]);
    wire.write(bytesOf(long));
    await stage.pass();
    expect([stage.text.slice(6), stage.believedCount]).toEqual([long, 1]);
  });

  it('has nothing against somebody who is told that nobody understands', async () => {
    const stage = new Stage();
    stage.exchange.harm = { ...NO_HARM, firstShare: 1 };
    const wire = stage.dial();
    wire.write(bytesOf('hello '));
    await stage.pass();
    stage.accepted[0]?.write(bytesOf('no'));
    stage.accepted[0]?.write(bytesOf(', thanks'));
    wire.destroy();
    await stage.pass();
    expect(stage.believedCount).toBe(0);
  });

  it('turns one bit of what is said in few bytes, and none of what is long', async () => {
    const { stage, wire } = await connected();
    stage.exchange.harm = { ...NO_HARM, fewShare: 1 };
    wire.write(bytesOf(long));
    wire.write(bytesOf('16 bytes of head'));
    await stage.pass();
    const said = stage.text.slice(6);
    expect([said.slice(0, long.length), turnedIn(said.slice(long.length), '16 bytes of head')]).toEqual([long, 1]);
  });

  it('lets nothing through from one moment on, in either direction, and tells nobody', async () => {
    const { stage, wire } = await connected();
    const back: Uint8Array[] = [];
    wire.on('data', (chunk) => back.push(chunk));
    stage.exchange.harm = { ...NO_HARM, holeShare: 1 };
    wire.write(bytesOf(long));
    await stage.pass();
    stage.exchange.harm = NO_HARM;
    wire.write(bytesOf(long));
    stage.accepted[0]?.write(bytesOf(long));
    await stage.pass(60 * SECOND_US);
    expect([stage.text, back, stage.ends]).toEqual(['hello ', [], []]);
  });

  it('resets a connection behind what arrives', async () => {
    const { stage, wire } = await connected();
    stage.exchange.harm = { ...NO_HARM, resetShare: 1 };
    wire.write(bytesOf(long));
    await stage.pass();
    expect(stage.ends.filter((end) => end.endsWith('ECONNRESET'))).toHaveLength(2);
  });
});
