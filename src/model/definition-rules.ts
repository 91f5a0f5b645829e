/**
 * Validity rules of definitions, whatever their form: each parser builds a draft and checks it here. Faults name the
 * fields as the wire does.
 */
import { compareBytes, encodeUtf8, quote, utf8Length } from '#base';
import { type Definition, isVersionNumber, REDUCE_FUNCTION, type StateViewDefinition } from './definition.ts';
import { type FaultPlace, type Found, fieldBelow } from './faults.ts';
import {
  DESCRIPTION_BYTES_MAX,
  OFFERS_MAX,
  PRESENTER_SETTING_BYTES_MAX,
  PRESENTER_SETTINGS_MAX,
  SCHEMA_BYTES_MAX,
  STATE_VIEW_NAMES_MAX,
  URI_BYTES_MAX,
} from './limits.ts';
import { isScriptType, mediaTypeRule } from './media-type.ts';
import { type ComponentName, isComponentName } from './names.ts';
import { and, parameter, type Selector, type SelectorTemplate } from './selector.ts';
import { sizeFault } from './selector-rules.ts';
import { type Bindings, bindTemplate, parametersOf } from './selector-template.ts';
import { describeTextFault, nameRule } from './text-rules.ts';
import { isUriReference } from './uri.ts';

/** Parameter of the key of a State View with one state per key. */
const KEY_PARAMETER = 'key';
const KEY_BINDING: string = `subject.${KEY_PARAMETER}`;

/** The name of a function in WIT or in the language of a guest. */
const FUNCTION_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/;

/** The selector of a State View with keys: adds the binding of the key unless it is present. */
export function keyedTemplate(selector: SelectorTemplate, keyType: StateViewDefinition['keyType']): SelectorTemplate {
  if (keyType === 'none' || parametersOf(selector).includes(KEY_BINDING)) return selector;
  return and([selector, parameter('by-subject', KEY_PARAMETER)]);
}

/** Returns true when the value has the key type: `int64` is an integer in its shortest decimal form. */
export function isKeyOf(keyType: StateViewDefinition['keyType'], value: string): boolean {
  if (keyType !== 'int64') return true;
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(value)) return false;
  const integer = BigInt(value);
  return integer >= -(2n ** 63n) && integer < 2n ** 63n;
}

/** The selector of a read of the State View, or undefined with faults added. */
export function bindView(
  { selector, keyType }: Pick<StateViewDefinition, 'selector' | 'keyType'>,
  bindings: Bindings,
  place: FaultPlace,
): Selector | undefined {
  const { field, faults } = place;
  const bound = bindTemplate(selector, bindings, place);
  const key = bindings.get(KEY_BINDING);
  if (bound === undefined || key === undefined || isKeyOf(keyType, key)) return bound;
  return faults.add(`${field}["${KEY_BINDING}"]`, 'must be an integer of 64 bits in its shortest decimal form', key);
}

/** The State Views in canonical order, without duplicates. */
export function canonicalNames(names: readonly ComponentName[]): readonly ComponentName[] {
  return [...new Set(names)].toSorted((left, right) => compareBytes(encodeUtf8(left), encodeUtf8(right)));
}

/** Undefined: absent, or at fault with the fault added. */
type StateViewParts = {
  readonly [Name in Exclude<keyof StateViewDefinition, 'kind'>]: StateViewDefinition[Name] | undefined;
};

/** The State View with the selector of its keys, or undefined when a required part is. */
export function stateViewOf(parts: StateViewParts): StateViewDefinition | undefined {
  const { name, contentType, order, keyType, priority, selector, reduceFunction = REDUCE_FUNCTION, ...rest } = parts;
  if (name === undefined || contentType === undefined || order === undefined) return undefined;
  if (keyType === undefined || priority === undefined || selector === undefined) return undefined;
  const keyed = keyedTemplate(selector, keyType);
  return { kind: 'state-view', name, contentType, order, keyType, priority, selector: keyed, reduceFunction, ...rest };
}

/** The definition to publish, with a fault added for each violated rule: the audit log names also a refused one. */
export function checkedDefinition(definition: Definition | undefined, place: FaultPlace): Definition | undefined {
  if (definition === undefined) return undefined;
  checkDefinition(definition, place);
  refuseUnservable(definition, place);
  return definition;
}

/** Adds a fault for each violated rule. */
export function checkDefinition(definition: Definition, place: FaultPlace): void {
  const { name, description, sourceCodeUri } = definition;
  if (!isComponentName(name))
    addFault(place, 'name', 'must be a letter, then up to 127 letters, digits, "_", "." or "-"', name);
  if (description !== undefined) checkLength(description, 'description', place);
  if (sourceCodeUri !== undefined) checkUri(sourceCodeUri, 'source_code_uri', place);
  if (definition.kind === 'state-view') checkStateView(definition, place);
  else if (definition.kind === 'state-change')
    checkCount(definition.stateViews.length, STATE_VIEW_NAMES_MAX, { ...place, name: 'state_view_names' });
  else {
    checkOffers(definition, place);
    checkSettings(definition, place);
  }
}

