/**
 * Whether a component of the SDK's shape can be given what there is: its types are its own, so they are held against an
 * example of everything that the host gives, before anybody calls it.
 */
import { fitted } from '../abi/fitting.ts';
import type { Value, ValueList } from '../abi/values.ts';
import { Faulted } from '../faults.ts';
import type { Component, FunctionType } from '../reading/component-types.ts';
import { Refused } from '../reading/refusal.ts';

export interface SdkExamples {
  /** The arguments of the main function, with each case of each variant. */
  readonly given: ValueList;
  /** What the host answers, by the names of its functions. */
  readonly answers: ReadonlyMap<string, Value>;
}

/** @throws Refused MissingExport */
export function expectFits(component: Component, main: FunctionType, { given, answers }: SdkExamples): void {
  try {
    for (const [index, { type }] of main.parameters.entries()) fitted(type, given[index]);
    for (const { item } of component.imports.values()) {
      if (item.sort !== 'instance') continue;
      for (const [name, offered] of item.offers) {
        const result = offered.sort === 'function' ? offered.type.result : undefined;
        if (result !== undefined && answers.has(name)) fitted(result, answers.get(name));
      }
    }
  } catch (error) {
    if (!(error instanceof Faulted)) throw error;
    throw new Refused('MissingExport', 0, `The component has types that are not the SDK's: ${error.message}`);
  }
}
