/** Connections for requests that are passed on: what arrives, and how long it takes to find out that nothing will. */
import { describe, expect, it } from 'vitest';
import { Isolate } from './engine/isolate.ts';
import { Simulator } from './engine/simulator.ts';
import { PeerExchange } from './peers/exchange.ts';
import { type RelayEnd, RelayLines, type RelayStream } from './peers/relay-lines.ts';

const SECOND_US = 1_000_000;

/** A process at each of two hosts, and what the first hears of a request to the second. */
class Stage {
  readonly simulator = new Simulator(1);
  readonly exchange = new PeerExchange(this.simulator);
  readonly lines = new RelayLines(this.exchange);
  readonly asking: RelayEnd = this.begin('node-1');
  readonly heard: string[] = [];

  /** A process begins to listen at the host. */
  begin(host: string): RelayEnd {
    const thread = new Isolate(this.simulator, host, this.simulator.random(host), () => undefined);
    const end = { host, thread, fail: () => undefined } as unknown as RelayEnd;
    this.lines.enter(end);
    return end;
  }

  end({ thread }: RelayEnd): void {
    thread.kill();
  }

  /** Opens a connection and begins a request; undefined when nobody is reached. */
  async ask(host: string): Promise<RelayStream | undefined> {
    const opened = this.lines.open(this.asking, host).then((line) => ({
      stream: line?.begin({ onLost: () => this.#hear('lost'), onLeft: () => this.#hear('left') }),
    }));
    let asked: { readonly stream: RelayStream | undefined } | undefined;
    const keep = (stream: typeof asked): void => {
      asked = stream;
    };
    void opened.then(keep);
    await this.simulator.runUntil(() => asked !== undefined, this.simulator.nowUs + 10 * SECOND_US);
    return asked?.stream;
  }

  async pass(us: number): Promise<void> {
    await this.simulator.runUntil(() => false, this.simulator.nowUs + us);
  }

  say(stream: RelayStream | undefined, text: string): void {
    stream?.there(text, () => stream.back(text, () => this.#hear(text)));
  }

  #hear(what: string): void {
    this.heard.push(what);
  }
}

describe('a line between two processes', () => {
  it('brings there and back what is said, in its order', async () => {
    const stage = new Stage();
    stage.begin('node-2');
    const stream = await stage.ask('node-2');
    for (const text of ['one', 'two', 'three']) stage.say(stream, text);
    await stage.pass(SECOND_US);
    expect(stage.heard).toEqual(['one', 'two', 'three']);
  });

  it('brings nothing to whoever waits no longer', async () => {
    const stage = new Stage();
    stage.begin('node-2');
    const stream = await stage.ask('node-2');
    stage.say(stream, 'one');
    stream?.close();
    await stage.pass(SECOND_US);
    expect(stage.heard).toEqual([]);
  });

  it('tells at once that the other process has ended', async () => {
    const stage = new Stage();
    const other = stage.begin('node-2');
    const stream = await stage.ask('node-2');
    stage.end(other);
    stage.lines.leave(other, false);
    await stage.pass(SECOND_US / 100);
    stage.say(stream, 'one');
    await stage.pass(SECOND_US);
    expect(stage.heard).toEqual(['lost']);
  });

  it('finds out in seconds that the other machine is gone, or that nothing gets there', async () => {
    const ends = await Promise.all(
      ['gone', 'cut'].map(async (how) => {
        const stage = new Stage();
        const other = stage.begin('node-2');
        await stage.ask('node-2');
        if (how === 'cut') stage.exchange.close('node-1', 'node-2');
        else {
          stage.end(other);
          stage.lines.leave(other, true);
        }
        await stage.pass(SECOND_US);
        const early = [...stage.heard];
        await stage.pass(3 * SECOND_US);
        return [early, stage.heard];
      }),
    );
    expect(ends).toEqual([
      [[], ['lost']],
      [[], ['lost']],
    ]);
  });

  it('reaches nobody where nobody listens, where nothing gets to, and where the process stands still', async () => {
    const stage = new Stage();
    const other = stage.begin('node-2');
    other.thread.pause(5 * SECOND_US);
    expect(await stage.ask('node-2')).toBeUndefined();
    expect(await stage.ask('node-3')).toBeUndefined();
    stage.exchange.close('node-2', 'node-1');
    expect(await stage.ask('node-2')).toBeUndefined();
  });

  it('of a process before is none of the next one', async () => {
    const stage = new Stage();
    const other = stage.begin('node-2');
    const stream = await stage.ask('node-2');
    stage.end(other);
    stage.lines.leave(other, true);
    stage.begin('node-2');
    stage.say(stream, 'one');
    await stage.pass(SECOND_US / 100);
    expect(stage.heard).toEqual(['lost']);
    stage.say(await stage.ask('node-2'), 'two');
    await stage.pass(SECOND_US / 100);
    expect(stage.heard).toEqual(['lost', 'two']);
  });

  it('tells whoever was asked that the one that asked has ended', async () => {
    const stage = new Stage();
    stage.begin('node-2');
    await stage.ask('node-2');
    stage.end(stage.asking);
    stage.lines.leave(stage.asking, false);
    await stage.pass(SECOND_US);
    expect(stage.heard).toEqual(['left']);
  });
});
