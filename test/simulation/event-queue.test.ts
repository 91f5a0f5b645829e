/** The order of everything that happens in a simulation. */
import { describe, expect, it } from 'vitest';
import { EventQueue } from './engine/event-queue.ts';
import { Rng } from './engine/random.ts';

describe('EventQueue', () => {
  it('gives out events by time, and at one time in the order in which they came', () => {
    const random = new Rng(1, 'queue');
    const queue = new EventQueue();
    const times = Array.from({ length: 500 }, () => random.between(0, 50));
    for (const [place, atUs] of times.entries()) queue.push(atUs, String(place), () => undefined);
    const sorted = times.map((atUs, place) => ({ atUs, label: String(place) })).toSorted((a, b) => a.atUs - b.atUs);
    const given = times.map(() => queue.pop()).map((event) => ({ atUs: event?.atUs, label: event?.label }));
    expect(given).toEqual(sorted);
    expect(queue.pop()).toBeUndefined();
  });
});
