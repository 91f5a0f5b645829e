/** The gRPC transport: server.ts defines its services, wire/server.ts implements the protocol. */
export { HolderLists } from './holder-lists.ts';
export type { OutsideAddresses } from './leader-plane.ts';
export { type GrpcServer, type GrpcServerOptions, startGrpcServer } from './server.ts';
