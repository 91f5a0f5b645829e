/**
 * Checks that the host's values fit a component of the SDK's shape: its types are its own, so they are checked against
 * an example of every value that the host gives, before its first call.
 */
import { quote } from '#base';
import { fitted } from '../abi/fitting.ts';
import { Handle, isList, isRecord, type Value, type ValueList } from '../abi/values.ts';
import { Faulted } from '../faults.ts';
import { type Component, type FunctionType, shapeOf, type ValueType } from '../reading/component-types.ts';
import { Refused } from '../reading/refusal.ts';

export interface SdkExamples {
  /** Arguments of the main function, with each case of each variant. */
  readonly given: ValueList;
  /** Answers of the host, by function name. */
  readonly answers: ReadonlyMap<string, Value>;
}

/** Package of the functions with example answers; null-wasi.ts answers those of WASI. */
const SDK_PACKAGE = 'evidentsource:decider/';

/** @throws Refused MissingExport; ForbiddenImport for a function that the host does not answer */
export function expectFits(component: Component, main: FunctionType, { given, answers }: SdkExamples): void {
  try {
    for (const [index, { type }] of main.parameters.entries()) fitted(type, given[index]);
    for (const [imported, { item, offset }] of component.imports) {
      if (item.sort !== 'instance' || !imported.startsWith(SDK_PACKAGE)) continue;
      for (const [name, offered] of item.offers) {
        if (offered.sort !== 'function') continue;
        const { result } = offered.type;
        const answer = answers.get(name);
        if (answer === undefined || result === undefined || !isOfKind(result, answer)) {
          throw unanswered(imported, { name, type: offered.type, offset, answers });
        }
        fitted(result, answer);
      }
    }
  } catch (error) {
    if (!(error instanceof Faulted)) throw error;
    throw new Refused('MissingExport', 0, `The component has types that are not the SDK's: ${error.message}`);
  }
}

/** Checks the outermost type; `fitted` checks the inner ones. */
function isOfKind(type: ValueType, value: Value): boolean {
  if (type.kind === 'option') return isOfKind(type.of, value);
  if (type.kind === 'list') return isList(value);
  if (type.kind === 'own') return value instanceof Handle;
  if (type.kind === 'record') return isRecord(value);
  if (type.kind !== 'primitive' || isRecord(value) || isList(value)) return false;
  return (type.name === 'string') === (typeof value === 'string');
}

interface Unanswered extends Pick<SdkExamples, 'answers'> {
  readonly name: string;
  readonly type: FunctionType;
  readonly offset: number;
}

function unanswered(imported: string, { name, type, offset, answers }: Unanswered): Refused {
  const known = [...answers.keys()].join(', ') || 'no function of it';
  const message =
    `The component imports ${quote(name)} of ${quote(imported)} in the shape ${shapeOf(type)}, ` +
    `which the host does not have; it has ${known}`;
  return new Refused('ForbiddenImport', offset, message);
}
