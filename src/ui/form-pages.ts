/** Pages that answer a form, made from the JSON that its route answered. */
import { quote } from '#base';
import { counted } from './database-pages.ts';
import type { Action, Description, Filled, Form, Links } from './description.ts';
import { onceOnly } from './forms.ts';
import { CATALOG_PATH, changesPath, databasePath, transactionPath } from './paths.ts';

export interface SentForm {
  /** Its action, at the path that it was sent to. */
  readonly action: Action & { readonly form: Form };
  /** Values of its fields; none where they cannot be read. */
  readonly typed: ReadonlyMap<string, string>;
  /** Database of the path. */
  readonly databaseName: string | undefined;
}

export type Members = Readonly<Record<string, unknown>>;

export function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** Page of a form that had no id in the field `once`. Nothing was done. */
export function unsentPage(sent: SentForm): Description {
  return {
    title: 'Not sent yet',
    summary: `Nothing has been committed. Send it once more: it has a ${sent.action.form.once} now, by which it is committed once, however often it is sent.`,
    links: linksOf(sent, {}),
    actions: [shownAgain(sent, {}, true)],
  };
}

/** Page of a form that was refused, tried, or without effect. A form that must not be repeated is not shown again. */
export function answeredPage(sent: SentForm, answer: Members, isShownAgain: boolean): Description {
  const isAnew = membersOf(answer['transaction'])['replayed'] === true;
  return {
    ...outcomeOf(answer),
    links: linksOf(sent, answer),
    actions: isShownAgain ? [shownAgain(sent, answer, isAnew)] : [],
  };
}

/** Path of the transaction that the form committed; undefined when it committed none. */
export function committedPath(answer: Members): string | undefined {
  const { database, transaction_id: id, replayed } = membersOf(answer['transaction']);
  return replayed === false && typeof database === 'string' && typeof id === 'string'
    ? transactionPath(database, id)
    : undefined;
}

function outcomeOf(answer: Members): Pick<Description, 'title' | 'summary'> {
  const { error, dry_run: isDry, events, revision, epoch } = answer;
  if (error !== undefined) {
    return { title: 'That did not work', summary: `The request failed: ${String(membersOf(error)['message'])}` };
  }
  if (isDry === true && Array.isArray(events)) {
    const would = `${counted(events.length, 'event')} would be committed; nothing has been.`;
    return { title: 'Dry run', summary: `As of revision ${Number(revision)} ${would}` };
  }
  if (epoch !== undefined) {
    return { title: 'Forgotten', summary: `What was folded is forgotten: the fold epoch is ${Number(epoch)}.` };
  }
  const { revision: recorded } = membersOf(answer['transaction']);
  if (recorded !== undefined) {
    const before = `What this form has sent before was committed as revision ${Number(recorded)}.`;
    return {
      title: 'Sent before',
      summary: `${before} Nothing more was committed. Send the form again to commit its present content.`,
    };
  }
  return {
    title: 'Nothing to commit',
    summary: `It was decided on no event, as of revision ${Number(revision)}: nothing has been committed.`,
  };
}

function linksOf({ databaseName }: SentForm, answer: Members): Links {
  const { database, revision, transaction_id: id } = membersOf(answer['transaction']);
  const isRecorded = typeof database === 'string' && typeof revision === 'number' && typeof id === 'string';
  return {
    ...(isRecorded && { transaction: transactionPath(database, id) }),
    ...(isRecorded &&
      revision > 0 && { what_has_changed: changesPath({ databaseName: database, revision }, revision - 1) }),
    latest: databaseName === undefined ? undefined : databasePath({ databaseName, revision: 'latest' }),
    databases: CATALOG_PATH,
  };
}

/** The form with what was typed. It gets a new id when `isAnew`, or when it had none. */
function shownAgain({ action, typed }: SentForm, answer: Members, isAnew: boolean): Action {
  const filled: Filled = { values: Object.fromEntries(typed), faults: faultsIn(answer, action.form), isTyped: true };
  const again = { ...action, filled };
  const hasId = action.form.once !== undefined && (typed.get(action.form.once) ?? '') !== '';
  return isAnew || !hasId ? onceOnly(again) : again;
}

/** Faults by field: that of `events[0].id` is at the field `events`. */
function faultsIn(answer: Members, { fields }: Form): Readonly<Record<string, string>> {
  const { violations } = membersOf(membersOf(answer['error'])['details']);
  const faults = new Map<string, string>();
  for (const { field, description, value } of Array.isArray(violations) ? violations.map(membersOf) : []) {
    const path = String(field);
    const [name = ''] = path.split(/[.[]/, 1);
    if (!Object.hasOwn(fields, name)) continue;
    const place = path === name ? '' : `at ${path.slice(name.length).replace(/^\./, '')} `;
    const found = typeof value === 'string' ? `; found ${quote(value)}` : '';
    const said = `${place}${String(description)}${found}`;
    faults.set(name, faults.has(name) ? `${faults.get(name)}; ${said}` : said);
  }
  return Object.fromEntries(faults);
}
