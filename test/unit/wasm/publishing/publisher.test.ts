// Goal: publishing returns an artifact that runs, the same for the same bytes, or a refusal, in its own process (G1 to
// G9, G18). Method: real processes, components as text, and with bytes changed at random.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, DEFAULT_PUBLISHER, decodeArtifact, Publisher, type PublishOptions } from '#wasm';
import { publish } from '../../../../src/wasm/publishing/publish.ts';
import { EVENT, executors, foldOf, LIMITED } from '../../../support/wasm/executors.ts';
import { guestText, MISBEHAVING } from '../../../support/wasm/guests.ts';
import { componentOf, viewText, wat, watOf } from '../../../support/wasm/wat.ts';
import { OWN_WIT } from '../../../support/wasm/wit.ts';

const sample = [new Uint8Array(0), EVENT];
const OPTIONS: PublishOptions = { kind: 'state-view', limits: DEFAULT_LIMITS, smoke: LIMITED, sample };

function childrenOf(pid: number): readonly number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const lists = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'));
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

describe('Publisher', { timeout: 60_000 }, () => {
  it('returns an artifact that an executor runs, the same each time', async () => {
    await using publisher = new Publisher();
    const component = await wat(viewText());
    const [first, second] = [await publisher.publish(component, OPTIONS), await publisher.publish(component, OPTIONS)];
    expect(first).toMatchObject({ kind: 'ok', value: { binding: { main: { name: 'evolve' } } } });
    expect(second).toEqual(first);
    expect(first).toEqual(publish(component, OPTIONS));
    if (first.kind === 'failure') throw new Error(first.reason.message);
    await using running = executors();
    const { digest, artifact } = first.value;
    expect(await running.fold(foldOf({ digest, bytes: artifact }, [EVENT]))).toMatchObject({ state: EVENT });
  });

  it('tries again when its process is killed', async () => {
    await using publisher = new Publisher();
    const before = childrenOf(process.pid);
    const published = publisher.publish(await wat(viewText()), OPTIONS);
    const isNew = (): readonly number[] => childrenOf(process.pid).filter((pid) => !before.includes(pid));
    await expect.poll(isNew, { timeout: 20_000, interval: 1 }).toHaveLength(1);
    for (const pid of isNew()) process.kill(pid, 'SIGKILL');
    expect(await published).toMatchObject({ kind: 'ok' });
  });

  it('refuses a component whose publication exceeds its time', async () => {
    await using publisher = new Publisher({ ...DEFAULT_PUBLISHER, time: { wallMs: 1, cpuMs: 60_000 } });
    const loops = guestText('(loop $l (br $l)) (i32.const 16)');
    const long = { ...OPTIONS, smoke: { ...LIMITED, limits: { ...LIMITED.limits, fuel: Number.MAX_SAFE_INTEGER } } };
    const refused = await publisher.publish(await wat(loops), long);
    expect(refused).toMatchObject({
      reason: { code: 'NotPublished', message: expect.stringContaining('DeadlineExceeded') },
    });
  });
});

describe('publish', () => {
  it.each(['state-view-batch', 'state-change'])('removes the custom sections of %s', async (world) => {
    const bytes = await componentOf(OWN_WIT, world);
    const kind = world === 'state-change' ? 'state-change' : 'state-view';
    const published = publish(bytes, { kind, limits: DEFAULT_LIMITS, smoke: LIMITED });
    const artifact = published.kind === 'ok' ? decodeArtifact(published.value.artifact) : undefined;
    expect(await watOf(bytes)).toContain('@producers');
    expect(await watOf(artifact?.component ?? bytes)).not.toContain('@producers');
  });

  it.each([
    ['an endless start', viewText({ core: '(func $s (loop $l (br $l))) (start $s)' }), /units of fuel to start/],
    ['a start that traps', viewText({ core: '(func $s unreachable) (start $s)' }), /does not start: .*unreachable/],
    [
      'an import of a core module that the component does not provide',
      viewText({ core: '' }).replace('(core module $m', '(core module $m (import "a" "b" (func))'),
      /does not start/,
    ],
    [
      'a core function of another type',
      guestText('(i32.const 16)').replace(
        '(canon lift (core func $i "evolve")',
        '(canon lift (core func $i "cabi_realloc")',
      ),
      /not a multiple of 4/,
    ],
  ])('refuses %s', async (_, text, says) => {
    const refused = publish(await wat(text), OPTIONS);
    expect(refused).toMatchObject({ reason: { code: 'SmokeCallFailed', message: expect.stringMatching(says) } });
  });

  it.each(MISBEHAVING.filter(({ code }) => code === 'AbiViolation'))('refuses $what', async ({ text, says }) => {
    const refused = publish(await wat(text), OPTIONS);
    expect(refused).toMatchObject({ reason: { code: 'SmokeCallFailed', message: expect.stringMatching(says) } });
  });

  it('accepts a guest that traps at the sample event, which is not an event of the guest', async () => {
    expect(publish(await wat(guestText('unreachable')), OPTIONS)).toMatchObject({ kind: 'ok' });
  });
});
