// Goal: of requests that have not come whole those make way that stand still, for a connection that has less than
// theirs (TM2, TM4). Method: an allowance that is used up, at a time that the test moves.
import { beforeEach, describe, expect, it } from 'vitest';
import { Link } from '#base';
import { Allowance, type Claim } from '../../../../src/transport/allowance.ts';
import { createByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import { type Sender, Senders } from '../../../../src/transport/grpc/wire/senders.ts';
import { type StandingRequest, StandingRequests } from '../../../../src/transport/grpc/wire/standing-requests.ts';
import { ManualTime } from '../../../support/budget-time.ts';

const PATIENCE_MS = 1_000;
const BYTES = 10;
const [HEAVY, LIGHT] = [{}, {}];

class Request implements StandingRequest {
  readonly link: Link<StandingRequest> = new Link<StandingRequest>(this);
  readonly claim: Claim;
  readonly name: string;
  movedMs = 0;

  constructor(name: string, claim: Claim) {
    this.name = name;
    this.claim = claim;
  }

  makeWay(): void {
    told.push(this.name);
    this.claim.giveBack(BYTES);
    standing.remove(this);
  }
}

let time: ManualTime;
let streams: Allowance;
let standing: StandingRequests;
let sender: Sender;
let told: string[];

beforeEach(() => {
  time = new ManualTime();
  streams = new Allowance(8 * BYTES);
  standing = new StandingRequests(() => time.nowMs());
  sender = new Senders(
    createByteBudgets({ requestBytesMax: 1, unsentBytesMax: 1, patienceMs: PATIENCE_MS, time }).requests,
  ).of(LIGHT);
  told = [];
});

function begin(name: string, connection: object): Request {
  const claim = streams.of(connection);
  expect(claim.tryAdd(BYTES)).toBe(true);
  const request = new Request(name, claim);
  request.movedMs = standing.moved(request);
  return request;
}

/** All that is left. */
function fill(): void {
  while (streams.of({}).tryAdd(1));
}

function comes(connection: object = LIGHT): boolean {
  return standing.tryAdd(streams.of(connection), BYTES, sender);
}

describe('a stream for which there is no room', () => {
  it('gets it from the request that has stood still longest, of a connection that has more', () => {
    for (const name of ['a', 'b', 'c']) begin(name, HEAVY);
    fill();
    time.advance(PATIENCE_MS / 4 - 1);
    expect(comes()).toBe(false);
    time.advance(1);
    expect(comes()).toBe(true);
    expect(told).toEqual(['a']);
  });

  it('gets nothing of one of which something comes, or that is whole', () => {
    const [a, b] = ['a', 'b', 'c'].map((name) => begin(name, HEAVY));
    fill();
    time.advance(PATIENCE_MS / 4);
    if (a !== undefined) a.movedMs = standing.moved(a);
    if (b !== undefined) standing.remove(b);
    expect(comes()).toBe(true);
    expect(told).toEqual(['c']);
  });

  it('gets nothing of a connection that has no more than its own will have', () => {
    for (const name of ['a', 'b']) begin(name, HEAVY);
    begin('c', LIGHT);
    fill();
    time.advance(PATIENCE_MS);
    expect([comes(), comes(HEAVY), told]).toEqual([false, false, []]);
  });
});
