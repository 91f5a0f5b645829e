/**
 * Rules about the records of decisions in docs/adr: their numbers, and status lines that agree with one another.
 *
 * ```
 *   Status: accepted, amends 0015, 0048 and 0051, amended by 0064
 * ```
 */
import { type Fault, type Tree, under } from './tree.ts';

const RECORD = /^docs\/adr\/(\d{4})-/;
const NUMBERS = String.raw`\d{4}(?:(?:, \d{4})* and \d{4})?`;
const FORM = new RegExp(
  `^(?:proposed|accepted|superseded by ${NUMBERS})(?:, supersedes ${NUMBERS})?(?:, amends ${NUMBERS})?(?:, amended by ${NUMBERS})?$`,
);
const CLAUSE = new RegExp(`(superseded by|supersedes|amends|amended by) (${NUMBERS})`, 'g');
/** What a record says of another one, and what the other one says of it. */
const INVERSE: Readonly<Record<string, string>> = {
  'superseded by': 'supersedes',
  supersedes: 'superseded by',
  amends: 'amended by',
  'amended by': 'amends',
};

/** Two records do not share a number. */
export function decisionNumbersAreUnique(tree: Tree): readonly Fault[] {
  const byNumber = Map.groupBy(under(tree, RECORD).keys(), numberOf);
  return [...byNumber].flatMap(([number, paths]) => (paths.length === 1 ? [] : [`${number}: ${paths.join(' and ')}`]));
}

/** A status line has one form, and what it says of another record the other one says of it; so does the text. */
export function decisionsAgree(tree: Tree): readonly Fault[] {
  const records = [...under(tree, RECORD)].map(([path, text]) => {
    const status = /^Status: (.*)$/m.exec(text)?.[1] ?? '';
    return { path, text, status, number: numberOf(path), relations: relationsIn(status) };
  });
  const said = new Set(records.flatMap(({ number, relations }) => relations.map((each) => `${number} ${each}`)));
  return records.flatMap(({ path, text, status, number, relations }) => {
    if (!FORM.test(status)) return [`${path}: the status "${status}" has another form than "accepted, amends 0001"`];
    const inText = relationsIn(/^This amends .*/m.exec(text)?.[0].slice('This '.length) ?? '');
    return [
      ...inText.filter((each) => !relations.includes(each)).map((each) => `${path}: its status does not say "${each}"`),
      ...relations.flatMap((each) => {
        const [, clause = '', other = ''] = /^(.*) (\d{4})$/.exec(each) ?? [];
        const isEarlier = clause === 'amends' || clause === 'supersedes';
        if (isEarlier !== other < number) return [`${path}: "${each}": records change earlier ones`];
        const inverse = `${other} ${INVERSE[clause]} ${number}`;
        return said.has(inverse) ? [] : [`${path}: "${each}", and there is no "${inverse}"`];
      }),
    ];
  });
}

/** Each as `amends 0001`. */
function relationsIn(text: string): readonly string[] {
  return [...text.matchAll(CLAUSE)].flatMap(([, clause = '', list = '']) =>
    (list.match(/\d{4}/g) ?? []).map((number) => `${clause} ${number}`),
  );
}

function numberOf(path: string): string {
  return RECORD.exec(path)?.[1] ?? '';
}
