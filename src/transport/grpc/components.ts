/** The methods that publish components, and say what becomes of their versions. */
import { instantFromMs, parseHex } from '#base';
import { COMPONENT_BYTES_MAX, type ComponentKind, type DefinedVersion, Faults, type MaintenanceMode } from '#model';
import type { PublishComponentReply } from '#service';
import type { GrpcContext } from './context.ts';
import {
  ActivateStateViewReply,
  type ComponentVersion,
  DeactivateStateViewReply,
  DefineStateChangeResponse,
  DefineStateViewResponse,
  ListComponentVersionsReply,
  PublishPresenterReply,
  PublishStateChangeReply,
  PublishStateViewReply,
  ComponentKind as SentKind,
  MaintenanceMode as SentMode,
} from './gen/cairn/v1/component.ts';
import type { MessageType } from './messages.ts';
import { floorOf, floorsOf, refuseRelayed, requiresLeader } from './metadata.ts';
import {
  type PublishRequest,
  parseDefineStateChange,
  parseDefineStateView,
  parsePublishPresenter,
  parsePublishStateChange,
  parsePublishStateView,
} from './publish-requests.ts';
import { Fields, type MessageShape } from './request-walk.ts';
import { type Answer, unary } from './unary.ts';
import type { Call } from './wire/call.ts';
import type { UnaryMethod } from './wire/method.ts';

/** Whatever surrounds a component in its request. */
const AROUND_BYTES = 1024 * 1024;
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
export const COMPONENT_WRITES: readonly string[] = [
  'DefineStateView',
  'DefineStateChange',
  'PublishStateView',
  'PublishStateChange',
  'PublishPresenter',
  'ActivateStateView',
  'DeactivateStateView',
];

export function componentMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [
    publishing(context, 'DefineStateView', parseDefineStateView, DefineStateViewResponse),
    publishing(context, 'DefineStateChange', parseDefineStateChange, DefineStateChangeResponse),
    publishing(context, 'PublishStateView', parsePublishStateView, PublishStateViewReply),
    publishing(context, 'PublishStateChange', parsePublishStateChange, PublishStateChangeReply),
    publishing(context, 'PublishPresenter', parsePublishPresenter, PublishPresenterReply),
    settingStatus(context, 'ActivateStateView', ActivateStateViewReply),
    settingStatus(context, 'DeactivateStateView', DeactivateStateViewReply),
    listing(context),
  ];
}

function publishing(
  { service, leaderTrailers }: GrpcContext,
  name: string,
  parse: (message: Uint8Array) => PublishRequest,
  reply: Pick<MessageType<{ readonly version: number }>, 'encode'>,
): UnaryMethod {
  const traits = { mustAnswer: true, messageBytesMax: COMPONENT_BYTES_MAX + AROUND_BYTES };
  return unary({ name, parse, reply, traits }, async (request, call) => {
    const published = await service.publishComponent({ ...request, ...writeOf(call) });
    return { ...answerOf(published), trailers: leaderTrailers.of(request.databaseName) };
  });
}

function answerOf(published: PublishComponentReply): Answer<{ readonly version: number }> {
  return { message: { version: published.version.version }, scope: published };
}

interface StatusRequest {
  readonly databaseName: string;
  readonly name: string;
  readonly version: number | bigint;
  readonly mode: MaintenanceMode;
}

/** The method that has no mode sets none: a version that is not served is not kept. */
function settingStatus(
  { service, leaderTrailers }: GrpcContext,
  name: 'ActivateStateView' | 'DeactivateStateView',
  reply: Pick<MessageType<{ readonly version: ComponentVersion | undefined }>, 'encode'>,
): UnaryMethod {
  const active = name === 'ActivateStateView';
  const parse = (message: Uint8Array): StatusRequest => parseStatus(message, { type: `${name}Request`, active });
  return unary({ name, parse, reply, traits: { mustAnswer: true } }, async (request, call) => {
    const { mode, ...asked } = request;
    const set = await service.setVersionStatus({ ...asked, status: { active, mode }, ...writeOf(call) });
    const trailers = leaderTrailers.of(request.databaseName);
    return { message: { version: messageOf(set.version) }, scope: set, trailers };
  });
}

function parseStatus(message: Uint8Array, { type, active }: { type: string; active: boolean }): StatusRequest {
  const faults = new Faults();
  const numbers = new Map([[0x18, 'version']]);
  if (active) numbers.set(0x20, 'maintenance_mode');
  const shape: MessageShape = {
    type,
    texts: new Map([
      [0x0a, 'database_name'],
      [0x12, 'state_view_name'],
    ]),
    numbers,
  };
  const fields = new Fields(message, shape, { field: '', faults });
  const number = Number(fields.number('maintenance_mode') ?? 0);
  const mode = MODES[number];
  if (mode === undefined) faults.add('maintenance_mode', `must be from 0 to ${MODES.length - 1}`, String(number));
  faults.throwIfAny('The request is malformed');
  return {
    databaseName: fields.text('database_name') ?? '',
    name: fields.text('state_view_name') ?? '',
    version: fields.number('version') ?? 0,
    mode: mode ?? 'lazy',
  };
}

const LIST: MessageShape = {
  type: 'ListComponentVersionsRequest',
  texts: new Map([
    [0x0a, 'database_name'],
    [0x1a, 'name'],
  ]),
  numbers: new Map([[0x10, 'kind']]),
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
  if (kind >= KINDS.length) faults.add('kind', `must be from 0 to ${KINDS.length - 1}`, String(kind));
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

/** What every write asks for by its metadata. */
function writeOf(call: Call): { readonly requireLeader: boolean; readonly floor: ReturnType<typeof floorOf> } {
  const requireLeader = requiresLeader(call);
  if (requireLeader) refuseRelayed(call);
  return { requireLeader, floor: floorOf(call) };
}
