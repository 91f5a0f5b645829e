/**
 * Publishes a component: validates it, writes it into the log of its database part by part, then defines the version.
 *
 * ```
 *   validated ──▶ checked and compiled ──▶ define ── no-component ──▶ parts from the first missing one ───┐
 *                                            ▲                                                            │
 *                                            └────────────────────────────────────────────────────────────┘
 * ```
 * The definition is tried first, so that publishing the same again costs one entry and no parts. When several
 * publishers send the same bytes, they share the upload: each continues with the part that the database lacks. Parts of
 * a publisher that stops early are removed later (ADR 0105).
 *
 *   V15 A version is defined only after this node has run its component under the limits of components, and the bytes
 *       that are replicated under a digest have that digest.
 */
import { assert, compareBytes } from '#base';
import type { Binding, DefinitionOutcome } from '#cluster';
import { sha256 } from '#components';
import {
  BLOB_PART_BYTES,
  COMPONENT_BYTES_MAX,
  type ComponentReference,
  type DefinedVersion,
  type Definition,
  type DefinitionEntry,
  encodeDefinition,
  isComponentDigest,
  partCountOf,
  type VersionNumber,
} from '#model';
import { confirmedVersions, LATEST } from '../components/defined-version.ts';
import { functionOf } from '../components/loaded.ts';
import { openComponents, type ServiceContext } from '../context.ts';
import {
  anotherVersion,
  componentRefused,
  componentTooLarge,
  presenterNotPublished,
  publishersInTheWay,
  stateViewsNotPublished,
  tooManyVersions,
  versionTaken,
} from '../errors.ts';
import { type Define, defining } from './define.ts';
import type { PublishComponentReply, PublishComponentRequest } from './operations.ts';
import { versionReply } from './version-reads.ts';

/** A component and its definition. */
interface Publication {
  readonly definition: Definition;
  readonly blob: ComponentReference;
  readonly bytes: Uint8Array;
  readonly isInactive?: boolean | undefined;
}

/**
 * @throws DatabaseError invalid_argument: with all faults of the definition, or with the code of a refusal as reason;
 * too_large; not_found; any error of a write
 */
export async function publishComponent(
  context: ServiceContext,
  request: PublishComponentRequest,
): Promise<PublishComponentReply> {
  const { definition, component: bytes, isInactive } = request;
  checkRequest(request);
  assert(definition !== undefined, 'A definition that has no faults is there');
  // A missing database is reported before the component is checked, which takes long.
  return defining(context, request, async (binding, define) => {
    await checkPresenter(context, binding, definition);
    await checkStateViews(context, binding, definition);
    const blob = { digest: await digestOf(bytes), size: bytes.length };
    const publication = { definition, blob, bytes, isInactive };
    const { version: wanted } = request;
    if (wanted !== undefined) await checkVersion(context, binding, publication, wanted);
    await lookAt(context, request, publication);
    const { version, isNew } = await publish(publication, define, binding);
    const { kind: component, name } = definition;
    if (wanted !== undefined && version !== wanted) throw anotherVersion(definition, { wanted, version });
    return { ...(await versionReply(context, binding, { component, name, version })), isNew };
  });
}

function checkRequest({ faults, component, componentField }: PublishComponentRequest): void {
  if (component.length > COMPONENT_BYTES_MAX) throw componentTooLarge(componentField, component.length);
  const what = 'What is published is malformed';
  if (component.length === 0) {
    faults.add(componentField, 'is empty; it must be a component of WebAssembly');
    throw faults.toError(what).with({ reason: 'InvalidComponent' });
  }
  faults.throwIfAny(what);
}

/**
 * Refuses a State View whose presenter does not exist. The presenter may still be deleted later; reads of the view then
 * report it.
 */
async function checkPresenter(context: ServiceContext, binding: Binding, definition: Definition): Promise<void> {
  const presenter = definition.kind === 'state-view' ? definition.presenter : undefined;
  if (presenter === undefined) return;
  const { version: wanted } = presenter;
  const isThere = (all: readonly DefinedVersion[]): boolean =>
    all.some(({ version }) => (wanted ?? version) === version);
  const asked = { component: 'presenter', name: presenter.name, isThere } as const;
  const versions = await confirmedVersions(context, { binding, revision: LATEST }, asked);
  if (!isThere(versions)) throw presenterNotPublished(presenter, versions);
}

