/**
 * Courses and who is in them. A subscription is one event of both: its source is the student, its subject the course.
 * So the events of a course and those of a student are found alike, and none of them is written twice.
 */
import type { NewEvent, Selector, StoredEvent } from '../../sdk/component/src/index.ts';

type Defined = StoredEvent<'course.defined', { readonly capacity: number }>;
type Resized = StoredEvent<'course.resized', { readonly capacity: number }>;
type Subscribed = StoredEvent<'student.subscribed', { readonly student: string }>;
type Unsubscribed = StoredEvent<'student.unsubscribed', { readonly student: string }>;
export type CourseEvent = Defined | Resized | Subscribed | Unsubscribed;

export function courseEvent(type: 'course.defined' | 'course.resized', course: string, capacity: number): NewEvent {
  return { source: '/courses', type, subject: course, data: { capacity } };
}

export function seatEvent(
  type: 'student.subscribed' | 'student.unsubscribed',
  student: string,
  course: string,
): NewEvent {
  return { source: sourceOf(student), type, subject: course, data: { student } };
}

/** Its seats, and who took them. */
export function aboutCourse(course: string): Selector {
  return { subject: course };
}

export function aboutStudent(student: string): Selector {
  return { source: sourceOf(student) };
}

function sourceOf(student: string): string {
  return `/students/${encodeURIComponent(student)}`;
}
