/**
 * A State Change over several entities: a course has so many seats, and a student takes so many courses at most.
 *
 * No course knows its students and no student the courses. A command is decided over the events of all that it is
 * about, and committed only if there are no others by then: that is the whole consistency boundary, another one for
 * each command.
 */
import {
  type Command,
  CommandRefused,
  type Decider,
  decider,
  defineStateChange,
  type NewEvent,
  type StateChangeComponent,
} from '../../sdk/component/src/index.ts';
import { aboutCourse, aboutStudent, type CourseEvent, courseEvent, seatEvent } from './events.ts';

const COURSES_PER_STUDENT = 5;
const EVENTS_MAX = 9000;

/** State of the course and the student of a command. Of other courses it has only that the student is in them. */
interface State {
  readonly capacities: Map<string, number>;
  readonly students: Map<string, Set<string>>;
}

type Wish =
  | { readonly kind: 'define' | 'resize'; readonly course: string; readonly capacity: number }
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly course: string; readonly student: string };

const courses: Decider<State, Wish, CourseEvent> = {
  initialState: () => ({ capacities: new Map(), students: new Map() }),
  evolve(state, event) {
    const course = event.subject ?? '';
    if (event.type === 'course.defined' || event.type === 'course.resized') {
      state.capacities.set(course, event.data.capacity);
      return state;
    }
    const students = studentsOf(state, course);
    if (event.type === 'student.subscribed') students.add(event.data.student);
    else students.delete(event.data.student);
    state.students.set(course, students);
    return state;
  },
  decide(state, wish): readonly NewEvent[] {
    switch (wish.kind) {
      case 'define':
        return define(state, wish);
      case 'resize':
        return resize(state, wish);
      case 'subscribe':
        return subscribe(state, wish);
      case 'unsubscribe':
        return studentsOf(state, wish.course).has(wish.student)
          ? [seatEvent('student.unsubscribed', wish.student, wish.course)]
          : [];
    }
  },
};

interface OfCourse {
  readonly course: string;
  readonly capacity: number;
}

function define(state: State, { course, capacity }: OfCourse): readonly NewEvent[] {
  if (state.capacities.has(course)) throw refused('course-exists', `There is a course ${course}`);
  return [courseEvent('course.defined', course, capacity)];
}

function resize(state: State, { course, capacity }: OfCourse): readonly NewEvent[] {
  if (capacity === capacityOf(state, course)) return [];
  const taken = studentsOf(state, course).size;
  if (capacity < taken) throw refused('seats-taken', `${taken} seats of ${course} are taken`, { taken, capacity });
  return [courseEvent('course.resized', course, capacity)];
}

interface Seat {
  readonly course: string;
  readonly student: string;
}

function subscribe(state: State, { course, student }: Seat): readonly NewEvent[] {
  const capacity = capacityOf(state, course);
  const students = studentsOf(state, course);
  if (students.has(student)) return [];
  if (students.size >= capacity) throw refused('course-full', `All ${capacity} seats of ${course} are taken`);
  const taken = [...state.students.values()].filter((others) => others.has(student)).length;
  if (taken >= COURSES_PER_STUDENT) {
    throw refused('too-many-courses', `${student} is in ${taken} courses; ${COURSES_PER_STUDENT} are the most`);
  }
  return [seatEvent('student.subscribed', student, course)];
}

function capacityOf(state: State, course: string): number {
  const capacity = state.capacities.get(course);
  if (capacity === undefined) throw new CommandRefused('state-not-found', `There is no course ${course}`);
  return capacity;
}

function studentsOf(state: State, course: string): Set<string> {
  return state.students.get(course) ?? new Set();
}

function refused(code: string, message: string, details: Readonly<Record<string, number>> = {}): CommandRefused {
  return new CommandRefused('validation-failed', message, { code, details });
}

function seatsIn(command: Command): number {
  const body = command.json<{ readonly capacity?: number } | null>();
  const capacity = body?.capacity;
  if (typeof capacity === 'number' && Number.isSafeInteger(capacity) && capacity >= 0) return capacity;
  throw new CommandRefused('invalid-input', `capacity is ${JSON.stringify(capacity)}; give a whole number from 0 on`);
}

const named = (command: Command): Seat => ({
  course: command.parameters['course'] ?? '',
  student: command.parameters['student'] ?? '',
});

export const component: StateChangeComponent = defineStateChange({
  routes: {
    'POST /courses/{course}': decider(courses, {
      events: (command) => aboutCourse(named(command).course),
      limit: EVENTS_MAX,
      given: (command) => ({ kind: 'define', ...named(command), capacity: seatsIn(command) }),
    }),
    'PUT /courses/{course}/capacity': decider(courses, {
      events: (command) => aboutCourse(named(command).course),
      limit: EVENTS_MAX,
      given: (command) => ({ kind: 'resize', ...named(command), capacity: seatsIn(command) }),
    }),
    'PUT /courses/{course}/students/{student}': decider(courses, {
      events: (command) => ({ or: [aboutCourse(named(command).course), aboutStudent(named(command).student)] }),
      limit: EVENTS_MAX,
      given: (command) => ({ kind: 'subscribe', ...named(command) }),
    }),
    // Other students who join or leave do not change whether this student may leave.
    'DELETE /courses/{course}/students/{student}': decider(courses, {
      events: (command) => ({ and: [aboutCourse(named(command).course), aboutStudent(named(command).student)] }),
      limit: EVENTS_MAX,
      given: (command) => ({ kind: 'unsubscribe', ...named(command) }),
    }),
  },
});
