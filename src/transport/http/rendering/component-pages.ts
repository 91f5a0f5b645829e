/** What is said of components: lists of them, and one version. */
import { type DefinedVersion, parametersOf } from '#model';
import type { ReadScope } from '#service';
import { deleteView, executeCommand, expireSnapshots, publish, renderView, runCommand } from './actions.ts';
import { contextLinks, moreBehind } from './database-pages.ts';
import type { Action, Description, Links, Parts } from './description.ts';
import {
  belowDatabase,
  type ComponentSegment,
  type NamedVersion,
  type Place,
  presentersPath,
  runPath,
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

/** A part of a list of versions, or of names by their latest version. */
export interface ListedVersions {
  readonly shown: readonly DefinedVersion[];
  readonly next: string | undefined;
}

export function versionsPage(segment: ComponentSegment, list: ReadScope, { shown, next }: ListedVersions): Description {
  const [first] = shown;
  const count = `${shown.length} ${shown.length === 1 ? 'entry' : 'entries'}`;
  const of = `${NOUNS[segment]}s of the database ${list.databaseName} at revision ${list.revision}`;
  return {
    summary: `${count} in the list of the ${of}; ${moreBehind(next)}.`,
    links: {
      next,
      first: first && versionPath(list.databaseName, segment, namedVersion(first)),
      ...contextLinks(list),
    },
    actions: [publish(list, segment)],
  };
}

export function versionPage(scope: ReadScope, version: DefinedVersion): Description {
  const segment = SEGMENTS[version.definition.kind];
  const named = namedVersion(version);
  const list = segment === 'presenters' ? presentersPath(scope) : belowDatabase(scope, segment);
  return {
    summary: `Version ${named.version} of the ${NOUNS[segment]} ${named.name} of the database ${scope.databaseName}.`,
    links: { ...viewLinks(scope, version), all: list, ...contextLinks(scope) },
    actions: [...actionsOf(scope, version), publish(scope, segment)],
  };
}

function namedVersion({ definition, version }: DefinedVersion): NamedVersion {
  return { name: definition.name, version };
}

/** Where the view is rendered, when nothing else must be said for it. */
function viewLinks(scope: ReadScope, version: DefinedVersion): Links {
  const { definition, status } = version;
  if (definition.kind !== 'state-view') return {};
  const named = namedVersion(version);
  const needs = Object.keys(parametersIn(definition)).length > 0 || definition.presenter !== undefined;
  return {
    state: needs || !status.active ? undefined : runPath(scope, 'state-views', named),
    schema: definition.schema?.kind === 'held' ? schemaPath(scope.databaseName, named) : undefined,
  };
}

type View = DefinedVersion['definition'] & { readonly kind: 'state-view' };

/** What a render must be given. */
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
        renderView(scope, named, parametersIn(definition)),
        expireSnapshots(scope, definition.name),
        deleteView(scope, definition.name),
      ];
    case 'state-change':
      return [runCommand(scope, named), executeCommand(scope, named)];
    case 'presenter':
      return [];
  }
}
