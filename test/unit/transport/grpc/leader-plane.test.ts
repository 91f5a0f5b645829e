// Goal: the address of the leader is that of the network whose authority the client used (ADR 0178). Method: a table of
// authorities.
import { expect, it } from 'vitest';
import { leaderPlane } from '../../../../src/transport/grpc/leader-plane.ts';

const trailersFor = leaderPlane({
  isOutside: (host) => host === 'cairn.example.com' || host === '2001:db8::1',
  addressOf: (name) => (name === 'cairn-0' ? 'cairn-0.example.com:443' : undefined),
});
const INSIDE = 'cairn-0.cairn:50051';
const LED = { 'x-leader-node': 'cairn-0', 'x-leader-address': INSIDE, 'x-revision': '7' };

it.each([
  ['cairn.example.com:443', true],
  ['cairn.example.com', true],
  ['Cairn.Example.com.:443', true],
  ['[2001:db8::1]:443', true],
  ['cairn-0.cairn:50051', false],
  ['cairn.example.com.evil:443', false],
  [undefined, false],
])('a client with the authority %s receives an outside address: %s', (authority, isOutside) => {
  const address = isOutside ? 'cairn-0.example.com:443' : INSIDE;
  expect(trailersFor(authority, LED)).toEqual({ ...LED, 'x-leader-address': address });
});

it('a client from outside receives the inside address of a leader without an outside one, and no address without a leader', () => {
  const other = { ...LED, 'x-leader-node': 'cairn-9' };
  expect(trailersFor('cairn.example.com:443', other)).toEqual(other);
  expect(trailersFor('cairn.example.com:443', { 'x-revision': '7' })).toEqual({ 'x-revision': '7' });
});
