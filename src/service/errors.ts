/** Errors of the service, with the offending value and what would be right. */
import { DatabaseError, type ErrorCode, type ErrorScope, quote } from '#base';
import type { DecisionFailure, NoArtifact, ViewFailure } from '#components';
import {
  COMPONENT_BYTES_MAX,
  type ComponentKind,
  type DefinedVersion,
  type Definition,
  type PresenterReference,
} from '#model';
import type { ReadScope } from './operations.ts';

/** Reason of the two errors below. */
export const DATABASE_NOT_FOUND = 'DatabaseNotFound';

export function databaseNotFound(name: string): DatabaseError {
  return new DatabaseError(
    'not_found',
    `There is no database ${quote(name)}; create it, or use a name that the catalog lists`,
    {
      details: { reason: DATABASE_NOT_FOUND },
    },
  );
}

/** The instance that a request uses is gone; the name may mean another one. */
export function databaseDeleted(name: string): DatabaseError {
  return new DatabaseError('not_found', `The database ${quote(name)} was deleted`, {
    details: { reason: DATABASE_NOT_FOUND },
  });
}

/** The replica that was read on this node has ended and a new one starts; the database still exists. */
export function copyBegunAnew(name: string): DatabaseError {
  const message = `The database ${quote(name)} is being moved to this node; send again`;
  return new DatabaseError('unavailable', message, { details: { reason: 'CopyMoved' } });
}

export function databaseExists(name: string): DatabaseError {
  return new DatabaseError('already_exists', `There is already a database ${quote(name)}; take another name`);
}

export function revisionNotFound(scope: ReadScope, revision: number | bigint): DatabaseError {
  return lacking(scope, 'RevisionNotFound', `has no revision ${revision}; its latest is ${scope.revision}`);
}

/** The requested revision is beyond the database at the revision of the scope. */
export function revisionNotYet(scope: ReadScope, revision: number | bigint): DatabaseError {
  const what = `at revision ${scope.revision} has no revision ${revision}; read at that revision or later`;
  return lacking(scope, 'RevisionNotFound', what);
}

export function notYetCreated(scope: ReadScope, at: string, createdAt: string): DatabaseError {
  return lacking(scope, 'RevisionNotFound', `did not exist at ${at}; it was created at ${createdAt}`);
}

export function transactionNotFound(scope: ReadScope, transactionId: string): DatabaseError {
  return lacking(scope, 'TransactionNotFound', `has no transaction ${transactionId}`);
}

export function eventNotFound(scope: ReadScope, what: string): DatabaseError {
  return lacking(scope, 'EventNotFound', `has no event ${what}`);
}

function lacking(scope: ReadScope, reason: string, what: string): DatabaseError {
  const message = `The database ${quote(scope.databaseName)} ${what}`;
  return new DatabaseError('not_found', message, { details: { reason, scope: where(scope) } });
}

const NOT_DEFINED = {
  'state-view': { reason: 'StateViewNotFound', what: 'State View' },
  'state-change': { reason: 'StateChangeNotFound', what: 'State Change' },
  presenter: { reason: 'PresenterNotFound', what: 'presenter' },
} as const;

interface NamedVersion {
  readonly component: ComponentKind;
  readonly name: string;
  readonly version?: number | bigint | undefined;
}

/** `versions` are the existing versions of the name at the revision. */
export function versionNotFound(
  scope: ReadScope,
  { component, name, version }: NamedVersion,
  versions: readonly DefinedVersion[],
): DatabaseError {
  const { reason, what } = NOT_DEFINED[component];
  const title = `${what} ${quote(name)}`;
  if (versions.length === 0) return lacking(scope, reason, `has no ${title}; publish it`);
  const known = versions.map((each) => `${each.version}${each.status.active ? '' : ' (not active)'}`).join(', ');
  const active = version === undefined ? 'active version' : `active version ${version}`;
  return lacking(scope, reason, `has no ${active} of the ${title}; there are ${known}`);
}

export function versionActive({ component, name, version }: NamedVersion): DatabaseError {
  const { what } = NOT_DEFINED[component];
  const message = `version ${version} of the ${what} ${quote(name)} is active; deactivate it first`;
  return new DatabaseError('constraint_violated', message, { details: { reason: 'VersionActive' } });
}

export function presenterNotPublished(
  { name, version }: PresenterReference,
  versions: readonly DefinedVersion[],
): DatabaseError {
  const known = versions.map((each) => each.version).join(', ');
  const description =
    versions.length === 0
      ? `names the presenter ${quote(name)}, which is not published; publish it first`
      : `names version ${version} of the presenter ${quote(name)}; there are ${known}`;
  const details = { reason: NOT_DEFINED.presenter.reason, violations: [{ field: 'presenter', description }] };
  return new DatabaseError('invalid_argument', `presenter ${description}`, { details });
}

