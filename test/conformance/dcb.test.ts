// Goal: the features by which dynamic consistency boundaries are explained work on Cairn, over gRPC and over HTTP.
// Method: given events, a command, and the event or the refusal that must follow; then two commands that race.
// An event of Cairn has one stream and one subject, so a fact of a student and a course has the one as its stream and
// the other as its subject. A boundary is a selector; the append condition is that nothing newer matches it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../support/api/api.ts';
import { GrpcApi } from '../support/api/grpc-api.ts';
import { HttpApi } from '../support/api/http-api.ts';
import { CHANGE_CAPACITY, COURSES, DEFINE_COURSE, SUBSCRIBE } from '../support/dcb/courses.ts';
import { CREATE_INVOICE, INVOICES } from '../support/dcb/invoices.ts';
import type { Scenario } from '../support/dcb/scenario.ts';
import { type Decider, type Decision, decide, type Fact, given, prepare } from '../support/decision.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

let databases = 0;
async function freshDatabase(api: Api): Promise<string> {
  databases += 1;
  const name = `dcb-${databases}`;
  expect(await api.createDatabase(name)).toEqual({ kind: 'created' });
  return name;
}

function decisionOf(outcome: Fact | string): Decision {
  return typeof outcome === 'string' ? { kind: 'denied', why: outcome } : { kind: 'appended', fact: outcome };
}

const APIS: readonly [string, () => Api][] = [
  ['gRPC', () => new GrpcApi(server.grpc)],
  ['HTTP', () => new HttpApi(server.http)],
];

describe.each(APIS)('over %s', (_name, connect) => {
  async function play<Command>({ past, command }: Scenario<Command>, decider: Decider<Command>): Promise<Decision> {
    await using api = connect();
    const database = await freshDatabase(api);
    await given(api, database, past);
    return await decide({ api, database }, decider, command);
  }

  it.each(COURSES.define)('course subscriptions: define a course: $name', async (scenario) => {
    expect(await play(scenario, DEFINE_COURSE)).toEqual(decisionOf(scenario.outcome));
  });

  it.each(COURSES.changeCapacity)('course subscriptions: change the capacity: $name', async (scenario) => {
    expect(await play(scenario, CHANGE_CAPACITY)).toEqual(decisionOf(scenario.outcome));
  });

  it.each(COURSES.subscribe)('course subscriptions: subscribe a student: $name', async (scenario) => {
    expect(await play(scenario, SUBSCRIBE)).toEqual(decisionOf(scenario.outcome));
  });

  it.each(INVOICES)('invoice number: $name', async (scenario) => {
    expect(await play(scenario, CREATE_INVOICE)).toEqual(decisionOf(scenario.outcome));
  });

  it('of two students who race for the last seat one gets it', async () => {
    await using api = connect();
    const database = await freshDatabase(api);
    await given(api, database, [{ type: 'course-defined', stream: 'courses', subject: 'c1', data: { capacity: 1 } }]);
    const appends = await Promise.all(
      ['s1', 's2'].map((student) => prepare({ api, database }, SUBSCRIBE, { student, course: 'c1' })),
    );
    const decisions = await Promise.all(appends.map((append) => append()));
    expect(decisions.map(({ kind }) => kind).toSorted()).toEqual(['appended', 'conflict']);
    const again = await decide({ api, database }, SUBSCRIBE, { student: 's2', course: 'c1' });
    expect(again.kind).toBe('denied');
  });

  it('students of different courses do not disturb one another', async () => {
    await using api = connect();
    const database = await freshDatabase(api);
    await given(api, database, [
      { type: 'course-defined', stream: 'courses', subject: 'c1', data: { capacity: 1 } },
      { type: 'course-defined', stream: 'courses', subject: 'c2', data: { capacity: 1 } },
    ]);
    const first = await prepare({ api, database }, SUBSCRIBE, { student: 's1', course: 'c1' });
    const second = await prepare({ api, database }, SUBSCRIBE, { student: 's2', course: 'c2' });
    expect((await first()).kind).toBe('appended');
    expect((await second()).kind).toBe('appended');
  });

  it('invoices that race get numbers without a gap', async () => {
    await using api = connect();
    const database = await freshDatabase(api);
    const create = async (): Promise<void> => {
      const decision = await decide({ api, database }, CREATE_INVOICE, { customer: 'x' });
      if (decision.kind === 'conflict') await create();
    };
    await Promise.all(Array.from({ length: 8 }, create));
    const invoices = await api.query(database, { selectors: [{ type: 'invoice-created' }] });
    expect(invoices.map((event) => Number(event.subject))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});
