/** The methods that the service names and this release does not serve yet: State Views, State Changes, presenters. */
import { DatabaseError } from '#base';
import { EVENT_STORE } from './context.ts';
import { statusOfError } from './error-status.ts';
import type { UnaryMethod } from './wire/method.ts';

export const UNIMPLEMENTED: ReadonlySet<string> = new Set(['ProcessStateChange', 'ExecuteStateChange']);

export function unimplementedMethods(): readonly UnaryMethod[] {
  return [...UNIMPLEMENTED].map((name) => {
    const status = statusOfError(new DatabaseError('unimplemented', `${name} is not part of this release`));
    return { kind: 'unary', service: EVENT_STORE, name, handle: (call) => call.finish(status) };
  });
}
