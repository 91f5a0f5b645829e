/** The methods that say what becomes of the versions of components, and list them. */
import { instantFromMs, parseHex } from '#base';
import { type ComponentKind, type DefinedVersion, Faults, type MaintenanceMode } from '#model';
import {
  ActivateComponentReply,
  ActivateStateViewReply,
  type ComponentVersion,
  DeactivateComponentReply,
  DeactivateStateViewReply,
  DeleteComponentReply,
  ExpireSnapshotsReply,
  ListComponentVersionsReply,
  ComponentKind as SentKind,
  MaintenanceMode as SentMode,
} from '../../../proto/gen/cairn/v1/component.ts';
import type { GrpcContext } from './context.ts';
import type { MessageType } from './messages.ts';
import { floorsOf, ledWrite, writeOf } from './metadata.ts';
import { Fields, type MessageShape } from './request-walk.ts';
import { unary } from './unary.ts';
import type { UnaryMethod } from './wire/method.ts';

const KINDS: readonly (ComponentKind | undefined)[] = [undefined, 'state-view', 'state-change', 'presenter'];
const MODES: readonly MaintenanceMode[] = ['lazy', 'lazy', 'eager', 'scheduled'];

const SENT_KINDS: Readonly<Record<ComponentKind, SentKind>> = {
  'state-view': SentKind.COMPONENT_KIND_STATE_VIEW,
  'state-change': SentKind.COMPONENT_KIND_STATE_CHANGE,
  presenter: SentKind.COMPONENT_KIND_PRESENTER,
};
const SENT_MODES: Readonly<Record<MaintenanceMode, SentMode>> = {
  lazy: SentMode.MAINTENANCE_MODE_LAZY,
  eager: SentMode.MAINTENANCE_MODE_EAGER,
  scheduled: SentMode.MAINTENANCE_MODE_SCHEDULED,
};

/** Their replies and their errors say where the leader is. */
export const VERSION_WRITES: readonly string[] = [
  'ActivateComponent',
  'DeactivateComponent',
  'ActivateStateView',
  'DeactivateStateView',
  'DeleteComponent',
  'ExpireSnapshots',
];

export function versionMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [
    settingStatus(context, ACTIVATE, ActivateComponentReply),
    settingStatus(context, DEACTIVATE, DeactivateComponentReply),
    settingStatus(context, ACTIVATE_VIEW, ActivateStateViewReply),
    settingStatus(context, DEACTIVATE_VIEW, DeactivateStateViewReply),
    deleting(context),
    expiring(context),
    listing(context),
  ];
}

interface StatusRequest {
  readonly databaseName: string;
  readonly kind: ComponentKind;
  readonly name: string;
  readonly version: number | bigint;
  readonly mode: MaintenanceMode;
}

const DATABASE = [0x0a, 'database_name'] as const;
const KIND = [0x10, 'kind'] as const;
const NAME = [0x1a, 'name'] as const;
const VIEW_NAME = [0x12, 'state_view_name'] as const;
const MODE = 'maintenance_mode';

/** A deactivation has no mode: a version that is not served is not kept. */
const DEACTIVATE: MessageShape = {
  type: 'DeactivateComponentRequest',
  texts: new Map([DATABASE, NAME]),
  numbers: new Map([KIND, [0x20, 'version']]),
};
const ACTIVATE: MessageShape = {
  type: 'ActivateComponentRequest',
  texts: new Map([DATABASE, NAME]),
  numbers: new Map([KIND, [0x20, 'version'], [0x28, MODE]]),
};
const DEACTIVATE_VIEW: MessageShape = {
  type: 'DeactivateStateViewRequest',
  texts: new Map([DATABASE, VIEW_NAME]),
  numbers: new Map([[0x18, 'version']]),
};
const ACTIVATE_VIEW: MessageShape = {
  type: 'ActivateStateViewRequest',
  texts: new Map([DATABASE, VIEW_NAME]),
  numbers: new Map([
    [0x18, 'version'],
    [0x20, MODE],
  ]),
};

function settingStatus(
  { service, leaderTrailers }: GrpcContext,
  shape: MessageShape,
  reply: Pick<MessageType<{ readonly version: ComponentVersion | undefined }>, 'encode'>,
): UnaryMethod {
  const name = shape.type.slice(0, -'Request'.length);
  const active = name.startsWith('Activate');
  const parse = (message: Uint8Array): StatusRequest => parseStatus(message, shape);
  return unary({ name, parse, reply, traits: { mustAnswer: true } }, async (request, call) => {
    const { mode, ...asked } = request;
    const setting = { ...asked, status: { active, mode }, ...writeOf(call) };
    const set = await ledWrite(service, request.databaseName, () => service.setVersionStatus(setting));
    const trailers = leaderTrailers.of(request.databaseName);
    return { message: { version: messageOf(set.version) }, scope: set, trailers };
  });
}

