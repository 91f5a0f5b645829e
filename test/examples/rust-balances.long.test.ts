// Goal: the State View of Rust is built as its page says, is taken as a component without imports, and gives the bytes
// that its sibling of TypeScript gives, in an executor and on a node. Method: scenarios of the test kit; histories that
// are drawn, folded by both; a node on which they are two versions of one view.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { component as balances } from '../../examples/bank/balances.ts';
import { accountEvent } from '../../examples/bank/events.ts';
import type { NewEvent } from '../../sdk/component/src/index.ts';
import { jsonText, toBytes, toText } from '../../sdk/component/src/json.ts';
import type { ViewHost } from '../../sdk/component/testing/hosts.ts';
import { plainView } from '../../sdk/component/testing/plain.ts';
import { RealHost } from '../../sdk/component/testing/real.ts';
import { stored, view } from '../../sdk/component/testing/scenario.ts';
import { ExampleNode } from '../support/example-node.ts';
import { BUILD_MS } from '../support/wasm/built.ts';
import { builtRust, lacksCompiler } from '../support/wasm/built-rust.ts';

/** The compiler compiles its macros first, on a machine with other things to do. */
const CARGO_MS = 2 * BUILD_MS;

const CRATE = 'examples/rust-balances';

describe.skipIf(lacksCompiler(CRATE))('the balances in Rust', { timeout: 120_000 }, () => {
  let built: Uint8Array;
  let rust: RealHost;
  beforeAll(async () => {
    built = await builtRust(CRATE);
    rust = await RealHost.of(built, 'state-view');
  }, CARGO_MS);
  afterAll(async () => rust?.[Symbol.asyncDispose]());

  it('add up, are read by owner, and say which event makes no sense', async () => {
    const opened = [
      accountEvent('account.opened', 'a', { owner: 'Ada' }),
      accountEvent('account.opened', 'b', { owner: 'Łódź 🏦 \u0000 "B"' }),
    ];
    const given = view(rust).given(...opened, accountEvent('account.deposited', 'a', { cents: 500 }));
    await given.thenState([{ account: 'a', owner: 'Ada', cents: 500 }], { 'subject.owner': 'Ada' });
    await given.thenState([], { 'subject.owner': 'Eve' });
    const failing = async (event: NewEvent, message: RegExp): Promise<void> =>
      view(rust).given(event).thenFails(message);
    await failing(accountEvent('account.deposited', 'c', { cents: 1 }), /^The account c is used before it is opened$/);
    await failing(
      { source: 's', type: 'account.opened', data: { owner: 'x' }, id: 'odd' },
      /^The event odd has no acc/,
    );
    await failing(
      { source: 's', type: 'other', subject: 'a' },
      /^The event is none of a bank: unknown variant `other`/,
    );
    expect(await folded(rust, [])).toBe('[]');
  });

  it('are exact beyond what a number of JavaScript is', async () => {
    const deposit = '{"id":"d","subject":"a","type":"account.deposited","data":{"cents":9007199254740993}}';
    const [opened] = stored(accountEvent('account.opened', 'a', { owner: 'Ada' }));
    const said = await folded(rust, [toBytes(jsonText(opened)), toBytes(deposit)]);
    expect(said).toBe('[{"account":"a","owner":"Ada","cents":9007199254740993}]');
    const most = deposit.replace('9007199254740993', '9223372036854775807');
    const over = [toBytes(jsonText(opened)), toBytes(most), toBytes(deposit)];
    expect(await rust.fold(new Uint8Array(0), over)).toEqual({
      kind: 'error',
      error: 'The account a has more than fits',
    });
  });

  it('are the bytes of their sibling for whatever happens on a bank', async () => {
    const account = fc.constantFrom('a', 'b', 'ä', '__proto__ ');
    const fact = fc.oneof(
      fc
        .tuple(account, fc.string({ unit: 'grapheme' }))
        .map(([a, owner]) => accountEvent('account.opened', a, { owner })),
      fc
        .tuple(account, fc.integer({ min: 1, max: 2 ** 40 }), fc.constantFrom('account.deposited', 'account.withdrawn'))
        .map(([a, cents, type]) => accountEvent(type as 'account.deposited', a, { cents })),
    );
    const opening = ['ä', 'b', '__proto__ ', 'a'].map((each) => accountEvent('account.opened', each, { owner: 'x' }));
    const sibling = plainView(balances);
    for (const history of fc.sample(fc.array(fact, { maxLength: 60 }), 40)) {
      const events = stored(...opening, ...history).map((event) => toBytes(jsonText(event)));
      expect(await folded(rust, events)).toBe(await folded(sibling, events));
    }
  });

  it(
    'are another version of the view on a node, and the same answer',
    async () => {
      await using node = await ExampleNode.start('bank', '--guest-executors=1');
      const definition = { state_view_name: 'balances', content_type: 'application/json' };
      const metadata = { ...definition, query_temporality: 'revision', event_selector: { stream: 'accounts' } };
      await node.publish('state-views', metadata, 'bank/balances.ts');
      await node.publish('state-views', metadata, built);
      const events = ['a', 'b'].map((each) => accountEvent('account.opened', each, { owner: `of ${each}` }));
      const more = [accountEvent('account.deposited', 'b', { cents: 7 })];
      for (const [at, event] of [...events, ...more].entries()) await node.commit({ id: `e${at}`, ...event });
      const path = (revision: number, version: number): string =>
        `/api/v1/db/bank/${revision}/state-views/balances/v${version}`;
      for (const revision of [1, 2, 3]) {
        const [first, second] = [await node.get(path(revision, 1)), await node.get(path(revision, 2))];
        const text = await second.text();
        expect([second.status, text]).toEqual([first.status, await first.text()]);
        expect(JSON.parse(text)).toHaveLength(Math.min(revision, 2));
      }
    },
    BUILD_MS,
  );
});

/** In one batch, and rendered. */
async function folded(host: ViewHost, events: readonly Uint8Array[]): Promise<string> {
  const nothing = new Uint8Array(0);
  const state = events.length === 0 ? { kind: 'ok' as const, value: nothing } : await host.fold(nothing, events);
  const said = state.kind === 'ok' ? await host.query(state.value, toBytes('{}')) : state;
  return said.kind === 'ok' ? toText(said.value) : `says: ${said.error}`;
}
