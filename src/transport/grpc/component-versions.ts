/** The methods that change the state of component versions, and list them. */
import { instantFromMs, parseHex } from '#base';
import { type ComponentKind, type DefinedVersion, Faults, type MaintenanceMode } from '#model';
import type { DeleteVersionsRequest, ListVersionsRequest, SetVersionStatusRequest } from '#service';
import {
  ActivateComponentReply,
  ActivateStateViewReply,
  type ComponentVersion,
  DeactivateComponentReply,
  DeactivateStateViewReply,
  DeleteComponentReply,
  ExpireSnapshotsReply,
  ListComponentVersionsReply,
} from '../../../proto/gen/cairn/v1/component.ts';
import { readRequest } from '../request-reader.ts';
import type { GrpcContext } from './metadata.ts';
import { floorsOf } from './metadata.ts';
import { type MessageType, shape, unary, write } from './unary.ts';
import type { UnaryMethod } from './wire/method.ts';

const MODE = 'maintenance_mode';
const KINDS: readonly (ComponentKind | undefined)[] = [undefined, 'state-view', 'state-change', 'presenter'];
const MODES: readonly MaintenanceMode[] = ['lazy', 'lazy', 'eager', 'scheduled'];
const SENT_KINDS = { 'state-view': 1, 'state-change': 2, presenter: 3 } as const;
const SENT_MODES = { lazy: 1, eager: 2, scheduled: 3 } as const;

export function versionMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [
    settingStatus(context, 'ActivateComponent', ActivateComponentReply),
    settingStatus(context, 'DeactivateComponent', DeactivateComponentReply),
    settingStatus(context, 'ActivateStateView', ActivateStateViewReply),
    settingStatus(context, 'DeactivateStateView', DeactivateStateViewReply),
    deleting(context),
    expiring(context),
    listing(context),
  ];
}

type StatusMethod = 'ActivateComponent' | 'DeactivateComponent' | 'ActivateStateView' | 'DeactivateStateView';

function settingStatus(
  context: GrpcContext,
  name: StatusMethod,
  reply: MessageType<{ readonly version: ComponentVersion | undefined }>,
): UnaryMethod {
  const active = name.startsWith('Activate');
  const parse = (message: Uint8Array): SetVersionStatusRequest => parseStatus(name, active, message);
  return write(context, { name, parse, reply }, async (request) => {
    const set = await context.service.setVersionStatus(request);
    return { message: { version: messageOf(set.version) }, scope: set };
  });
}

function parseStatus(method: StatusMethod, active: boolean, message: Uint8Array): SetVersionStatusRequest {
  const faults = new Faults();
  const sent = readRequest(`cairn.v1.${method}Request`, message, faults);
  const kind = 'kind' in sent ? kindOf(sent.kind, faults) : 'state-view';
  // A deactivation has no mode: a version that is not served is not maintained.
  const number = 'maintenanceMode' in sent ? Number(sent.maintenanceMode) : 0;
  const mode = MODES[number];
  if (mode === undefined) faults.add(MODE, `must be from 0 to ${MODES.length - 1}`, number);
  else if (mode !== 'lazy' && kind !== 'state-view')
    faults.add(MODE, 'must be absent: only State Views have a maintenance mode', number);
  faults.throwIfAny('The request is malformed');
  const { databaseName, version } = sent;
  const name = 'name' in sent ? sent.name : sent.stateViewName;
  return { databaseName, kind, name, version, status: { active, mode: mode ?? 'lazy' } };
}

/** Rejects the value that means every kind. */
function kindOf(sent: number | bigint, faults: Faults): ComponentKind {
  const number = Number(sent);
  const kind = KINDS[number];
  if (kind === undefined) faults.add('kind', `must be from 1 to ${KINDS.length - 1}`, number);
  return kind ?? 'state-view';
}

function parseDelete(message: Uint8Array): DeleteVersionsRequest {
  const faults = new Faults();
  const sent = readRequest('cairn.v1.DeleteComponentRequest', message, faults);
  const kind = kindOf(sent.kind, faults);
  faults.throwIfAny('The request is malformed');
  return { ...sent, kind };
}

function deleting(context: GrpcContext): UnaryMethod {
  const asked = { name: 'DeleteComponent', parse: parseDelete, reply: DeleteComponentReply };
  return write(context, asked, async (request) => ({
    message: {},
    scope: await context.service.deleteVersions(request),
  }));
}

function expiring(context: GrpcContext): UnaryMethod {
  return write(context, shape('ExpireSnapshots', ExpireSnapshotsReply), async (request) => {
    const { foldEpoch, ...scope } = await context.service.expireSnapshots({ ...request, name: request.stateViewName });
    return { message: { foldEpoch }, scope };
  });
}

function parseList(message: Uint8Array): Pick<ListVersionsRequest, 'databaseName' | 'kind' | 'name'> {
  const faults = new Faults();
  const sent = readRequest('cairn.v1.ListComponentVersionsRequest', message, faults);
  const kind = Number(sent.kind);
  if (kind >= KINDS.length) faults.add('kind', `must be from 0 to ${KINDS.length - 1}`, kind);
  faults.throwIfAny('The request is malformed');
  return { ...sent, kind: KINDS[kind] };
}

function listing({ service }: GrpcContext): UnaryMethod {
  return unary(
    { name: 'ListComponentVersions', parse: parseList, reply: ListComponentVersionsReply },
    async (request, call) => {
      const list = await service.listVersions({ ...request, at: 'latest', signal: call.signal, ...floorsOf(call) });
      return { message: { versions: list.versions.map(messageOf) }, scope: list };
    },
  );
}

function messageOf(defined: DefinedVersion): ComponentVersion {
  const { definition, version, component, definedAtMs, status } = defined;
  return {
    kind: SENT_KINDS[definition.kind],
    name: definition.name,
    version,
    description: definition.description,
    wasmDigest: Buffer.from(parseHex(component.digest) ?? []),
    publishedAt: instantFromMs(definedAtMs),
    active: status.active,
    maintenanceMode: SENT_MODES[status.mode],
  };
}
