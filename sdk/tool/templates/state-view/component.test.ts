import { after, describe, test } from 'node:test';
import type { NewEvent } from 'cairn/component';
import { built, plainView, view } from 'cairn/testing';
import { component } from './component.ts';

const opened: NewEvent = { source: '/tasks', type: 'task.opened', subject: 'a', data: { title: 'Write it' } };
const done: NewEvent = { source: '/tasks', type: 'task.done', subject: 'a' };

const real = await built('component.wasm', 'state-view');
after(() => real[Symbol.asyncDispose]());

for (const [name, host] of Object.entries({ 'plain code': plainView(component), 'what was built': real })) {
  describe(name, () => {
    test('a task is open', () =>
      view(host)
        .given(opened)
        .thenState([{ task: 'a', title: 'Write it' }]));
    test('until it is done', () => view(host).given(opened, done).thenState([]));
  });
}
