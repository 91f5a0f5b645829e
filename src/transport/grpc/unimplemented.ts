/** The methods that the service names and this release does not serve yet: State Views and State Changes. */
import { EVENT_STORE } from './context.ts';
import type { UnaryMethod } from './wire/method.ts';

const NAMES: readonly string[] = [
  'DefineStateView',
  'FetchStateView',
  'FetchStateViewAtRevision',
  'DefineStateChange',
  'ProcessStateChange',
  'PublishStateChange',
  'ExecuteStateChange',
];

export function unimplementedMethods(): readonly UnaryMethod[] {
  return NAMES.map((name) => ({
    kind: 'unary',
    service: EVENT_STORE,
    name,
    handle: (call) => call.finish({ code: 'UNIMPLEMENTED', message: `${name} is not part of this release` }),
  }));
}
