// Goal: State Views are maintained in the right order and pace, and a failing, lost or slow one does not delay the
// others (F40, F41, F42). Method: a manual clock, and views that are numbers: a step advances one by a given amount.
import { describe, expect, it } from 'vitest';
import {
  type AdvanceStep,
  DEFAULT_MAINTENANCE,
  type MaintainedView,
  Maintenance,
  type MaintenanceOutcome,
  type MaintenanceSettings,
} from '#components';
import { ManualTimers } from '../../support/service-world.ts';

const SETTINGS: MaintenanceSettings = {
  ...DEFAULT_MAINTENANCE,
  foldsMax: 1,
  eagerMs: 100,
  scheduleMs: 60_000,
  step: { eventsMax: 10, batch: { eventsMax: 5, bytesMax: 1000 } },
  retryMsMin: 1_000,
  retryMsMax: 4_000,
  milestoneEvents: 25,
};

interface Sketch extends Partial<Pick<MaintainedView, 'mode' | 'priority' | 'database'>> {
  readonly name: string;
  readonly applied?: number;
}

/** A view that has an event in each revision. */
class FakeView implements MaintainedView {
  readonly key: string;
  readonly view: string;
  readonly mode: MaintainedView['mode'];
  readonly priority: MaintainedView['priority'];
  readonly database: string;
  readonly #world: World;
  log: number;
  folded = 0;
  /** Results of the next steps, which then do not advance. */
  answers: MaintenanceOutcome[] = [];
  isLost = false;
  readonly dropped: string[] = [];

  constructor(world: World, { name, applied = 0, mode = 'eager', priority = 'normal', database = 'bank' }: Sketch) {
    this.key = name;
    this.view = name;
    this.#world = world;
    this.log = applied;
    this.mode = mode;
    this.priority = priority;
    this.database = database;
  }

  applied(): number {
    return this.log;
  }

  async step(step: AdvanceStep): Promise<MaintenanceOutcome> {
    return this.#world.stepped(this, step, () => this.#moved(step));
  }

  async drop(place: string): Promise<void> {
    this.dropped.push(place);
  }

  #moved({ eventsMax }: AdvanceStep): MaintenanceOutcome {
    const answer = this.answers.shift();
    if (answer !== undefined) return answer;
    const isFromFirst = this.isLost || this.folded === 0;
    if (this.isLost) this.folded = 0;
    this.isLost = false;
    const foldedCount = Math.min(eventsMax, this.log - this.folded);
    this.folded += foldedCount;
    const place = foldedCount > 0 ? String(this.folded) : undefined;
    return { kind: 'advanced', foldedCount, isFromFirst, isWhole: this.folded === this.log, place, at: this.log };
  }
}

/** Runs steps one after the other, each for `stepMs`. */
class World {
  readonly timers = new ManualTimers();
  readonly heard: string[] = [];
  readonly steps: string[] = [];
  readonly maintenance: Maintenance;
  readonly signals: AbortSignal[] = [];
  stepMs = 0;
  running = 0;
  runningMax = 0;

  constructor(settings: Partial<MaintenanceSettings> = {}) {
    this.maintenance = new Maintenance({ ...SETTINGS, ...settings }, this.timers, {
      onTrouble: ({ view }, message, retryMs) => void this.heard.push(`${view}: ${message}, again after ${retryMs}`),
      onMended: ({ view }) => void this.heard.push(`${view} again`),
    });
  }

  keep(...views: readonly FakeView[]): void {
    this.maintenance.keep('bank', views);
  }

  view(sketch: Sketch): FakeView {
    return new FakeView(this, sketch);
  }

  async stepped(view: FakeView, { signal }: AdvanceStep, move: () => MaintenanceOutcome): Promise<MaintenanceOutcome> {
    this.steps.push(view.view);
    this.signals.push(signal);
    this.runningMax = Math.max(this.runningMax, ++this.running);
    await this.timers.turn();
    if (this.stepMs > 0) this.timers.pass(this.stepMs);
    this.running--;
    return move();
  }

  /** Advances the clock tick by tick, with all effects. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += SETTINGS.eagerMs) {
      this.timers.pass(SETTINGS.eagerMs);
      await this.rest();
    }
  }

  async rest(): Promise<void> {
    do await this.timers.turn();
    while (this.running > 0);
    await this.timers.turn();
  }

  /** Returns the steps since the last call. */
  taken(): string {
    return this.steps.splice(0).join(' ');
  }
}

const failure: MaintenanceOutcome = { kind: 'failed', code: 'WasmExecutionError', message: 'Trap' };

