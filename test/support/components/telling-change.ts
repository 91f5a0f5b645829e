/** A State Change that emits the command headers that the body names. */
import { defineStateChange, type StateChangeComponent } from '../../../sdk/component/src/index.ts';

export const component: StateChangeComponent = defineStateChange({
  routes: {
    'POST /': (command) => {
      const names = command.json<readonly string[]>();
      const told = names.map((name) => [name, command.header(name) ?? null]).filter(([, value]) => value !== null);
      return [{ source: 'told', type: 'told', data: { told } }];
    },
  },
});
