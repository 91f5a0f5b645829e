// Goal: a full port evicts the connection that waits longest, never one that is being answered (ADR 0015). Method:
// connections in given states with a manual clock.
import { describe, expect, it } from 'vitest';
import { ConnectionPlaces, type Place, type Waiting } from '../../../src/transport/connection-places.ts';

class World {
  nowMs = 0;
  readonly ended: string[] = [];
  readonly waited: Waiting[] = [];
  readonly places: ConnectionPlaces;
  readonly #busy = new Set<string>();

  constructor(max: number) {
    const onEnded = (waiting: Waiting): void => void this.waited.push(waiting);
    this.places = new ConnectionPlaces(max, onEnded, () => this.nowMs);
  }

  enter(name: string): Place | undefined {
    return this.places.enter({ end: () => this.ended.push(name), isBusy: () => this.#busy.has(name) });
  }

  /** A new connection that then waits as given, or is being answered. */
  have(name: string, waits: Waiting | 'works'): Place {
    const place = this.enter(name);
    if (place === undefined) throw new Error(`${name} had no place`);
    if (waits === 'works') place.works();
    else place.waits(waits);
    return place;
  }

  busy(name: string): void {
    this.#busy.add(name);
  }

  pass(ms: number): void {
    this.nowMs += ms;
  }
}

describe('a full port', () => {
  it('closes the connection that has waited longest for a request, its first or a later one', () => {
    const world = new World(3);
    world.have('kept', 'idle');
    world.pass(10);
    world.have('half', 'head');
    world.pass(10);
    world.have('later', 'idle');
    world.pass(5_000);
    for (const name of ['a', 'b', 'c']) world.have(name, 'works');
    expect([world.ended, world.waited]).toEqual([
      ['kept', 'half', 'later'],
      ['idle', 'head', 'idle'],
    ]);
    expect(world.places.count).toBe(3);
  });

  it('lets many new connections evict one another, but not a connection that was just answered', () => {
    const world = new World(3);
    const asking = world.have('asking', 'works');
    for (let n = 0; n < 100; n++) {
      asking.works();
      asking.waits('idle');
      world.pass(2);
      for (const who of ['one', 'another', 'third']) world.have(`${who} of crowd ${n}`, 'head');
    }
    expect(world.ended).toHaveLength(298);
    expect(world.ended).not.toContain('asking');
  });

  it('closes connections that wait for a body last, and none of them that is being answered', () => {
    const world = new World(3);
    world.have('answered early', 'body');
    world.busy('answered early');
    world.have('slow', 'body');
    world.have('half', 'head');
    world.have('a', 'works');
    world.have('b', 'works');
    expect([world.ended, world.waited]).toEqual([
      ['half', 'slow'],
      ['head', 'body'],
    ]);
  });

  it('closes the new connection when all others are being answered', () => {
    const world = new World(2);
    const [one] = [world.have('one', 'works'), world.have('two', 'works')];
    expect(world.enter('three')).toBeUndefined();
    expect([world.ended, world.places.count]).toEqual([[], 2]);
    one.leave();
    one.leave();
    expect(world.enter('three')).toBeDefined();
    expect(world.places.count).toBe(2);
  });
});
