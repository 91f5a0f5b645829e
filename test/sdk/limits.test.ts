// Goal: a component cannot ask for a number of events that would cross as another one. Method: a component, as plain
// code, whose command says the limit.
import { describe, it } from 'vitest';
import { defineStateChange } from '../../sdk/component/src/index.ts';
import { plainChange } from '../../sdk/component/testing/plain.ts';
import { change } from '../../sdk/component/testing/scenario.ts';

const asking = plainChange(
  defineStateChange({
    routes: {
      'POST /': (command, reader) => {
        reader.events({ subject: 'a' }, command.json<{ readonly limit: number }>().limit);
        return [];
      },
    },
  }),
);

describe('a limit of events', () => {
  it.each([0, 1, 2 ** 31 - 1])('may be %d', async (limit) => {
    await change(asking).given({}).when({ method: 'POST', path: '/' }, { limit }).thenEmits([]);
  });

  it.each([-1, 1.5, 2 ** 31, 2 ** 32 - 1])('may not be %d', async (limit) => {
    const message = new RegExp(`^The limit is ${limit}; it must be an integer from 0 to 2147483647$`);
    await change(asking)
      .given({})
      .when({ method: 'POST', path: '/' }, { limit })
      .thenRefuses('internal-error', { message });
  });
});
