// Goal: the components that are built of the example of a bank do what its plain code does, in an executor (G6, G12,
// G18). Method: the scenarios of bank.test.ts, over the real host.
import { afterAll, beforeAll, describe } from 'vitest';
import { RealHost } from '../../sdk/component/testing/real.ts';
import { BUILD_MS, builtComponent } from '../support/wasm/built.ts';
import { accountsDecide, balancesAddUp, statementIsWritten } from './bank-scenarios.ts';

const hosts: RealHost[] = [];

beforeAll(async () => {
  for (const [name, kind] of [
    ['balances', 'state-view'],
    ['accounts', 'state-change'],
    ['statement', 'presenter'],
  ] as const)
    hosts.push(await RealHost.of(await builtComponent(`examples/bank/${name}.ts`), kind));
}, BUILD_MS);
afterAll(async () => {
  for (const host of hosts) await host[Symbol.asyncDispose]();
});

function built(at: number): RealHost {
  const found = hosts[at];
  if (found === undefined) throw new Error('It is not built');
  return found;
}

const SLOW = { timeout: 120_000 };
describe('the balances', SLOW, () => {
  balancesAddUp(() => built(0));
});
describe('the accounts', SLOW, () => {
  accountsDecide(() => built(1));
});
describe('the statement', SLOW, () => {
  statementIsWritten(() => built(2));
});
