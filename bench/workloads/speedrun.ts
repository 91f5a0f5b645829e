/**
 * The speedrun of pyeventsourcing's course enrolment example: one client registers ten students and ten courses and
 * enrols every student in every course, which takes 120 operations per iteration. An enrolment reads the events of the
 * course and of the student, and is committed only if neither has new events. A course is a stream here and a student a
 * subject, so an enrolment is an event of both.
 */
import { type Arena, contenderOf } from '../arena.ts';
import { type CairnNode, createDatabase, QUERY_EVENTS, TRANSACT } from '../peers/cairn.ts';
import { measuredPgbench, type Postgres, psql } from '../peers/postgres.ts';
import type { LoadResult } from '../support/closed-loop.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from '../support/http2-connection.ts';
import { Latencies } from '../support/latencies.ts';
import { measuredRun } from '../support/measured.ts';
import { bytesField, fieldsOf, message, varintField } from '../support/protobuf.ts';
import type { Sample, Turns, Workload } from '../support/sample.ts';
import { messagesOf } from '../support/unary.ts';

const NAME = 'speedrun';
const STUDENTS = 10;
const COURSES = 10;
const OPERATIONS = STUDENTS + COURSES + STUDENTS * COURSES;
const REVISION = 13;
const QUERY_HEADERS = grpcHeaders(QUERY_EVENTS);
const TRANSACT_HEADERS = grpcHeaders(TRANSACT);

/** The course and the student of an operation; a registration has one of them. */
interface Operation {
  readonly course?: string;
  readonly student?: string;
}

export function speedrunWorkload(arena: Arena): Workload {
  return {
    name: NAME,
    what: `${STUDENTS} students, ${COURSES} courses, every enrolment of them: ${OPERATIONS} operations an iteration.`,
    unit: 'operations',
    clients: 1,
    eventBytes: 150,
    contenders: [contenderOf(arena.node, cairn), ...arena.postgreses.map((peer) => contenderOf(peer, postgres))],
  };
}

async function cairn(node: CairnNode): Promise<Turns> {
  await createDatabase(node, NAME);
  let done = 0;
  const run = (seconds: number): Promise<Sample> =>
    measuredRun({ pids: [node.pid], eventsPerCall: 1 }, async (): Promise<LoadResult> => {
      const connection = await Http2Connection.open(node.address);
      const latencies = new Latencies();
      const start = performance.now();
      let failed = 0;
      for (let began = start; began < start + seconds * 1000; began = performance.now()) {
        if (!(await carriedOut(connection, operation(done), `id-${done}`))) failed += 1;
        done += 1;
        latencies.add(performance.now() - began);
      }
      connection.close();
      return { calls: latencies.count, failed, seconds: (performance.now() - start) / 1000, latencies };
    });
  return { run };
}

/** The operation with this number: each iteration starts with the registrations and continues with the enrolments. */
function operation(number: number): Operation {
  const [iteration, step] = [Math.floor(number / OPERATIONS), number % OPERATIONS];
  if (step < STUDENTS) return { student: `student-${iteration}-${step}` };
  const second = step - STUDENTS;
  if (second < COURSES) return { course: `course-${iteration}-${second}` };
  const third = second - COURSES;
  const [student, course] = [Math.floor(third / COURSES), third % COURSES];
  return { student: `student-${iteration}-${student}`, course: `course-${iteration}-${course}` };
}

/**
 * Runs an operation; returns whether it was committed. A registration reads nothing and requires that its course or
 * student has no event.
 */
async function carriedOut(connection: Http2Connection, { course, student }: Operation, id: string): Promise<boolean> {
  const selectors = [
    ...(course === undefined ? [] : [bytesField(1, course)]),
    ...(student === undefined ? [] : [bytesField(3, student)]),
  ].map((selector) => bytesField(1, selector));
  const isEnrolment = selectors.length === 2;
  let seen = 0;
  if (isEnrolment) {
    const query = message(bytesField(1, NAME), bytesField(2, bytesField(1, message(...selectors))));
    const events = await messagesOf(connection, QUERY_HEADERS, grpcMessage(query));
    seen = Number(fieldsOf(events.at(-1) ?? Buffer.alloc(0)).get(REVISION) ?? 0);
  }
  const event = message(
    bytesField(1, id),
    bytesField(2, '1.0'),
    bytesField(3, isEnrolment ? 'com.example.student.enrolled' : 'com.example.registered'),
    bytesField(4, `https://example.com/courses/${course ?? 'none'}`),
    ...(student === undefined ? [] : [bytesField(5, student)]),
    bytesField(7, '{}'),
  );
  const either = bytesField(19, message(...selectors));
  const unchanged = bytesField(2, bytesField(2, message(varintField(1, seen), bytesField(2, either))));
  const transaction = message(bytesField(1, event), unchanged);
  const request = grpcMessage(message(bytesField(1, NAME), bytesField(2, transaction)));
  return (await messagesOf(connection, TRANSACT_HEADERS, request)).length > 0;
}

async function postgres(server: Postgres): Promise<Turns> {
  const columns = 'position bigserial PRIMARY KEY, course text, student text, type text NOT NULL, data bytea NOT NULL';
  await psql(server, `CREATE TABLE ${NAME} (${columns})`);
  await psql(server, `CREATE INDEX ${NAME}_course ON ${NAME} (course, position)`);
  await psql(server, `CREATE INDEX ${NAME}_student ON ${NAME} (student, position)`);
  await psql(server, `CREATE SEQUENCE ${NAME}_operations MINVALUE 0`);
  const register = (column: string): string =>
    `INSERT INTO ${NAME} (${column}, type, data) SELECT (:who)::text, 'registered', '{}' WHERE NOT EXISTS (SELECT FROM ${NAME} WHERE ${column} = (:who)::text);`;
  const text = `SELECT nextval('${NAME}_operations') AS n \\gset
\\set step :n % ${OPERATIONS}
\\set base (:n / ${OPERATIONS}) * 100
\\if :step < ${STUDENTS}
\\set who :base + :step
${register('student')}
\\elif :step < ${STUDENTS + COURSES}
\\set who :base + :step - ${STUDENTS}
${register('course')}
\\else
\\set student :base + (:step - ${STUDENTS + COURSES}) / ${COURSES}
\\set course :base + (:step - ${STUDENTS + COURSES}) % ${COURSES}
SELECT coalesce(max(position), 0) AS head FROM ${NAME} WHERE course = (:course)::text OR student = (:student)::text \\gset
INSERT INTO ${NAME} (course, student, type, data) SELECT (:course)::text, (:student)::text, 'enrolled', '{}' WHERE NOT EXISTS
  (SELECT FROM ${NAME} WHERE position > :head AND (course = (:course)::text OR student = (:student)::text));
\\endif
`;
  const load = { scripts: [{ text }], clients: 1, eventsPerCall: 1 };
  const run = async (seconds: number): Promise<Sample> => {
    const sample = await measuredPgbench(server, { ...load, seconds });
    // A refused operation would have been faster.
    const refused = await psql(
      server,
      `SELECT last_value + 1 - (SELECT count(*) FROM ${NAME}) FROM ${NAME}_operations`,
    );
    if (refused !== '0') throw new Error(`PostgreSQL has refused ${refused} operations`);
    return sample;
  };
  return { run };
}
