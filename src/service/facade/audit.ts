/**
 * Records administrative actions when their outcome is known: changes of databases, components, keys and tokens. The
 * composition root decides where records are written.
 *
 *   V19  Every action, including a refused one, has one record on the node that decided it, with the actor and the
 *        outcome. A relayed request is recorded on the node that answers it. No record contains a secret.
 *
 * Admin requests at the peer port do not pass here; the node that receives one records it (ADR 0135).
 */
import { DatabaseError } from '#base';
import { actIn, refusalIn as refusalInReply } from '#cluster';
import { formatGrant } from '#model';
import type { DeleteVersionsRequest } from '../publishing/operations.ts';
import { aboutAct, actOf } from './cluster-acts.ts';
import type { Service } from './service.ts';

/** The principal of an action; with authentication off, `anybody`. */
export interface Actor {
  readonly id: string;
  readonly name: string;
}

export const ANYBODY: Actor = { id: 'anybody', name: 'anybody' };

export interface AuditRecord {
  /** Name of the action, such as `create-database`. */
  readonly act: string;
  readonly principal: string;
  readonly principalName: string;
  /** `denied`: a right is missing; `failed`: another reason, or an unknown outcome. */
  readonly outcome: 'done' | 'denied' | 'failed';
  /** Error code that the client received, unless it was done. */
  readonly code?: string;
  readonly reason?: string;
  /** Subject of the action: `database`, `databaseId`, `component`, `name`, `version`, `key`, `roles` and so on. */
  readonly about: About;
}

type About = Readonly<Record<string, string | number | readonly string[]>>;

type Operation<Request, Reply> = (request: Request) => Promise<Reply>;

/**
 * Returns further fields of the record; undefined values are omitted. The reply is absent when the action was not done.
 */
type Describe<Request, Reply> = (
  request: Request,
  reply: Reply | undefined,
) => Readonly<Record<string, About[string] | undefined>>;

/** Why a reply refuses the request; undefined when it was done. */
type RefusalIn<Reply> = (reply: Reply) => { readonly code: string; readonly reason: string } | undefined;

/** Wraps an operation so that each call is recorded. */
type Note = <Request, Reply>(
  act: string,
  run: Operation<Request, Reply>,
  describe: Describe<Request, Reply>,
  refusedBy?: RefusalIn<Reply>,
) => Operation<Request, Reply>;

/** Wraps the service so that each administrative action is recorded. */
export function auditService(service: Service, actor: Actor, write: (record: AuditRecord) => void): Service {
  const note = noteFor(actor, write);
  return {
    ...service,
    createDatabase: note('create-database', service.createDatabase, ({ databaseName }, reply) => ({
      database: databaseName,
      databaseId: reply?.databaseId,
    })),
    deleteDatabase: note('delete-database', service.deleteDatabase, ({ databaseName, databaseId }, reply) => ({
      database: databaseName,
      databaseId: reply?.kind === 'deleted' ? reply.databaseId : databaseId,
      result: reply?.kind,
    })),
    publishComponent: note('publish-component', service.publishComponent, ({ databaseName, definition }, reply) => ({
      database: databaseName,
      component: definition?.kind,
      name: definition?.name,
      version: reply?.version.version,
      result: reply && (reply.isNew ? 'new-version' : 'known-version'),
    })),
    setVersionStatus: note(
      'set-version-status',
      service.setVersionStatus,
      ({ databaseName, kind, name, version, status: { active, mode } }) => ({
        ...versionOf(databaseName, { kind, name, version }),
        status: active ? `active, ${mode}` : 'inactive',
      }),
    ),
    deleteVersions: note('delete-versions', service.deleteVersions, ({ databaseName, ...asked }) =>
      versionOf(databaseName, asked),
    ),
    expireSnapshots: note('expire-snapshots', service.expireSnapshots, ({ databaseName, name }, reply) => ({
      ...versionOf(databaseName, { kind: 'state-view', name }),
      foldEpoch: reply?.foldEpoch,
    })),
    issueApiKey: note('issue-api-key', service.issueApiKey, ({ name, grants }, reply) => ({
      key: reply?.key.id,
      name,
      roles: grants.map(formatGrant),
    })),
    rotateApiKey: note('rotate-api-key', service.rotateApiKey, ({ id }, reply) => ({ key: id, name: reply?.key.name })),
    revokeApiKey: note('revoke-api-key', service.revokeApiKey, ({ id, expiresAtMs }) => ({
      key: id,
      expiresAt: expiresAtMs && new Date(expiresAtMs).toISOString(),
    })),
    issueToken: note('issue-token', service.issueToken, ({ name, grants }, reply) => ({
      key: reply?.key.id,
      name,
      roles: grants.map(formatGrant),
    })),
    revokeToken: note('revoke-token', service.revokeToken, ({ id }) => ({ key: id })),
    administerCluster: (request) => {
      const order = actIn(request.order);
      if (order === undefined) return service.administerCluster(request);
      return note(actOf(order), service.administerCluster, () => aboutAct(order), refusalInReply)(request);
    },
  };
}

function noteFor({ id, name }: Actor, write: (record: AuditRecord) => void): Note {
  return (act, run, describe, refusedBy) => async (request) => {
    const whose = { act, principal: id, principalName: name };
    const reply = await run(request).catch((failure: unknown) => {
      const refusal = refusalIn(failure);
      if (refusal !== undefined) write({ ...whose, ...refusal, about: present(describe(request, undefined)) });
      throw failure;
    });
    const about = present(describe(request, reply));
    const refusal = refusedBy?.(reply);
    if (refusal === undefined) write({ ...whose, outcome: 'done', about });
    else write({ ...whose, outcome: 'failed', code: refusal.code, about: { ...about, why: refusal.reason } });
    return reply;
  };
}

function versionOf(
  database: string,
  { kind, name, version }: Pick<DeleteVersionsRequest, 'kind' | 'name' | 'version'>,
): About {
  return { database, component: kind, name, version: typeof version === 'number' ? version : `${version ?? 'all'}` };
}

/** Undefined when another node decides the request. */
function refusalIn(failure: unknown): Pick<AuditRecord, 'outcome' | 'code' | 'reason'> | undefined {
  if (!(failure instanceof DatabaseError)) return { outcome: 'failed', code: 'internal' };
  const { code, details } = failure;
  if (details.holders !== undefined) return undefined;
  const { reason } = details;
  return {
    outcome: code === 'permission_denied' ? 'denied' : 'failed',
    code,
    ...(reason !== undefined && { reason }),
  };
}

function present(fields: Readonly<Record<string, About[string] | undefined>>): About {
  const known: Record<string, About[string]> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) known[name] = value;
  return known;
}
