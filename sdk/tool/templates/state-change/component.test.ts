import { after, describe, test } from 'node:test';
import type { NewEvent } from 'cairn/component';
import { built, change, plainChange } from 'cairn/testing';
import { component } from './component.ts';

const opened: NewEvent = { source: '/tasks', type: 'task.opened', subject: 'a', data: { title: 'Write it' } };
const done: NewEvent = { source: '/tasks', type: 'task.done', subject: 'a' };
const open = { method: 'POST', path: '/tasks/a' };
const finish = { method: 'POST', path: '/tasks/a/done' };

const real = await built('component.wasm', 'state-change');
after(() => real[Symbol.asyncDispose]());

for (const [name, host] of Object.entries({ 'plain code': plainChange(component), 'what was built': real })) {
  describe(name, () => {
    test('a task is opened', () => change(host).given({}).when(open, { title: 'Write it' }).thenEmits([opened]));
    test('once', () =>
      change(host)
        .given({ events: [opened] })
        .when(open, { title: 'Again' })
        .thenRefuses('validation-failed', { code: 'task-exists' }));
    test('and done', () =>
      change(host)
        .given({ events: [opened] })
        .when(finish)
        .thenEmits([done]));
    test('also twice, which changes nothing', () =>
      change(host)
        .given({ events: [opened, done] })
        .when(finish)
        .thenEmits([]));
    test('none is done that is not there', () => change(host).given({}).when(finish).thenRefuses('state-not-found'));
  });
}
