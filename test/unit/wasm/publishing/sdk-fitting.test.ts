// Goal: a component for the SDK's interfaces is refused at publishing exactly when its types do not match those of the
// host. Method: types as text with one difference each; test/spec/sdk-shaped-components runs components of a toolchain.
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '#wasm';
import { sdkExamples } from '../../../../src/components/sdk-examples.ts';
import { publish } from '../../../../src/wasm/publishing/publish.ts';
import { LIMITED } from '../../../support/wasm/executors.ts';
import { sdkTypesWith, sdkViewText } from '../../../support/wasm/sdk-shaped.ts';
import { componentOf, wat } from '../../../support/wasm/wat.ts';
import { SDK_WIT } from '../../../support/wasm/wit.ts';

const NONE = '(i32.store8 (i32.const 16) (i32.const 0)) (i32.const 16)';

async function publishing(kind: 'state-view' | 'state-change', component: Uint8Array): Promise<unknown> {
  const published = publish(component, { kind, limits: DEFAULT_LIMITS, smoke: LIMITED, sdk: sdkExamples(kind) });
  return published.kind === 'failure' ? [published.reason.code, published.reason.message] : 'published';
}

async function viewWith(from: string, to: string): Promise<unknown> {
  return publishing('state-view', await wat(sdkViewText(NONE, sdkTypesWith(from, to))));
}

describe('a component with the interfaces of the SDK', () => {
  it.each([
    ['the types of the host', '(field "id" string)', '(field "id" string)'],
    ['narrower numbers', '(field "version" u64)', '(field "version" u8)'],
    ['numbers with a point', '(field "nanoseconds" u32)', '(field "nanoseconds" f64)'],
    ['a missing field', '(field "source" string) (field "specversion" string)', '(field "specversion" string)'],
    ['an unknown optional field', '(field "version" u64)', '(field "later" $maybe-text)'],
    ['an additional case', '(case "timestamp" $datetime)', '(case "timestamp" $datetime) (case "later" string)'],
  ])('is published with %s', async (_, from, to) => {
    expect(await viewWith(from, to)).toBe('published');
  });

  it.each<readonly [string, string, string, string, RegExp]>([
    [
      'an unknown field',
      '(field "version" u64)',
      '(field "later" string)',
      'MissingExport',
      /types that are not the SDK's: The guest expects a field later; the host has database, name, /,
    ],
    [
      'a missing case',
      '(case "timestamp" $datetime)',
      '(case "later" $datetime)',
      'MissingExport',
      /The guest expects one of the cases boolean, integer, .*, later; the host has timestamp$/,
    ],
    ['a number for a text', '(field "id" string)', '(field "id" u32)', 'SmokeCallFailed', /u32/],
    ['a text for a number', '(field "version" u64)', '(field "version" string)', 'SmokeCallFailed', /string/],
    ['a flag for a time', '(field "seconds" u64)', '(field "seconds" bool)', 'SmokeCallFailed', /bool/],
  ])('is refused with %s', async (...[, from, to, code, message]) => {
    expect(await viewWith(from, to)).toEqual([code, expect.stringMatching(message)]);
  });

  it.each([
    ['the host does not have', 'database.created-at', 'name: func', 'created-at: func() -> datetime; name: func'],
    ['returns a result', 'database.query-events', '-> list<cloudevent>;', '-> result<list<cloudevent>, string>;'],
    ['returns a resource', 'database.query-events', '-> list<cloudevent>;', '-> database;'],
    ['returns nothing', 'database.view-state', '-> option<rendered-state-view>;', ';'],
  ])('is refused with the name of an import that %s', async (...[, name, from, to]) => {
    const types = SDK_WIT.replace(from, to);
    expect(types).not.toBe(SDK_WIT);
    const message = new RegExp(`imports "\\[method\\]${name}" of "evidentsource:decider/state-change-types@`);
    const refused = ['ForbiddenImport', expect.stringMatching(message)];
    expect(await publishing('state-change', await componentOf(types, 'state-change'))).toEqual(refused);
  });

  it.each([
    ['a view', 'content: option<list<u8>>,', 'content: option<list<u8>>, later: string,', /field later/],
    ['the events that it asks for', 'timestamp(datetime)', 'later(datetime)', /cases boolean, .*, later/],
  ])('is refused when the types of %s differ', async (_, from, to, message) => {
    const types = SDK_WIT.replace(from, to);
    expect(types).not.toBe(SDK_WIT);
    const refused = ['MissingExport', expect.stringMatching(message)];
    expect(await publishing('state-change', await componentOf(types, 'state-change'))).toEqual(refused);
  });
});
