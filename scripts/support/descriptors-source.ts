/** Source of `proto/gen/descriptors.ts`: the files that server reflection serves, and what each of them defines. */
import { toBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';

interface Message {
  readonly name: string;
  readonly type: DescriptorProto;
}

export function descriptorsSource(files: readonly FileDescriptorProto[]): string {
  return `
export interface FileDescriptor {
  readonly name: string;
  readonly dependencies: readonly string[];
  /** All names are full ones. */
  readonly services: readonly string[];
  readonly messages: readonly string[];
  /** Everything else that has a name: fields, oneofs, enums and their values, methods, extensions. */
  readonly symbols: readonly string[];
  readonly extensions: readonly { readonly containingType: string; readonly number: number }[];
  /** The FileDescriptorProto. */
  readonly base64: string;
}

export const FILE_DESCRIPTORS: readonly FileDescriptor[] = [
${files.map(entrySource).join('\n')}
];
`;
}

function entrySource(file: FileDescriptorProto): string {
  const messages = file.messageType.flatMap((type) => withNested(file.package, type));
  const extensions = [...file.extension, ...messages.flatMap(({ type }) => type.extension)];
  const symbols = [
    ...messages.flatMap(memberSymbols),
    ...enumSymbols(file.package, file.enumType),
    ...file.service.flatMap(({ name, method }) => named(`${file.package}.${name}`, method)),
    ...named(file.package, file.extension),
  ];
  // Comments and positions are most of a descriptor.
  const { sourceCodeInfo: _, ...served } = file;
  return `  {
    name: ${JSON.stringify(file.name)},
    dependencies: ${JSON.stringify(file.dependency)},
    services: ${JSON.stringify(named(file.package, file.service))},
    messages: ${JSON.stringify(messages.map(({ name }) => name))},
    symbols: ${JSON.stringify(symbols)},
    extensions: ${JSON.stringify(extensions.map(extensionOf))},
    base64: ${JSON.stringify(Buffer.from(toBinary(FileDescriptorProtoSchema, served)).toString('base64'))},
  },`;
}

function withNested(scope: string, type: DescriptorProto): readonly Message[] {
  const name = `${scope}.${type.name}`;
  return [{ name, type }, ...type.nestedType.flatMap((nested) => withNested(name, nested))];
}

function memberSymbols({ name, type }: Message): readonly string[] {
  return [...named(name, [...type.field, ...type.oneofDecl, ...type.extension]), ...enumSymbols(name, type.enumType)];
}

/** Values of an enum are its siblings, as protobuf has it. */
function enumSymbols(scope: string, enums: readonly EnumDescriptorProto[]): readonly string[] {
  return [...named(scope, enums), ...enums.flatMap(({ value }) => named(scope, value))];
}

/** `extendee` is a reference from the root, with a dot in front. */
function extensionOf({ extendee, number }: FieldDescriptorProto): object {
  return { containingType: extendee.replace(/^\./, ''), number };
}

function named(scope: string, all: readonly { readonly name: string }[]): readonly string[] {
  return all.map(({ name }) => `${scope}.${name}`);
}
