// Goal: a long request of many tiny fields is rejected quickly. Method: requests of the maximum length with the
// shortest fields.
import { expect, it } from 'vitest';
import { parseExecute } from '../../../../src/transport/grpc/command-requests.ts';
import { parseQueryRequest } from '../../../../src/transport/grpc/event-requests.ts';
import {
  parseDefineStateChange,
  parseDefineStateView,
  parsePublishPresenter,
  parsePublishStateChange,
  parsePublishStateView,
} from '../../../../src/transport/grpc/publish-requests.ts';
import { reading } from '../../../../src/transport/request-reader.ts';
import { longestTurnMs } from '../../../support/longest-turn.ts';

const MANY_BYTES = 16 * 1024 * 1024;

function flood(tag: readonly number[], byteCount: number): Uint8Array {
  const field = [...tag, 0];
  return new Uint8Array(byteCount - (byteCount % field.length)).map((_byte, at) => field[at % field.length] ?? 0);
}

function lengthDelimited(tag: number, bytes: Uint8Array): Uint8Array {
  const length: number[] = [];
  for (let rest = bytes.length; rest > 0 || length.length === 0; rest >>>= 7) {
    length.push((rest & 127) | (rest > 127 ? 128 : 0));
  }
  return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
}

const FLOODS: readonly (readonly [what: string, parse: (message: Uint8Array) => unknown, message: Uint8Array])[] = [
  ['offers', parsePublishPresenter, flood([0x22], MANY_BYTES)],
  ['unknown fields', parsePublishStateView, flood([0xfa, 0x01], MANY_BYTES)],
  ['event types', parsePublishStateView, flood([0x7a], MANY_BYTES)],
  ['State Views', parsePublishStateChange, flood([0x32], MANY_BYTES)],
  ['selectors', parsePublishStateView, lengthDelimited(0x32, flood([0x0a], MANY_BYTES))],
  ['definitions', parseDefineStateView, flood([0x12], MANY_BYTES)],
  ['a description', parseDefineStateChange, lengthDelimited(0x12, lengthDelimited(0x12, new Uint8Array(MANY_BYTES)))],
  ['queries', parseQueryRequest, flood([0x12], MANY_BYTES)],
  ['selections in a query', parseQueryRequest, lengthDelimited(0x12, flood([0x0a], MANY_BYTES))],
  ['bindings', reading('cairn.v1.FetchStateViewRequest'), flood([0x1a], MANY_BYTES)],
  ['parameters', parseExecute, lengthDelimited(0x2a, flood([0x1a], MANY_BYTES))],
];

it.each(FLOODS)('a request with millions of %s is rejected at once', async (_what, parse, message) => {
  const refusal = /^The (?:message is not a cairn\.v1\.\w+: it has|request is malformed:) /;
  const turnMs = await longestTurnMs(async () => expect(() => parse(message)).toThrow(refusal));
  expect(turnMs).toBeLessThan(100);
});
