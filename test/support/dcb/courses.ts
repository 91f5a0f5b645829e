/** Courses with seats, and students who may take five at most. */
import type { Decider, Fact, PastFact } from '../decision.ts';
import type { Scenario } from './scenario.ts';

const COURSES_PER_STUDENT = 5;

const defined = (course: string, capacity: number): Fact => ({
  type: 'course-defined',
  stream: 'courses',
  subject: course,
  data: { capacity },
});
const resized = (course: string, capacity: number): Fact => ({
  type: 'course-capacity-changed',
  stream: 'courses',
  subject: course,
  data: { capacity },
});
const subscribed = (student: string, course: string): Fact => ({
  type: 'student-subscribed',
  stream: student,
  subject: course,
  data: {},
});

function capacityOf(past: readonly PastFact[], course: string): number | undefined {
  const last = past.findLast((fact) => fact.subject === course && fact.stream === 'courses');
  return last === undefined ? undefined : Number(last.data['capacity']);
}

export const DEFINE_COURSE: Decider<{ readonly course: string; readonly capacity: number }> = {
  boundary: ({ course }) => ({ stream: 'courses', subject: course }),
  decide: (past, { course, capacity }) =>
    capacityOf(past, course) === undefined ? defined(course, capacity) : `Course ${course} exists`,
};

export const CHANGE_CAPACITY: Decider<{ readonly course: string; readonly capacity: number }> = {
  boundary: ({ course }) => ({ stream: 'courses', subject: course }),
  decide: (past, { course, capacity }) => {
    const found = capacityOf(past, course);
    if (found === undefined) return `Course ${course} does not exist`;
    return found === capacity ? `Course ${course} has ${capacity} seats already` : resized(course, capacity);
  },
};

export const SUBSCRIBE: Decider<{ readonly student: string; readonly course: string }> = {
  boundary: ({ student, course }) => ({ or: [{ subject: course }, { stream: student }] }),
  decide: (past, { student, course }) => {
    const capacity = capacityOf(past, course);
    if (capacity === undefined) return `Course ${course} does not exist`;
    const seats = past.filter((fact) => fact.type === 'student-subscribed');
    if (seats.filter((fact) => fact.subject === course).length >= capacity) return `Course ${course} is full`;
    const own = seats.filter((fact) => fact.stream === student);
    if (own.some((fact) => fact.subject === course)) return `${student} is in ${course} already`;
    if (own.length >= COURSES_PER_STUDENT) return `${student} has ${COURSES_PER_STUDENT} courses already`;
    return subscribed(student, course);
  },
};

type Define = Scenario<{ readonly course: string; readonly capacity: number }>;
type Subscribe = Scenario<{ readonly student: string; readonly course: string }>;

const FIVE = ['c2', 'c3', 'c4', 'c5', 'c6'];

export const COURSES: {
  readonly define: readonly Define[];
  readonly changeCapacity: readonly Define[];
  readonly subscribe: readonly Subscribe[];
} = {
  define: [
    { name: 'a new course is defined', past: [], command: { course: 'c1', capacity: 15 }, outcome: defined('c1', 15) },
    {
      name: 'a course that exists is not defined again',
      past: [defined('c1', 10)],
      command: { course: 'c1', capacity: 15 },
      outcome: 'Course c1 exists',
    },
  ],
  changeCapacity: [
    {
      name: 'a course that does not exist has no seats to change',
      past: [],
      command: { course: 'c0', capacity: 15 },
      outcome: 'Course c0 does not exist',
    },
    {
      name: 'the same number of seats is no change',
      past: [defined('c1', 12)],
      command: { course: 'c1', capacity: 12 },
      outcome: 'Course c1 has 12 seats already',
    },
    {
      name: 'another number of seats is one',
      past: [defined('c1', 12)],
      command: { course: 'c1', capacity: 15 },
      outcome: resized('c1', 15),
    },
  ],
  subscribe: [
    {
      name: 'a course that does not exist takes nobody',
      past: [],
      command: { student: 's1', course: 'c0' },
      outcome: 'Course c0 does not exist',
    },
    {
      name: 'a full course takes nobody',
      past: [defined('c1', 3), subscribed('s1', 'c1'), subscribed('s2', 'c1'), subscribed('s3', 'c1')],
      command: { student: 's4', course: 'c1' },
      outcome: 'Course c1 is full',
    },
    {
      name: 'a course that got more seats takes the next one',
      past: [defined('c1', 1), subscribed('s1', 'c1'), resized('c1', 2)],
      command: { student: 's2', course: 'c1' },
      outcome: subscribed('s2', 'c1'),
    },
    {
      name: 'nobody subscribes twice',
      past: [defined('c1', 10), subscribed('s1', 'c1')],
      command: { student: 's1', course: 'c1' },
      outcome: 's1 is in c1 already',
    },
    {
      name: 'nobody takes a sixth course',
      past: [defined('c1', 10), ...FIVE.flatMap((course) => [defined(course, 10), subscribed('s1', course)])],
      command: { student: 's1', course: 'c1' },
      outcome: 's1 has 5 courses already',
    },
    {
      name: 'a course with a free seat takes a student',
      past: [defined('c1', 10)],
      command: { student: 's1', course: 'c1' },
      outcome: subscribed('s1', 'c1'),
    },
  ],
};
