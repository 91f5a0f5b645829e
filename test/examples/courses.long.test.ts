// Goal: the rules of the example of courses, over courses and students, hold on a node that two clients use at the same
// time. Method: clients that want the same seats; a count of all that was committed, written again here.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILD_MS, ExampleNode, type Reply, type StoredEvent } from '../support/example-node.ts';

const CALL_MS = 120_000;

describe('the courses of a node', () => {
  let node: ExampleNode;
  beforeAll(async () => {
    node = await ExampleNode.start('school', '--guest-executors=2');
    await node.publish('state-changes', { state_change_name: 'subscriptions' }, 'courses/subscriptions.ts');
  }, BUILD_MS);
  afterAll(async () => node[Symbol.asyncDispose]());

  it('have no more students than seats, whoever comes at once', { timeout: CALL_MS }, async () => {
    const seats = 5;
    await define('chess', seats);
    const ofClient = (client: string): readonly Wanted[] =>
      Array.from({ length: 8 }, (_, n) => ({ student: `${client}${n}`, course: 'chess' }));
    const outcomes = await bothClients(ofClient('left'), ofClient('right'));
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(seats);
    expect(outcomes.filter((outcome) => outcome === 'course-full')).toHaveLength(16 - seats);
    expect(inCourse(await node.events(), 'chess')).toBe(seats);
  });

  it('keep to their seats at each revision, while students come and go and seats change', {
    timeout: CALL_MS,
  }, async () => {
    for (const name of ['mixed0', 'mixed1']) await define(name, 2);
    await Promise.all([wander(1), wander(2)]);
    const events = (await node.events()).filter(({ subject }) => subject?.startsWith('mixed'));
    expect(new Set(events.map(({ type }) => type)).size).toBe(4);
    for (let end = 1; end <= events.length; end++) expect(overfull(events.slice(0, end))).toEqual([]);
  });

  async function define(course: string, capacity: number): Promise<void> {
    expect(await sent('POST', `/courses/${course}`, { capacity })).toMatchObject({ status: 200 });
  }

  /** Each asks for what it wants, one after another, while the other does. */
  async function bothClients(...clients: readonly (readonly Wanted[])[]): Promise<readonly string[]> {
    const outcomes = clients.map(async (wanted) => {
      const said: string[] = [];
      for (const { course, student } of wanted) {
        said.push(outcomeOf(await sent('PUT', `/courses/${course}/students/${student}`)));
      }
      return said;
    });
    return (await Promise.all(outcomes)).flat();
  }

  /** A hundred commands that follow from the seed. */
  async function wander(seed: number): Promise<void> {
    let state = seed;
    const next = (below: number): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state % below;
    };
    for (let n = 0; n < 100; n++) {
      const course = `/courses/mixed${next(2)}`;
      const student = `${course}/students/s${next(6)}`;
      const what = next(8);
      if (what === 0) await sent('PUT', `${course}/capacity`, { capacity: next(4) });
      else await sent(what < 3 ? 'DELETE' : 'PUT', student);
    }
  }

  /** As a client does it: what came too late again and again is sent again. */
  async function sent(method: string, path: string, body?: object): Promise<Reply> {
    for (let tries = 1; ; tries++) {
      const reply = await node.execute('subscriptions', { method, path, ...(body === undefined ? {} : { body }) });
      if (reasonOf(reply) !== 'ConcurrencyConflict' || tries === 20) return reply;
    }
  }
});

interface Wanted {
  readonly student: string;
  readonly course: string;
}

function reasonOf({ body }: Reply): string | undefined {
  return (body as { readonly error?: { readonly details?: { readonly reason?: string } } }).error?.details?.reason;
}

function outcomeOf(reply: Reply): string {
  return reply.status === 200 ? 'taken' : (reasonOf(reply) ?? JSON.stringify(reply));
}

function inCourse(events: readonly StoredEvent[], course: string): number {
  const of = events.filter(({ subject }) => subject === course);
  const count = (type: string): number => of.filter((event) => event.type === type).length;
  return count('student.subscribed') - count('student.unsubscribed');
}

/** Courses with more students than seats, counted from the events alone. */
function overfull(events: readonly StoredEvent[]): readonly string[] {
  const courses = [...new Set(events.map(({ subject }) => subject ?? ''))];
  return courses.filter((course) => {
    const seats = events.findLast(({ subject, type }) => subject === course && type.startsWith('course.'));
    return inCourse(events, course) > Number(seats?.data['capacity'] ?? 0);
  });
}