describe('Maintenance', () => {
  it('brings an eager view to the end of its log in steps, and follows the log as it grows', async () => {
    const world = new World();
    const view = world.view({ name: 'a', applied: 25 });
    world.keep(view);
    await world.rest();
    expect([world.taken(), view.folded]).toEqual(['a a a', 25]);
    await world.pass(1000);
    expect(world.taken()).toBe('');
    view.log = 27;
    await world.pass(100);
    expect([world.taken(), view.folded, world.maintenance.figures().lags.get('bank')]).toEqual(['a', 27, 0]);
  });

  it('pauses for as long as it took to reach the end, so that it uses at most half of the time', async () => {
    const world = new World();
    const view = world.view({ name: 'a', applied: 30 });
    world.stepMs = 300;
    world.keep(view);
    await world.rest();
    expect(world.taken()).toBe('a a a');
    view.log = 31;
    await world.pass(800);
    expect(world.taken()).toBe('');
    await world.pass(100);
    expect(world.taken()).toBe('a');
  });

  it('takes views of high priority first, and of equal priority the one that waits longest', async () => {
    const world = new World();
    const sketches = [
      { name: 'low', priority: 'low' },
      { name: 'normal', priority: 'normal' },
      { name: 'high', priority: 'high' },
      { name: 'other', priority: 'normal' },
    ] as const;
    const views = sketches.map((sketch) => world.view({ ...sketch, applied: 20 }));
    world.stepMs = 1;
    world.keep(...views);
    await world.rest();
    expect(world.taken()).toBe('high high normal other normal other low low');
  });

  it('advances a scheduled view to its end at regular times, and not between them', async () => {
    const world = new World();
    const view = world.view({ name: 'a', applied: 5, mode: 'scheduled' });
    world.keep(view);
    await world.rest();
    expect(world.taken()).toBe('a');
    view.log = 20;
    await world.pass(59_000);
    expect(world.taken()).toBe('');
    await world.pass(1_000);
    expect([world.taken(), view.folded]).toEqual(['a a', 20]);
    // Nothing has been added at its next time. Later events wait for the time after that.
    await world.pass(61_000);
    view.log = 21;
    await world.pass(58_000);
    expect(world.taken()).toBe('');
    await world.pass(2_000);
    expect(world.taken()).toBe('a');
  });

  it('starts without delay in another mode, and stops the step of a view that is no longer maintained', async () => {
    const world = new World();
    world.keep(world.view({ name: 'a', applied: 5, mode: 'scheduled' }));
    await world.rest();
    world.keep(world.view({ name: 'a', applied: 9 }));
    await world.rest();
    expect([world.taken(), world.maintenance.figures().maintained]).toEqual(['a a', { eager: 1, scheduled: 0 }]);
    world.keep(world.view({ name: 'b', applied: 50 }));
    expect(world.signals.at(-1)?.aborted).toBe(false);
    world.keep();
    expect(world.signals.at(-1)?.aborted).toBe(true);
    await world.rest();
    expect(world.taken()).toBe('b');
  });

  it('retries a failing view with growing delays, reports it once, and continues with the others (F41)', async () => {
    const world = new World();
    const bad = world.view({ name: 'bad', applied: 5, priority: 'high' });
    const good = world.view({ name: 'good', applied: 5 });
    bad.answers = Array.from({ length: 5 }, () => failure);
    world.keep(bad, good);
    await world.rest();
    expect(world.taken()).toBe('bad good');
    const perSecond: string[] = [];
    for (let second = 0; second < 13; second++) {
      good.log++;
      await world.pass(1_000);
      perSecond.push(world.taken());
    }
    const both = perSecond.flatMap((steps, at) => (steps === 'good bad' || steps === 'bad good' ? [at + 1] : []));
    expect([both, new Set(perSecond).size]).toEqual([[1, 3, 7, 11], 2]);
    expect(world.heard).toEqual(['bad: Trap, again after 1000']);
    expect(world.maintenance.figures()).toMatchObject({ troubled: 1, steps: { failed: 5 } });
    expect(world.maintenance.figures().lags.get('bank')).toBe(5);
    await world.pass(2_000);
    expect([world.heard.at(-1), world.maintenance.figures().troubled, bad.folded]).toEqual(['bad again', 0, 5]);
  });

  it('pauses ten times as long after a step that started over, because the stored state is lost each time (F41)', async () => {
    const world = new World();
    const view = world.view({ name: 'a', applied: 15 });
    world.keep(view);
    await world.rest();
    world.stepMs = 200;
    view.log = 30;
    view.isLost = true;
    await world.pass(100);
    expect([world.taken(), view.folded]).toEqual(['a a a', 10]);
    expect(world.maintenance.figures().steps).toEqual({ advanced: 2, restarted: 1, failed: 0 });
    await world.pass(1_900);
    expect(world.taken()).toBe('');
    await world.pass(100);
    expect([world.taken(), view.folded]).toEqual(['a a', 30]);
  });

  it('keeps the two newest stored states, and one per given number of events', async () => {
    const world = new World();
    const view = world.view({ name: 'a', applied: 60 });
    world.keep(view);
    await world.rest();
    expect(view.dropped).toEqual(['10', '20', '40']);
  });

  it('starts nothing after it was stopped, and ends with the running steps (F42)', async () => {
    const world = new World();
    const view = world.view({ name: 'a', applied: 50 });
    world.keep(view);
    expect(world.signals.map(({ aborted }) => aborted)).toEqual([false]);
    world.maintenance.stop();
    expect(world.signals.map(({ aborted }) => aborted)).toEqual([true]);
    await world.maintenance.ended();
    expect(world.running).toBe(0);
    world.keep(view);
    await world.pass(5_000);
    expect([world.taken(), world.timers.count]).toEqual(['a', 0]);
  });
});
