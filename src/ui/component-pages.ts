/** Pages of components: lists of versions, one version, a state of a State View. */
import { type DefinedVersion, isJsonType, isTextType, parametersOf } from '#model';
import { deleteView, executeCommand, expireSnapshots, publish, renderView, runCommand, showState } from './actions.ts';
import { contextLinks, moreBehind, textIn } from './database-pages.ts';
import type { Action, Description, Links, Parts, RowView } from './description.ts';
import { onceOnly } from './forms.ts';
import {
  belowDatabase,
  type ComponentSegment,
  type NamedVersion,
  type Place,
  presentersPath,
  runPath,
  type Scope,
  schemaPath,
  versionPath,
} from './paths.ts';

const NOUNS: Readonly<Record<ComponentSegment, string>> = {
  'state-views': 'State View',
  'state-changes': 'State Change',
  presenters: 'presenter',
};

const SEGMENTS: Readonly<Record<DefinedVersion['definition']['kind'], ComponentSegment>> = {
  'state-view': 'state-views',
  'state-change': 'state-changes',
  presenter: 'presenters',
};

/** A page of a list of versions, or of names with their latest version. */
export interface ListedVersions {
  readonly shown: readonly DefinedVersion[];
  readonly next: string | undefined;
}

export function versionsPage(segment: ComponentSegment, list: Scope, { shown, next }: ListedVersions): Description {
  const [first] = shown;
  const count = `${shown.length} ${shown.length === 1 ? 'entry' : 'entries'}`;
  const of = `${NOUNS[segment]}s of the database ${list.databaseName} at revision ${list.revision}`;
  return {
    title: `${NOUNS[segment].charAt(0).toUpperCase()}${NOUNS[segment].slice(1)}s`,
    summary: `${count} in the list of the ${of}; ${moreBehind(next)}.`,
    links: {
      next,
      first: first && versionPath(list.databaseName, segment, namedVersion(first)),
      ...contextLinks(list),
    },
    actions: [publish(list, segment)],
    place: { databaseName: list.databaseName, revision: list.revision },
    rows: { linksOf: versionLinks(list, segment, shown), columns: ['name', 'version'] },
  };
}

export interface ShownState {
  readonly revision: number;
  /** End of the effective time, for a State View in that order. */
  readonly cut: string | undefined;
  /** Bindings and the end of effective time, as a query string. */
  readonly query: string;
  readonly state: string;
  readonly compared?: {
    readonly version: number | bigint;
    readonly revision: number;
    /** Unified diff from the other state to this one. */
    readonly difference: string;
  };
}

export function versionPage(scope: Scope, version: DefinedVersion, shown?: ShownState): Description {
  const segment = SEGMENTS[version.definition.kind];
  const named = namedVersion(version);
  const list = segment === 'presenters' ? presentersPath(scope) : belowDatabase(scope, segment);
  const page = {
    title: `${named.name} v${named.version}`,
    summary: `Version ${named.version} of the ${NOUNS[segment]} ${named.name} of the database ${scope.databaseName}.`,
    links: { ...viewLinks(scope, version), all: list, ...contextLinks(scope) },
    actions: [...actionsOf(scope, version), publish(scope, segment)],
    place: { databaseName: scope.databaseName, revision: scope.revision },
  };
  return shown === undefined ? page : { ...page, ...statePage(scope, named, shown) };
}

type StatePage = Pick<Description, 'summary' | 'links' | 'place' | 'texts'>;

function statePage({ databaseName }: Scope, named: NamedVersion, shown: ShownState): StatePage {
  const { revision, cut, query, compared } = shown;
  const path = versionPath(databaseName, 'state-views', named);
  const more = query === '' ? '' : `&${query}`;
  const other = compared && `, and what differs from version ${compared.version} at revision ${compared.revision}`;
  const until = cut === undefined ? '' : ` as of the effective time ${cut}`;
  const at = { databaseName, revision };
  return {
    summary: `The state of ${named.name} v${named.version} at revision ${revision}${until}${other ?? ''}.`,
    links: {
      rendered: `${runPath(at, 'state-views', named)}${query === '' ? '' : `?${query}`}`,
      last_change: revision === 0 ? undefined : `${path}?revision=${revision}&other_revision=${revision - 1}${more}`,
      state_alone: compared && `${path}?revision=${revision}${more}`,
      version: path,
      ...contextLinks(at),
    },
    place: { ...at, pathAtRevision: `${path}?revision={revision}${more}` },
    texts: { state: 'lines', difference: 'difference' },
  };
}

/** Links from the rows of a list to versions; a row without a version links to the latest of its name. */
function versionLinks(list: Scope, segment: ComponentSegment, shown: readonly DefinedVersion[]): RowView['linksOf'] {
  const latest = new Map<string, NamedVersion['version']>(shown.map((each) => [each.definition.name, each.version]));
  return (row) => {
    const name = textIn(row, 'name') ?? '';
    const said = row.get('version');
    const version = said?.kind === 'number' ? BigInt(said.text) : latest.get(name);
    return { name: version === undefined ? undefined : versionPath(list.databaseName, segment, { name, version }) };
  };
}

function namedVersion({ definition, version }: DefinedVersion): NamedVersion {
  return { name: definition.name, version };
}

/** Links to renderings of the view, when it needs no parameters. */
function viewLinks(scope: Scope, version: DefinedVersion): Links {
  const { definition, status } = version;
  if (definition.kind !== 'state-view') return {};
  const named = namedVersion(version);
  const needs = Object.keys(parametersIn(definition)).length > 0 || definition.presenter !== undefined;
  const isShown = !needs && status.active && isReadable(definition);
  return {
    look_at_state: isShown ? `${versionPath(scope.databaseName, 'state-views', named)}?revision=latest` : undefined,
    state: needs || !status.active ? undefined : runPath(scope, 'state-views', named),
    schema: definition.schema?.kind === 'held' ? schemaPath(scope.databaseName, named) : undefined,
  };
}

type View = DefinedVersion['definition'] & { readonly kind: 'state-view' };

/** Whether a page can show its states: text or JSON, without a presenter. */
export function isReadable({ contentType, presenter }: Pick<View, 'contentType' | 'presenter'>): boolean {
  return presenter === undefined && (isJsonType(contentType) || isTextType(contentType));
}

/** The parameters that a rendering requires. */
function parametersIn({ selector, order }: View): Parts {
  const bindings = parametersOf(selector).map((name) => [name, 'a value'] as const);
  const cut = { effective_time_end_at: 'a time of RFC 3339, or now' };
  return { ...Object.fromEntries(bindings), ...(order === 'effective-time' && cut) };
}

function actionsOf(scope: Place, version: DefinedVersion): readonly Action[] {
  const { definition } = version;
  const named = namedVersion(version);
  switch (definition.kind) {
    case 'state-view':
      return [
        ...(isReadable(definition) ? [showState(scope, named, parametersIn(definition))] : []),
        renderView(scope, named, parametersIn(definition)),
        expireSnapshots(scope, definition.name),
        deleteView(scope, definition.name),
      ];
    case 'state-change':
      return [runCommand(scope, named), executeCommand(scope, named)].map(onceOnly);
    case 'presenter':
      return [];
  }
}
