// Goal: the example of courses decides over a course and a student at once. Method: scenarios of the test kit, over
// plain code; the component that is built of it runs on a node in test/examples/courses.long.test.ts.
import { describe, it } from 'vitest';
import { courseEvent, seatEvent } from '../../examples/courses/events.ts';
import { component } from '../../examples/courses/subscriptions.ts';
import { plainChange } from '../../sdk/component/testing/plain.ts';
import { change } from '../../sdk/component/testing/scenario.ts';

const host = (): ReturnType<typeof change> => change(plainChange(component));

describe('the courses', () => {
  const subscription = (student: string, course: string): { method: string; path: string } => ({
    method: 'PUT',
    path: `/courses/${course}/students/${student}`,
  });
  const small = courseEvent('course.defined', 'art', 2);
  const ada = seatEvent('student.subscribed', 'ada', 'art');

  it('are defined once, and get other numbers of seats', async () => {
    const define = { method: 'POST', path: '/courses/art' };
    await host().given({}).when(define, { capacity: 2 }).thenEmits([small]);
    await host()
      .given({ events: [small] })
      .when(define, { capacity: 3 })
      .thenRefuses('validation-failed', { code: 'course-exists' });
    const resize = { method: 'PUT', path: '/courses/art/capacity' };
    const given = host().given({ events: [small, ada, seatEvent('student.subscribed', 'bob', 'art')] });
    await given.when(resize, { capacity: 5 }).thenEmits([courseEvent('course.resized', 'art', 5)]);
    await given.when(resize, { capacity: 2 }).thenEmits([]);
    const details = { taken: 2, capacity: 1 };
    await given.when(resize, { capacity: 1 }).thenRefuses('validation-failed', { code: 'seats-taken', details });
    await host()
      .given({})
      .when(resize, { capacity: 5 })
      .thenRefuses('state-not-found', { message: /course art$/ });
    await given.when(resize, { capacity: -1 }).thenRefuses('invalid-input', { message: /^capacity is -1; / });
    await given.when(resize, null).thenRefuses('invalid-input', { message: /^capacity is undefined; / });
  });

  it('give a student a free seat once, also a seat that another student has left', async () => {
    const full = [small, ada, seatEvent('student.subscribed', 'bob', 'art')];
    const cleo = seatEvent('student.subscribed', 'cleo', 'art');
    await host()
      .given({ events: [small, ada] })
      .when(subscription('cleo', 'art'))
      .thenEmits([cleo]);
    await host()
      .given({ events: [small, ada] })
      .when(subscription('ada', 'art'))
      .thenEmits([]);
    await host()
      .given({ events: full })
      .when(subscription('cleo', 'art'))
      .thenRefuses('validation-failed', { code: 'course-full', message: /^All 2 seats of art are taken$/ });
    const left = seatEvent('student.unsubscribed', 'ada', 'art');
    await host()
      .given({ events: [...full, left] })
      .when(subscription('cleo', 'art'))
      .thenEmits([cleo]);
    await host().given({}).when(subscription('ada', 'art')).thenRefuses('state-not-found');
  });

  it('refuse a student a sixth course, with any name', async () => {
    const student = 'Zoë / ?#%';
    const path = encodeURIComponent(student);
    const five = ['a', 'b', 'c', 'd', 'e'].flatMap((course) => [
      courseEvent('course.defined', course, 1),
      seatEvent('student.subscribed', student, course),
    ]);
    const given = host().given({ events: [small, ...five] });
    await given
      .when(subscription(path, 'art'))
      .thenRefuses('validation-failed', { code: 'too-many-courses', message: /^Zoë \/ \?#% is in 5 courses; 5 are/ });
    const left = [...five, small, seatEvent('student.unsubscribed', student, 'c')];
    await host()
      .given({ events: left })
      .when(subscription(path, 'art'))
      .thenEmits([seatEvent('student.subscribed', student, 'art')]);
  });
});