function parseStatus(message: Uint8Array, shape: MessageShape): StatusRequest {
  const faults = new Faults();
  const fields = new Fields(message, shape, { field: '', faults });
  const isOfView = shape.texts.has(VIEW_NAME[0]);
  const kind = isOfView ? 'state-view' : kindOf(fields, faults);
  const number = Number(fields.number(MODE) ?? 0);
  const mode = MODES[number];
  if (mode === undefined) faults.add(MODE, `must be from 0 to ${MODES.length - 1}`, number);
  else if (mode !== 'lazy' && kind !== 'state-view')
    faults.add(MODE, 'must be absent: only State Views have a maintenance mode', number);
  faults.throwIfAny('The request is malformed');
  return {
    databaseName: fields.text('database_name') ?? '',
    kind,
    name: fields.text(isOfView ? VIEW_NAME[1] : NAME[1]) ?? '',
    version: fields.number('version') ?? 0,
    mode: mode ?? 'lazy',
  };
}

/** Refuses every kind at once. */
function kindOf(fields: Fields, faults: Faults): ComponentKind {
  const number = Number(fields.number('kind') ?? 0);
  const kind = KINDS[number];
  if (kind === undefined) faults.add('kind', `must be from 1 to ${KINDS.length - 1}`, number);
  return kind ?? 'state-view';
}

const DELETE: MessageShape = {
  type: 'DeleteComponentRequest',
  texts: new Map([DATABASE, NAME]),
  numbers: new Map([KIND, [0x20, 'version'], [0x28, 'only_inactive']]),
};

interface DeleteRequest {
  readonly databaseName: string;
  readonly kind: ComponentKind;
  readonly name: string;
  readonly version: number | bigint | undefined;
  readonly onlyInactive: boolean;
}

function parseDelete(message: Uint8Array): DeleteRequest {
  const faults = new Faults();
  const fields = new Fields(message, DELETE, { field: '', faults });
  const kind = kindOf(fields, faults);
  faults.throwIfAny('The request is malformed');
  return {
    databaseName: fields.text('database_name') ?? '',
    kind,
    name: fields.text('name') ?? '',
    version: fields.number('version'),
    onlyInactive: Number(fields.number('only_inactive') ?? 0) !== 0,
  };
}

function deleting({ service, leaderTrailers }: GrpcContext): UnaryMethod {
  const traits = { mustAnswer: true };
  return unary(
    { name: 'DeleteComponent', parse: parseDelete, reply: DeleteComponentReply, traits },
    async (request, call) => {
      const deletion = { ...request, ...writeOf(call) };
      const scope = await ledWrite(service, request.databaseName, () => service.deleteVersions(deletion));
      return { message: {}, scope, trailers: leaderTrailers.of(request.databaseName) };
    },
  );
}

const EXPIRE: MessageShape = {
  type: 'ExpireSnapshotsRequest',
  texts: new Map([DATABASE, VIEW_NAME]),
};

function parseExpire(message: Uint8Array): { readonly databaseName: string; readonly name: string } {
  const faults = new Faults();
  const fields = new Fields(message, EXPIRE, { field: '', faults });
  faults.throwIfAny('The request is malformed');
  return { databaseName: fields.text('database_name') ?? '', name: fields.text('state_view_name') ?? '' };
}

function expiring({ service, leaderTrailers }: GrpcContext): UnaryMethod {
  const traits = { mustAnswer: true };
  return unary(
    { name: 'ExpireSnapshots', parse: parseExpire, reply: ExpireSnapshotsReply, traits },
    async (request, call) => {
      const expiry = { ...request, ...writeOf(call) };
      const expired = await ledWrite(service, request.databaseName, () => service.expireSnapshots(expiry));
      const { foldEpoch, ...scope } = expired;
      return { message: { foldEpoch }, scope, trailers: leaderTrailers.of(request.databaseName) };
    },
  );
}

const LIST: MessageShape = {
  type: 'ListComponentVersionsRequest',
  texts: new Map([DATABASE, NAME]),
  numbers: new Map([KIND]),
};

interface ListRequest {
  readonly databaseName: string;
  readonly kind: ComponentKind | undefined;
  readonly name: string | undefined;
}

function parseList(message: Uint8Array): ListRequest {
  const faults = new Faults();
  const fields = new Fields(message, LIST, { field: '', faults });
  const kind = Number(fields.number('kind') ?? 0);
  if (kind >= KINDS.length) faults.add('kind', `must be from 0 to ${KINDS.length - 1}`, kind);
  faults.throwIfAny('The request is malformed');
  return { databaseName: fields.text('database_name') ?? '', kind: KINDS[kind], name: fields.text('name') };
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
