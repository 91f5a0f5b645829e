/**
 * Templates of State Views: a read binds a value to every parameter, and the result is an ordinary selector.
 *
 * A parameter is bound by the name `{attribute}.{parameter}`, where attribute is stream, subject or event_type. Equal
 * names are one parameter. Every parameter must be bound, and no other name.
 */
import { assert, compareBytes, encodeUtf8, quote } from '#base';
import type { Faults } from './faults.ts';
import {
  and,
  isCompound,
  or,
  type ParameterSelector,
  type Selector,
  type SelectorTemplate,
  TERMS,
  term,
} from './selector.ts';
import { conjunctionCount, isBound, termFault } from './selector-rules.ts';

/** Values by the full names of the parameters, such as `subject.account_id`. */
export type Bindings = ReadonlyMap<string, string>;

/** The full name of a parameter. */
function bindingOf({ term: kind, name }: ParameterSelector): string {
  const { attribute } = TERMS[kind];
  return `${attribute === 'type' ? 'event_type' : attribute}.${name}`;
}

/** The names that a read must bind, without duplicates, in the order of their bytes. */
export function parametersOf(template: SelectorTemplate): readonly string[] {
  const names = new Set(openTerms(template).map(bindingOf));
  return [...names].toSorted((left, right) => compareBytes(encodeUtf8(left), encodeUtf8(right)));
}

/** The selector of a read, or undefined with faults added: each names the parameter after `field`. */
export function bindTemplate(
  template: SelectorTemplate,
  bindings: Bindings,
  { field, faults }: { readonly field: string; readonly faults: Faults },
): Selector | undefined {
  const open = openTerms(template);
  const names = new Set(open.map(bindingOf));
  const countBefore = faults.count;
  for (const name of names) if (!bindings.has(name)) faults.add(pathOf(field, name), 'is required by the State View');
  for (const [name, value] of bindings) {
    if (names.has(name)) continue;
    const known = names.size === 0 ? 'it has none' : `they are ${parametersOf(template).join(', ')}`;
    faults.add(pathOf(field, name), `is no parameter of the State View; ${known}`, value);
  }
  for (const each of open) {
    const value = bindings.get(bindingOf(each));
    const fault = value === undefined ? undefined : termFault(each.term, value);
    if (fault !== undefined) faults.add(pathOf(field, bindingOf(each)), fault, value);
  }
  return faults.count === countBefore ? filled(template, bindings) : undefined;
}

function pathOf(field: string, name: string): string {
  return `${field}[${quote(name)}]`;
}

function openTerms(template: SelectorTemplate): readonly ParameterSelector[] {
  if (isCompound(template)) return template.selectors.flatMap(openTerms);
  return template.kind === 'parameter' ? [template] : [];
}

function filled(template: SelectorTemplate, bindings: Bindings): Selector {
  // The template was counted when it was read, and values add no alternatives.
  if (isBound(template)) return template;
  if (template.kind === 'parameter') {
    const value = bindings.get(bindingOf(template));
    assert(value !== undefined, 'Every parameter is bound before a template is filled', template.name);
    return term(template.term, value);
  }
  assert(isCompound(template), 'What is not bound has parts', template);
  const parts = template.selectors.map((part) => filled(part, bindings));
  const selector = template.kind === 'and' ? and(parts) : or(parts);
  assert(conjunctionCount(selector) <= conjunctionCount(template), 'Values make a template no larger', template);
  return selector;
}
