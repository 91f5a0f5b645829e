// Goal: presentations of one component do not wait for several of another (F34). Method: turns that are ended one by
// one, and the order in which others get theirs.
import { expect, it } from 'vitest';
import { PresenterTurns, type Turn } from '../../../src/components/presenter-turns.ts';

class Named implements Turn {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  get component(): string {
    return this.name.charAt(0);
  }

  waitedMs(): undefined {
    return undefined;
  }

  suspend(): void {
    throw new Error(`${this.name} does not stand`);
  }
}

class Given {
  readonly order: string[] = [];
  readonly #turns: PresenterTurns;
  readonly #asked: Named[] = [];

  constructor(runningMax: number) {
    this.#turns = new PresenterTurns({ runningMax, readerWaitMs: 1000 });
  }

  async ask(...names: string[]): Promise<void> {
    for (const name of names) {
      const turn = new Named(name);
      this.#asked.push(turn);
      void this.#turns.begin(turn).then((isGiven) => isGiven && this.order.push(name));
    }
    await settled();
  }

  async end(name: string): Promise<void> {
    this.#turns.end(this.#named(name));
    await settled();
  }

  async leave(name: string): Promise<void> {
    this.#turns.leaveQueue(this.#named(name));
    await settled();
  }

  /** Ends each turn when it was given. */
  async endAll(): Promise<void> {
    for (let at = 0; at < this.order.length; at++) await this.end(this.order[at] ?? '');
  }

  #named(name: string): Named {
    const turn = this.#asked.find((asked) => asked.name === name);
    if (turn === undefined) throw new Error(`${name} has not asked`);
    return turn;
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

it('components take turns, each in the order of its own requests', async () => {
  const given = new Given(1);
  await given.ask('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1');
  await given.endAll();
  expect(given.order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

it('a component with new requests does not delay a component that waits for a second turn', async () => {
  const given = new Given(1);
  await given.ask('a1', 'a2', 'b1');
  await given.end('a1');
  await given.ask('b2', 'b3');
  await given.end('b1');
  expect(given.order).toEqual(['a1', 'b1', 'a2']);
});

it('a request that was aborted takes no turn', async () => {
  const given = new Given(1);
  await given.ask('a1', 'b1', 'b2', 'a2');
  await given.leave('b1');
  await given.endAll();
  expect(given.order).toEqual(['a1', 'b2', 'a2']);
});