/** Requires that the State Views of a State Change can be read when it is published. They may be deleted later. */
async function checkStateViews(context: ServiceContext, binding: Binding, definition: Definition): Promise<void> {
  const names = definition.kind === 'state-change' ? definition.stateViews : [];
  const isThere = (all: readonly DefinedVersion[]): boolean => all.length > 0;
  const missing: string[] = [];
  for (const name of names) {
    const asked = { component: 'state-view', name, isThere } as const;
    if (!isThere(await confirmedVersions(context, { binding, revision: LATEST }, asked))) missing.push(name);
  }
  if (missing.length > 0) throw stateViewsNotPublished(missing);
}

/** Version numbers are never reused, not even after a deletion. */
async function checkVersion(
  context: ServiceContext,
  binding: Binding,
  { definition, blob }: Publication,
  wanted: number,
): Promise<void> {
  const title = { component: definition.kind, name: definition.name };
  const isThere = (all: readonly DefinedVersion[]): boolean => all.some(({ version }) => version >= wanted - 1);
  const versions = await confirmedVersions(context, { binding, revision: LATEST }, { ...title, isThere });
  const next = (await context.reads.definitions(binding)).lastVersion(title) + 1;
  const known = versions.find(({ version }) => version === wanted);
  const isSame = known?.component.digest === blob.digest && isDefinition(known.definition, definition);
  if (wanted !== next && !isSame) throw versionTaken(definition, { wanted, next, isThere: known !== undefined });
}

function isDefinition(one: Definition, other: Definition): boolean {
  return compareBytes(encodeDefinition(one), encodeDefinition(other)) === 0;
}

async function digestOf(bytes: Uint8Array): Promise<ComponentReference['digest']> {
  const digest: string = (await sha256(bytes)).toString('hex');
  assert(isComponentDigest(digest), 'A digest in hexadecimal is one', digest);
  return digest;
}

/** Compiles the artifact; this node keeps it for the first use of the component. */
async function lookAt(
  context: ServiceContext,
  { componentField }: PublishComponentRequest,
  { definition, blob, bytes }: Publication,
): Promise<void> {
  const { artifacts } = await openComponents(context);
  const { kind } = definition;
  const made = await artifacts.prepare({
    kind,
    digest: blob.digest,
    functionName: functionOf(definition),
    bytes: async () => bytes,
  });
  if (made.kind === 'failure') throw componentRefused(componentField, made.reason);
}

/** Limit on steps per part: two for each part, and as many when other publishers have added or removed some. */
const STEPS_PER_PART = 4;

async function publish(
  { definition, blob, bytes, isInactive }: Publication,
  define: Define,
  binding: Binding,
): Promise<{ readonly version: VersionNumber; readonly isNew: boolean }> {
  const whole: DefinitionEntry = { kind: 'define', blob, definition, isInactive: isInactive === true };
  const count = partCountOf(blob);
  let entry: DefinitionEntry = whole;
  for (let steps = STEPS_PER_PART * (count + 1); steps > 0; steps--) {
    const outcome = await define(entry);
    if (outcome.kind === 'defined') return outcome;
    if (outcome.kind === 'too-many') throw tooManyVersions(binding.name);
    const next = nextPart(outcome);
    entry = next < count ? { kind: 'part', blob, part: next, bytes: partOf(bytes, next) } : whole;
  }
  throw publishersInTheWay(binding.name);
}

function nextPart(outcome: DefinitionOutcome): number {
  const isAboutParts =
    outcome.kind === 'no-component' || outcome.kind === 'part-taken' || outcome.kind === 'part-refused';
  assert(isAboutParts, 'A part, or what it is for, is answered by the next part', outcome);
  return outcome.next;
}

function partOf(bytes: Uint8Array, part: number): Uint8Array {
  return bytes.subarray(part * BLOB_PART_BYTES, (part + 1) * BLOB_PART_BYTES);
}
