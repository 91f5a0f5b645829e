// Goal: the log has the events of a drain that does not end the process, and when the node is in service again. Method:
// notes of a core, one by one.
import { expect, it } from 'vitest';
import { silentLogger } from '#observability';
import { DrainWatch } from '../../../../src/cluster/front/drain-watch.ts';

it('logs the start of a drain, the transferred and remaining leaderships, and its end', () => {
  const told: unknown[] = [];
  const tell = (level: string) => (event: string, fields: unknown) => told.push([level, event, fields]);
  let nowMs = 0;
  const watch = new DrainWatch({ ...silentLogger, info: tell('info'), warn: tell('warn') }, () => nowMs);
  const states: boolean[] = [];
  for (const left of [0, 2]) {
    states.push(watch.isDraining);
    watch.note({ phase: 'began', leads: 7 });
    states.push(watch.isDraining);
    nowMs += 40;
    watch.note({ phase: 'handed-over', leads: left });
    states.push(watch.isDraining);
    watch.note({ phase: 'ended', leads: 0 });
  }
  expect(states).toEqual([false, true, true, false, true, true]);
  const began = ['info', 'draining', { by: 'cairn cluster drain --stay', leads: 7 }];
  const ended = ['info', 'undrained', { by: 'cairn cluster undrain' }];
  expect(told).toEqual([
    began,
    ['info', 'leads-handed-over', { leads: 7, elapsedMs: 40 }],
    ended,
    began,
    ['warn', 'leads-left', { leads: 7, left: 2, elapsedMs: 40 }],
    ended,
  ]);
});
