// Goal: a request has one principal, by the first extractor with a credential (U1), sent once (U2), or is refused
// without a reason (U3). Method: chains of extractors with given answers, at once or later.
import { expect, it } from 'vitest';
import { Authenticator, type Extractor, type Found, type Principal } from '#auth';
import { DatabaseError } from '#base';
import { credentialsOf } from '../../support/credentials.ts';

function principal(id: string): Principal {
  return { id, name: id, attributes: new Map(), grants: [], holds: () => true, proof: () => ({}) };
}

const found = (id: string): Found => ({ kind: 'principal', principal: principal(id) });
const refused: Found = { kind: 'refused', why: 'the signature is of somebody else' };
const nothing: Found = { kind: 'nothing' };

function answering(...answers: readonly (Found | Promise<Found>)[]): { readonly chain: Extractor[]; asked: number[] } {
  const asked: number[] = [];
  const chain = answers.map((answer, at) => ({
    inputs: ['X-Who'],
    extract: () => {
      asked.push(at);
      return answer;
    },
  }));
  return { chain, asked };
}

async function identified(chain: readonly Extractor[], headers = {}): Promise<string> {
  try {
    return (await new Authenticator({ chain, onRefused: () => undefined }).identify(credentialsOf(headers))).id;
  } catch (failure) {
    if (!(failure instanceof DatabaseError)) throw failure;
    return `${failure.code} ${failure.details.reason}`;
  }
}

it.each([
  ['finds the first', [found('a'), found('b')], 'a', [0]],
  ['continues after an extractor that finds nothing', [nothing, found('b')], 'b', [0, 1]],
  ['asks no extractor after an invalid credential', [refused, found('b')], 'unauthenticated CredentialRefused', [0]],
  ['refuses who has none', [nothing, nothing], 'unauthenticated CredentialMissing', [0, 1]],
  ['refuses everybody when it is empty', [], 'unauthenticated CredentialMissing', []],
])('a chain %s, at once and later', async (_what, answers, expected, asks) => {
  const atOnce = answering(...answers);
  expect(await identified(atOnce.chain)).toBe(expected);
  expect(atOnce.asked).toEqual(asks);
  const later = answering(...answers.map((answer) => Promise.resolve(answer)));
  expect(await identified(later.chain)).toBe(expected);
  expect(later.asked).toEqual(asks);
});

it('a chain refuses a header that is sent twice, before any extractor reads it (U2)', async () => {
  const { chain, asked } = answering(found('a'));
  expect(await identified(chain, { 'x-who': ['a', 'a'] })).toBe('unauthenticated CredentialRefused');
  expect(asked).toEqual([]);
  expect(await identified(chain, { 'x-other': ['a', 'a'], 'x-who': 'a' })).toBe('a');
});

it('a chain has the inputs of all, and none that are known when one does not say', () => {
  const onRefused = (): void => undefined;
  const one: Extractor = { inputs: ['Authorization', 'X-API-Key'], extract: () => nothing };
  const other: Extractor = { inputs: ['Authorization', 'X-Who'], extract: () => nothing };
  const silent: Extractor = { inputs: undefined, extract: () => nothing };
  expect(new Authenticator({ chain: [one, other], onRefused }).inputs).toEqual(['Authorization', 'X-API-Key', 'X-Who']);
  expect(new Authenticator({ chain: [one, silent], onRefused }).inputs).toBeUndefined();
});

it('a refusal does not say the reason to the client, only to the node (U3)', () => {
  const told: string[] = [];
  const authenticator = new Authenticator({ chain: answering(refused).chain, onRefused: (why) => told.push(why) });
  const details = { reason: 'CredentialRefused' };
  expect(() => authenticator.identify(credentialsOf({}))).toThrow(
    new DatabaseError('unauthenticated', 'The credential of this request is not valid', { details }),
  );
  expect(told).toEqual(['the signature is of somebody else']);
});