export function stateViewsNotPublished(names: readonly string[]): DatabaseError {
  const violations = names.map((name) => ({
    field: 'state_view_names',
    description: `names the State View ${quote(name)}, which is not published; publish it first`,
  }));
  const message = violations.map(({ field, description }) => `${field} ${description}`).join('\n');
  const details = { reason: NOT_DEFINED['state-view'].reason, violations };
  return new DatabaseError('invalid_argument', message, { details });
}

/** Its last version was deleted while its component was being loaded. */
export function componentDeleted(scope: ReadScope, version: DefinedVersion): DatabaseError {
  const { reason } = NOT_DEFINED[version.definition.kind];
  const message = `The ${titleOf(version)} was deleted`;
  return new DatabaseError('not_found', message, { details: { reason, scope: where(scope) } });
}

/** Reason of errors that a component causes. */
export const WASM_EXECUTION_ERROR = 'WasmExecutionError';

/** This node cannot run the published component. */
export function componentNotRun(scope: ReadScope, version: DefinedVersion, why: string): DatabaseError {
  const message = `The ${titleOf(version)} cannot be run: ${why}`;
  return new DatabaseError('internal', message, { details: { reason: WASM_EXECUTION_ERROR, scope: where(scope) } });
}

function titleOf({ definition: { kind, name }, version }: DefinedVersion): string {
  return `${NOT_DEFINED[kind].what} ${quote(name)}, version ${version},`;
}

type Failed = Pick<ViewFailure | DecisionFailure, 'code' | 'message' | 'retryAfterMs'>;

const FAILURES: Readonly<Record<Failed['code'], ErrorCode>> = {
  InvalidParameters: 'invalid_argument',
  ValidationError: 'invalid_argument',
  WasmExecutionError: 'internal',
  Busy: 'busy',
  Quarantined: 'unavailable',
};

/** A State View or a State Change has failed. */
export function componentFailed(scope: ReadScope, { code, message, retryAfterMs }: Failed): DatabaseError {
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new DatabaseError(FAILURES[code], message, { details: { reason: code, scope: where(scope), ...wait } });
}

export function componentTooLarge(field: string, bytes: number): DatabaseError {
  const description = `has ${bytes} bytes; a component has at most ${COMPONENT_BYTES_MAX}`;
  const details = { reason: 'TooLarge', violations: [{ field, description }] };
  return new DatabaseError('too_large', `${field} ${description}`, { details });
}

/** The check of a component has refused it. */
export function componentRefused(field: string, none: NoArtifact): DatabaseError {
  if (none.kind === 'damaged') return new DatabaseError(none.code, none.message);
  const { code, message, offset } = none.refusal;
  const description = `is refused: ${message} (at byte ${offset})`;
  const details = { reason: code, violations: [{ field, description }] };
  return new DatabaseError('invalid_argument', `${field} ${description}`, { details });
}

export function tooManyVersions(databaseName: string): DatabaseError {
  const message = `The database ${quote(databaseName)} has as many versions of components, or names of them, as it can have; delete versions that are not needed any more`;
  return new DatabaseError('too_large', message, { details: { reason: 'TooManyVersions' } });
}

/** `next`: the next free version number; `isThere`: the wanted version exists with other content. */
export function versionTaken(
  { kind, name }: Definition,
  { wanted, next, isThere }: { readonly wanted: number; readonly next: number; readonly isThere: boolean },
): DatabaseError {
  const what = `version ${wanted} of the ${NOT_DEFINED[kind].what} ${quote(name)}`;
  const why = isThere ? `There is ${what} already, with other content` : `This cannot be ${what}`;
  return new DatabaseError('already_exists', `${why}; the next version is ${next}`);
}

/** A concurrent publication took the version. */
export function anotherVersion(
  { kind, name }: Definition,
  { wanted, version }: { readonly wanted: number; readonly version: number },
): DatabaseError {
  const message = `Another publication became version ${wanted} of the ${NOT_DEFINED[kind].what} ${quote(name)}; this one is version ${version}`;
  return new DatabaseError('already_exists', message);
}

export function publishersInTheWay(databaseName: string): DatabaseError {
  const message = `Too many components are being published in the database ${quote(databaseName)} at the same time; publish this one again`;
  return new DatabaseError('busy', message, { details: { reason: 'Busy' } });
}

export function tooManyStreams(what: 'streaming reads' | 'live tails', countMax: number): DatabaseError {
  const message = `${countMax} ${what} are open on this node, which is the maximum; use another node, or try again later`;
  return new DatabaseError('busy', message);
}

function where({ databaseId, revision }: ReadScope): ErrorScope {
  return { databaseId, revision };
}
