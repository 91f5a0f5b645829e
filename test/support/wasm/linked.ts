/** Links a component in the test process, for components in text format only. */
import { DEFAULT_LIMITS, type Value, type ValueList } from '#wasm';
import { type CoreExports, compile } from '../../../src/wasm/engine.ts';
import { type HostFunctions, link } from '../../../src/wasm/guest/linker.ts';
import { readComponent } from '../../../src/wasm/reading/component-reader.ts';

export interface LinkedGuest {
  call(name: string, values: ValueList): Value;
  readonly cores: readonly CoreExports[];
}

const BUDGET_BYTES = 2 ** 30;

export function linkedWith(component: Uint8Array, host: HostFunctions, left: number = BUDGET_BYTES): LinkedGuest {
  const { exports, cores } = link(readComponent(component, DEFAULT_LIMITS), {
    host,
    code: ({ from, to }) => compile(component.subarray(from, to)),
    budget: { left },
  });
  return {
    cores,
    call: (name, values) => {
      const found = exports.get(name);
      if (found?.sort !== 'function') throw new Error(`The component has no function ${name}`);
      return found.call(values);
    },
  };
}