/**
 * Adds a fault for each content type that cannot be served: one that browsers run as a script, because a page of
 * another origin can load a rendered state by `<script src>`, and a range. Only publications are checked; stored
 * definitions may be older than these rules.
 */
function refuseUnservable(definition: Definition, place: FaultPlace): void {
  if (definition.kind === 'state-view') refuseType(definition.contentType, 'content_type', place);
  if (definition.kind !== 'presenter') return;
  for (const [index, { contentType }] of definition.offers.entries()) {
    refuseType(contentType, `content_types[${index}].content_type`, place);
  }
}

function refuseType(contentType: string, name: string, place: FaultPlace): void {
  if (isScriptType(contentType)) addFault(place, name, 'must not be a script', contentType);
  const [type = ''] = contentType.split(';', 1);
  if (type.includes('*')) addFault(place, name, 'must be one media type, without "*"', contentType);
}

function checkStateView(view: StateViewDefinition, place: FaultPlace): void {
  checkContentType(view.contentType, 'content_type', place);
  if (view.schema?.kind === 'uri') checkUri(view.schema.uri, 'content_schema', place);
  if (view.schema?.kind === 'held') checkSchema(view.schema.bytes, place);
  if (!FUNCTION_NAME.test(view.reduceFunction)) {
    addFault(
      place,
      'reduce_fn',
      'must be a letter or "_", then up to 127 letters, digits, "_" or "-"',
      view.reduceFunction,
    );
  }
  const version = view.presenter?.version;
  if (version !== undefined && !isVersionNumber(version))
    addFault(place, 'presenter', 'must be a version from 1 on', version);
  if (keyedTemplate(view.selector, view.keyType) !== view.selector) {
    addFault(place, 'event_selector', `must have the parameter ${KEY_BINDING}, for key_type is ${view.keyType}`);
  }
  // `events` and `key_type` add to a selector that was within the limits, and replicas check the sum again.
  const size = sizeFault(view.selector);
  if (size !== undefined)
    addFault(place, 'event_selector', `${size.rule}, with what events and key_type add`, size.found);
}

function checkOffers({ offers }: Definition & { readonly kind: 'presenter' }, place: FaultPlace): void {
  if (offers.length === 0) addFault(place, 'content_types', 'must offer at least one content type');
  checkCount(offers.length, OFFERS_MAX, { ...place, name: 'content_types' });
  const seen = new Set<string>();
  for (const [index, { contentType, schema }] of offers.entries()) {
    const name = `content_types[${index}]`;
    checkContentType(contentType, `${name}.content_type`, place);
    if (schema !== undefined) checkUri(schema, `${name}.schema`, place);
    if (seen.has(contentType)) addFault(place, `${name}.content_type`, 'must be offered once', contentType);
    seen.add(contentType);
  }
}

function checkSettings({ settings }: Definition & { readonly kind: 'presenter' }, place: FaultPlace): void {
  checkCount(settings.size, PRESENTER_SETTINGS_MAX, { ...place, name: 'settings' });
  for (const [key, value] of settings) {
    const name = `settings[${quote(key)}]`;
    const rule = nameRule(key);
    if (rule !== undefined) addFault(place, name, rule, key);
    if (utf8Length(value) > PRESENTER_SETTING_BYTES_MAX) {
      addFault(place, name, describeTextFault('too-long', PRESENTER_SETTING_BYTES_MAX), value);
    }
  }
}

/** Line breaks and other control characters are allowed. */
function checkLength(text: string, name: string, place: FaultPlace): void {
  if (utf8Length(text) <= DESCRIPTION_BYTES_MAX) return;
  addFault(place, name, describeTextFault('too-long', DESCRIPTION_BYTES_MAX), text);
}

function checkUri(text: string, name: string, place: FaultPlace): void {
  const bytes = encodeUtf8(text);
  if (bytes.length <= URI_BYTES_MAX && isUriReference(bytes, 0, bytes.length)) return;
  addFault(place, name, `must be a URI-reference of at most ${URI_BYTES_MAX} bytes`, text);
}

function checkContentType(text: string, name: string, place: FaultPlace): void {
  const rule = mediaTypeRule(text);
  if (rule !== undefined) addFault(place, name, rule, text);
}

function checkSchema(bytes: Uint8Array, place: FaultPlace): void {
  if (bytes.length >= 1 && bytes.length <= SCHEMA_BYTES_MAX) return;
  addFault(place, 'content_schema', `must be 1 to ${SCHEMA_BYTES_MAX} bytes`, bytes.length);
}

function checkCount(count: number, max: number, place: FaultPlace & { readonly name: string }): void {
  if (count > max) addFault(place, place.name, `must be at most ${max}`, count);
}

function addFault(place: FaultPlace, name: string, rule: string, found?: Found): void {
  place.faults.add(fieldBelow(place, name), rule, found);
}
